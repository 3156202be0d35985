// SPDX-License-Identifier: BSD-2-Clause
// The one device of softverbs: its address is a setting, not the kernel's to tell.
#include <arpa/inet.h>
#include <unistd.h>

#include <fstream>
#include <system_error>

#include "dapl/cm/explain_device.hpp"
#include "dapl/support/settings.hpp"
#include "providers/cma/device.hpp"
#include "providers/soft/fabric/address.hpp"
#include "providers/soft/fabric/directory.hpp"
#include "providers/soft/verbs/copy_setting.hpp"

namespace dapl::cma {
namespace {

constexpr const char* kPtraceScope = "/proc/sys/kernel/yama/ptrace_scope";

/// Whether processes of one user may copy each other's memory decides how payload gets there.
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

}  // namespace

const bool kDeviceExplainsUnreachable = true;
const bool kDeviceServesDatagrams = true;

bool is_rdma_device(const std::string& name) {
    return name == "soft0";
}

std::optional<sockaddr_storage> address_of_rdma_device(const DeviceName&) {
    const auto address =
        softverbs::parse_address(support::setting_text(support::Setting::kSoftverbsAddress));
    sockaddr_storage result{};
    // Where it is none, softverbs tells the user, and takes this one too.
    softverbs::fill(result, address ? *address : softverbs::mapped({htonl(INADDR_LOOPBACK)}), 0,
                    AF_INET);
    return result;
}

void explain_own_device(const support::Facts& facts, const std::string&) {
    using support::Setting;
    cm::explain_setting(facts, "fabric", Setting::kSoftverbsFabric,
                        softverbs::Directory::chosen_path());
    cm::explain_setting(facts, "device_address", Setting::kSoftverbsAddress,
                        support::setting_text(Setting::kSoftverbsAddress));
    const softverbs::CopySetting copy = softverbs::copy_setting();
    cm::explain_setting(facts, "copy", Setting::kSoftverbsCopy, softverbs::to_text(copy));
    explain_ptrace(facts, copy);
    cm::explain_setting(facts, "shared_pages", Setting::kSoftverbsSharedPages,
                        support::setting_text(Setting::kSoftverbsSharedPages));
    facts.note("locked_memory", "not needed", "library", "soft0 pins no memory");
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return {cm::DeviceFault::Cause::kDoesNotOpen, "soft0", std::generic_category().message(error)};
}

cm::DeviceFault why_no_address(const DeviceName& name) {
    return {cm::DeviceFault::Cause::kUnknownName, name.device, "the software device soft0",
            "did you mean soft0?"};
}

cm::DeviceFault why_no_device_at(const sockaddr_storage&, int error) {
    return why_no_rdma_cm(error);
}

}  // namespace dapl::cma
