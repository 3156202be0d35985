// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/device_counters.hpp"

#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "dapl/codes.hpp"

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

/// Files of the device's directory `diag_counters`, in the order of DCNT_IA_DIAG_*.
constexpr const char* kDiagnosticFiles[] = {
    "rq_num_rae", "rq_num_oos",  "rq_num_rire", "rq_num_udsdprd", "sq_num_rae",
    "sq_num_oos", "sq_num_rire", "sq_num_rree", "sq_num_tree",
};

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

bool read_number(const std::string& path, std::uint64_t& value) {
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
    unsigned long long number;
    if (!file || std::fscanf(file.get(), "%llu", &number) != 1) return false;
    value = number;
    return true;
}

}  // namespace

DeviceCounters::Range DeviceCounters::range_of(DAT_IA_COUNTER_TYPE group) {
    static_assert(std::size(kLinkFiles) == kFirstDiagnostic - kFirst);
    static_assert(std::size(kDiagnosticFiles) == DCNT_IA_ALL_COUNTERS - kFirstDiagnostic);
    if (group == DCNT_IA_LNK) return {kFirst, kFirstDiagnostic};
    return {kFirstDiagnostic, DCNT_IA_ALL_COUNTERS};
}

bool DeviceCounters::read(int which, std::uint64_t& value) const {
    const std::string device = device_.device->ibdev_path;
    if (which >= kFirstDiagnostic)
        return read_number(device + "/diag_counters/" + kDiagnosticFiles[which - kFirstDiagnostic],
                           value);
    return read_number(
        device + "/ports/" + std::to_string(port_) + "/counters/" + kLinkFiles[which - kFirst],
        value);
}

DAT_RETURN DeviceCounters::start(DAT_IA_COUNTER_TYPE group) {
    const Range range = range_of(group);
    support::MutexLock lock(mutex_);
    if (is_running(range.first)) return DAT_SUCCESS;
    bool shown = false;
    for (int which = range.first; which < range.end; ++which)
        if (read(which, started_at_[which - kFirst])) shown = true;
    if (!shown) return error(DAT_MODEL_NOT_SUPPORTED);
    running_[range.first < kFirstDiagnostic ? 0 : 1] = true;
    return DAT_SUCCESS;
}

DAT_RETURN DeviceCounters::stop(DAT_IA_COUNTER_TYPE group) {
    const Range range = range_of(group);
    support::MutexLock lock(mutex_);
    if (!is_running(range.first)) return DAT_SUCCESS;
    for (int which = range.first; which < range.end; ++which) {
        std::uint64_t now;
        if (read(which, now)) counted_[which - kFirst] += now - started_at_[which - kFirst];
    }
    running_[range.first < kFirstDiagnostic ? 0 : 1] = false;
    return DAT_SUCCESS;
}

std::uint64_t DeviceCounters::value(int which) {
    support::MutexLock lock(mutex_);
    const std::uint64_t counted = counted_[which - kFirst];
    std::uint64_t now;
    if (!is_running(which) || !read(which, now)) return counted;
    return counted + now - started_at_[which - kFirst];
}

}  // namespace dapl
