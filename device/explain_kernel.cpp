// SPDX-License-Identifier: BSD-2-Clause
#include "device/explain_kernel.hpp"

#include <fmt/core.h>

#include "device/locked_memory.hpp"

namespace dapl::cm {
namespace {

using support::Standing;

/// With less, even a program with one EP and a few megabytes of buffers reaches the limit.
constexpr std::uint64_t kEnoughLockedMemory = 64 << 20;
constexpr std::uint64_t kMebibyte = 1 << 20;

void explain_locked_memory(const support::Facts& facts) {
    const LockedMemory memory = locked_memory();
    const char* source = "RLIMIT_MEMLOCK";
    if (memory.limit == LockedMemory::kUnlimited)
        return facts.note("locked_memory", "unlimited", source, "");
    const bool enough = memory.limit >= kEnoughLockedMemory;
    facts.add("locked_memory",
              fmt::format("{} KiB, of which devices hold {} KiB", memory.limit / 1024,
                          memory.pinned / 1024),
              source, enough ? Standing::kWorks : Standing::kDegraded,
              enough ? ""
                     : fmt::format("registered memory counts against it, and programs need {} MiB "
                                   "and more: raise it (`ulimit -l`, memlock in "
                                   "/etc/security/limits.conf, LimitMEMLOCK= of a systemd service)",
                                   kEnoughLockedMemory / kMebibyte));
}

}  // namespace

void explain_kernel_device(const support::Facts& facts, const KernelView& view,
                           const std::string& device) {
    for (const KernelDevice& known : kernel_devices(view)) {
        if (known.name != device) continue;
        facts.add("device_file", "/dev/infiniband/" + known.uverbs, "sysfs");
        for (const std::string& interface : known.interfaces)
            facts.add("network_interface", interface, "sysfs");
    }
    explain_locked_memory(facts);
}

}  // namespace dapl::cm
