// SPDX-License-Identifier: BSD-2-Clause
// libdaplsoft: the connection manager over rdma_cm, on the one device of softverbs. The device's
// address is a setting, because the kernel does not know it.
#include <arpa/inet.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "dapl/provider/library.hpp"
#include "device/explain_device.hpp"
#include "providers/cma/manager.hpp"
#include "providers/soft/softverbs/end_registration.hpp"
#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/devices.hpp"
#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/memory/copy_setting.hpp"
#include "providers/soft/softverbs/region_extensions.hpp"
#include "providers/soft/softverbs/softverbs.h"
#include "support/settings/settings.hpp"

namespace dapl::cma {
namespace {

constexpr const char* kPtraceScope = "/proc/sys/kernel/yama/ptrace_scope";

/// Reports whether processes of one user may copy each other's memory, which decides how payload is
/// transferred.
void explain_ptrace(const support::Facts& facts, softverbs::CopySetting copy) {
    constexpr int kNobody = 3;
    std::ifstream file(kPtraceScope);
    int scope = 0;
    file >> scope;
    const bool permitted = scope == 0 || (geteuid() == 0 && scope < kNobody);
    if (copy == softverbs::CopySetting::kAgent || permitted)
        return facts.note("ptrace_scope", std::to_string(scope), kPtraceScope, "");
    const bool only = copy == softverbs::CopySetting::kProcessVm;
    facts.add("ptrace_scope", std::to_string(scope), kPtraceScope,
              only ? support::Standing::kFails : support::Standing::kDegraded,
              std::string("process_vm_readv is refused between programs: ") +
                  (only ? "no transfer to another process is possible, "
                        : "the peer's service thread copies, which is slower, ") +
                  "until `sysctl kernel.yama.ptrace_scope=0`");
}

bool is_rdma_device(const std::string& name) {
    return softverbs::device_named(name, softverbs::device_count()).has_value();
}

std::optional<sockaddr_storage> address_of_rdma_device(const DeviceName& name) {
    sockaddr_storage result{};
    const unsigned device =
        softverbs::device_named(name.device, softverbs::device_count()).value_or(0);
    if (device != 0) {
        softverbs::fill(result, softverbs::loopback_of(device), 0);
        return result;
    }
    const auto address =
        softverbs::parse_address(support::setting_text(support::Setting::kSoftverbsAddress));
    // For an unusable setting softverbs reports the fault and uses this address too.
    const bool usable = address && !softverbs::is_any(*address);
    softverbs::fill(result, usable ? *address : softverbs::mapped({htonl(INADDR_LOOPBACK)}), 0);
    return result;
}

void explain(const support::Facts& facts, const std::string&) {
    using support::Setting;
    cm::explain_setting(facts, "fabric", Setting::kSoftverbsFabric,
                        softverbs::Directory::chosen_path());
    cm::explain_setting(facts, "device_address", Setting::kSoftverbsAddress,
                        support::setting_text(Setting::kSoftverbsAddress));
    const softverbs::CopySetting copy = softverbs::copy_setting();
    cm::explain_setting(facts, "copy", Setting::kSoftverbsCopy, softverbs::to_text(copy));
    explain_ptrace(facts, copy);
    cm::explain_setting(facts, "placement", Setting::kSoftverbsPlacement,
                        support::setting_text(Setting::kSoftverbsPlacement));
    facts.note("locked_memory", "not needed", "library", "soft0 pins no memory");
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return cm::limit_or(
        error, "soft0",
        {cm::DeviceFault::Cause::kDoesNotOpen, "soft0", std::generic_category().message(error)});
}

cm::DeviceFault why_no_address(const DeviceName& name) {
    const unsigned count = softverbs::device_count();
    const std::string there_are =
        count == 1 ? "the software device soft0"
                   : "the software devices soft0 to " + softverbs::device_name(count - 1);
    const bool is_one_more =
        softverbs::device_named(name.device, softverbs::kMostDevices).has_value();
    return {cm::DeviceFault::Cause::kUnknownName, name.device, there_are,
            is_one_more ? "did you mean soft0? SOFTVERBS_DEVICES is the number of devices"
                        : "did you mean soft0?"};
}

cm::DeviceFault why_no_device_at(const sockaddr_storage&, int error) {
    return why_no_rdma_cm(error);
}

constexpr Devices kSoftDevices = {
    .is_rdma_device = is_rdma_device,
    .address_of = address_of_rdma_device,
    .explain = explain,
    .why_no_rdma_cm = why_no_rdma_cm,
    .why_no_address = why_no_address,
    .why_no_device_at = why_no_device_at,
    .explain_unreachable = true,
};

constexpr Library kLibrary = {
    .open_manager =
        [](std::string_view ia_name, std::string_view ia_params) {
            return open_manager(kSoftDevices, ia_name, ia_params);
        },
    .device = {softverbs_memory_alloc, softverbs_memory_free, softverbs_failure_of,
               softverbs_drives, softverbs_end_registration, softverbs_count_region_uses,
               softverbs_suspend_region, softverbs_resume_region},
};

}  // namespace
}  // namespace dapl::cma

extern "C" [[gnu::visibility("default")]] void dat_provider_init(const DAT_PROVIDER_INFO* info,
                                                                 const char* instance_data) {
    dapl::start_provider(dapl::cma::kLibrary, info, instance_data);
}
