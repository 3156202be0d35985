// SPDX-License-Identifier: BSD-2-Clause
#include "device/device_counters.hpp"

#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "dapl/base/codes.hpp"

namespace dapl {
namespace {

/// Files of the port's directory `counters`, in the order of DCNT_IA_LNK_*.
constexpr const char* kLinkFiles[] = {
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_constraint_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_wait",
};

/// Files of the device's directory `hw_counters`, or `diag_counters` with older drivers, in the
/// order of DCNT_IA_DIAG_*.
constexpr const char* kDiagnosticFiles[] = {
    "rq_num_rae", "rq_num_oos",  "rq_num_rire", "rq_num_udsdprd", "sq_num_rae",
    "sq_num_oos", "sq_num_rire", "sq_num_rree", "sq_num_tree",
};

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

std::optional<std::uint64_t> read_number(const std::string& path) {
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
    unsigned long long number;
    if (!file || std::fscanf(file.get(), "%llu", &number) != 1) return std::nullopt;
    return number;
}

}  // namespace

DeviceCounters::Range DeviceCounters::range_of(DAT_IA_COUNTER_TYPE group) {
    static_assert(std::size(kLinkFiles) == kFirstDiagnostic - kFirst);
    static_assert(std::size(kDiagnosticFiles) == DCNT_IA_ALL_COUNTERS - kFirstDiagnostic);
    if (group == DCNT_IA_LNK) return {kFirst, kFirstDiagnostic};
    return {kFirstDiagnostic, DCNT_IA_ALL_COUNTERS};
}

std::optional<std::uint64_t> DeviceCounters::read(int which) const {
    const std::string device = device_.device->ibdev_path;
    if (which < kFirstDiagnostic)
        return read_number(device + "/ports/" + std::to_string(port_) + "/counters/" +
                           kLinkFiles[which - kFirst]);
    const char* const file = kDiagnosticFiles[which - kFirstDiagnostic];
    const auto number = read_number(device + "/hw_counters/" + file);
    return number ? number : read_number(device + "/diag_counters/" + file);
}

bool DeviceCounters::is_running(const Range& range) {
    for (int which = range.first; which < range.end; ++which)
        if (sample(which).last) return true;
    return false;
}

/// If somebody has reset the device's own counter, its growth is what it has counted since.
void DeviceCounters::update(int which) {
    Sample& kept = sample(which);
    if (!kept.last) return;
    const auto now = read(which);
    if (!now) return;
    kept.grown += *now >= *kept.last ? *now - *kept.last : *now;
    kept.last = now;
}

DAT_RETURN DeviceCounters::start(DAT_IA_COUNTER_TYPE group) {
    const Range range = range_of(group);
    support::MutexLock lock(mutex_);
    if (is_running(range)) return DAT_SUCCESS;
    for (int which = range.first; which < range.end; ++which) sample(which).last = read(which);
    return is_running(range) ? kSuccess : error(DAT_MODEL_NOT_SUPPORTED);
}

DAT_RETURN DeviceCounters::stop(DAT_IA_COUNTER_TYPE group) {
    const Range range = range_of(group);
    support::MutexLock lock(mutex_);
    for (int which = range.first; which < range.end; ++which) {
        update(which);
        sample(which).last.reset();
    }
    return DAT_SUCCESS;
}

std::uint64_t DeviceCounters::value(int which) {
    support::MutexLock lock(mutex_);
    update(which);
    return sample(which).grown;
}

}  // namespace dapl
