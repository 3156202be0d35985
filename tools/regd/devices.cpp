// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/devices.hpp"

#include <infiniband/verbs.h>

#include <algorithm>

#include "broker/adapter_name.hpp"

namespace regd_tool {
namespace {

using dapl::memory::kMostEntries;
using dapl::memory::Time;

/// Unknown device names cause at most one scan of the devices in this time, however many such names
/// arrive.
constexpr Time kBetweenReadings = 5'000'000'000;

std::uint64_t most_regions(ibv_device* device) {
    ibv_context* const context = ibv_open_device(device);
    if (!context) return 0;
    ibv_device_attr attributes{};
    const bool is_known = ibv_query_device(context, &attributes) == 0 && attributes.max_mr > 0;
    ibv_close_device(context);
    return is_known ? std::min<std::uint64_t>(attributes.max_mr, kMostEntries) : 0;
}

}  // namespace

void Devices::read() {
    entries_.clear();
    int count = 0;
    ibv_device** const devices = ibv_get_device_list(&count);
    if (!devices) return;
    for (int i = 0; i < count; ++i) {
        const std::string name = dapl::memory::adapter_name(ibv_get_device_name(devices[i]),
                                                            ibv_get_device_guid(devices[i]));
        entries_[name] = most_regions(devices[i]);
    }
    ibv_free_device_list(devices);
}

std::uint64_t Devices::entries_of(const std::string& adapter) {
    const auto known = entries_.find(adapter);
    if (known != entries_.end()) return known->second;
    const Time time = dapl::memory::now();
    if (time < next_reading_) return 0;
    next_reading_ = time + kBetweenReadings;
    read();
    const auto found = entries_.find(adapter);
    return found == entries_.end() ? 0 : found->second;
}

}  // namespace regd_tool
