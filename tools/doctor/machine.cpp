// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/machine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "device/device_file.hpp"

namespace doctor {
namespace {

constexpr std::uint64_t kKibibyte = 1024;
constexpr std::uint64_t kMebibyte = kKibibyte * kKibibyte;
/// A program with a few connections easily registers this much.
constexpr std::uint64_t kLockedMemoryNeed = 64 * kMebibyte;
constexpr std::uint64_t kDescriptorNeed = 1024;
/// An arena of softverbs is smaller; shared payload memory is added to it.
constexpr std::uint64_t kSharedMemoryNeed = 32 * kMebibyte;
constexpr int kMostCpus = 1 << 16;

/// @return the value of `NAME:` in a file of such lines.
std::string field(const std::string& file, const std::string& name) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with(name + ":")) {
            const std::size_t value = line.find_first_not_of(" \t", name.size() + 1);
            return value == std::string::npos ? "" : line.substr(value);
        }
    return {};
}

/// Reads the environment with which the process was started, as libibverbs does.
bool has_fork_variable(const View& view) {
    std::ifstream stream(view.root + "/proc/self/environ");
    for (std::string entry; std::getline(stream, entry, '\0');)
        if (entry.starts_with("RDMAV_FORK_SAFE=") || entry.starts_with("IBV_FORK_SAFE="))
            return true;
    return false;
}

bool has_devices(const View& view) {
    return !dapl::cm::kernel_devices(view).empty();
}

std::string device_of(const Record& record) {
    return record.ia_params.substr(0, record.ia_params.find(' '));
}

}  // namespace

std::string first_line(const std::string& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

void check_records(const View& view, const std::vector<Record>& records, Findings& findings) {
    const auto devices = dapl::cm::kernel_devices(view);
    for (const dapl::cm::KernelDevice& device : devices) {
        const bool named = std::any_of(records.begin(), records.end(), [&](const Record& record) {
            return dapl::cm::is_for_resolver(device_of(record)) ||
                   dapl::cm::is_named(device, device_of(record));
        });
        if (!named)
            findings.add(kNoRecord, dapl::cm::to_text({device}) + " has no record",
                         "`dat_conf generate` prints records for this machine");
    }
    for (const Record& record : records) {
        const std::string name = device_of(record);
        if (record.library.find("libdaplofa.so") == std::string::npos ||
            dapl::cm::is_for_resolver(name))
            continue;
        if (std::any_of(devices.begin(), devices.end(),
                        [&](const auto& device) { return dapl::cm::is_named(device, name); }))
            continue;
        std::error_code ignored;
        if (std::filesystem::exists(view.root + "/sys/class/net/" + name, ignored)) continue;
        findings.add(
            kNoInterface,
            fmt::format("{} names {}; {} (the reference reports `open_hca: getaddr_netdev failed`)",
                        record.ia_name, name,
                        devices.empty() ? std::string("there is no RDMA device")
                                        : "the devices are " + dapl::cm::to_text(devices)),
            devices.empty()
                ? "load the driver of the adapter, or `dat_conf remove " + record.ia_name + "`"
                : "write the interface's current name (`ip link`) into the record; `dat_conf "
                  "check` "
                  "names the line");
    }
}

void check_devices(const View& view, Findings& findings) {
    const auto devices = dapl::cm::kernel_devices(view);
    for (const dapl::cm::KernelDevice& device : devices) {
        if (device.uverbs.empty()) {
            findings.add(kDeviceUnusable,
                         device.name + ": /sys/class/infiniband_verbs shows no device for it",
                         "modprobe ib_uverbs");
            continue;
        }
        if (const auto fault =
                dapl::cm::file_fault(view, "/dev/infiniband/" + device.uverbs, device.name))
            findings.add(kDeviceUnusable, fault->subject + ": " + fault->evidence,
                         fault->advice.empty() ? "udevadm trigger" : fault->advice);
    }
    if (devices.empty()) return;
    if (const auto fault = dapl::cm::file_fault(view, "/dev/infiniband/rdma_cm", "connections"))
        findings.add(kNoConnectionManager, fault->subject + ": " + fault->evidence,
                     fault->advice.empty() ? "modprobe rdma_ucm" : fault->advice);
}

void check_locked_memory(const View& view, const dapl::LockedMemory& memory, Findings& findings) {
    if (!has_devices(view) || !memory.forbids(kLockedMemoryNeed)) return;
    findings.add(
        kLittleLockedMemory,
        fmt::format("RLIMIT_MEMLOCK is {} KiB, of which devices hold {} KiB; programs need "
                    "{} KiB and more",
                    memory.limit / kKibibyte, memory.pinned / kKibibyte,
                    kLockedMemoryNeed / kKibibyte),
        "ulimit -l unlimited (memlock in /etc/security/limits.conf, LimitMEMLOCK= of a "
        "systemd service)");
}

void check_fork(const View& view, Findings& findings) {
    constexpr int kCopiesMajor = 5;
    constexpr int kCopiesMinor = 12;
    int major = 0;
    int minor = 0;
    const std::string release = first_line(view.root + "/proc/sys/kernel/osrelease");
    if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) return;
    const bool copies = major > kCopiesMajor || (major == kCopiesMajor && minor >= kCopiesMinor);
    if (copies || !has_devices(view) || has_fork_variable(view)) return;
    findings.add(
        kForkUnsafe,
        fmt::format("the kernel is {}; kernels before 5.12 do not copy registered pages at a "
                    "fork, and RDMAV_FORK_SAFE is not set",
                    release),
        "export RDMAV_FORK_SAFE=1");
}

void check_descriptors(std::uint64_t limit, Findings& findings) {
    if (limit >= kDescriptorNeed) return;
    findings.add(kFewDescriptors,
                 fmt::format("RLIMIT_NOFILE is {}; many connections need {} and more", limit,
                             kDescriptorNeed),
                 "ulimit -n " + std::to_string(kDescriptorNeed));
}

void check_numa(const View& view, Findings& findings) {
    const std::vector<int> allowed =
        parse_cpu_list(field(view.root + "/proc/self/status", "Cpus_allowed_list"));
    for (const dapl::cm::KernelDevice& device : dapl::cm::kernel_devices(view)) {
        const std::string place = view.root + "/sys/class/infiniband/" + device.name + "/device/";
        const std::string node = first_line(place + "numa_node");
        const std::string near_text = first_line(place + "local_cpulist");
        const std::vector<int> near = parse_cpu_list(near_text);
        if (node.empty() || node[0] == '-' || near.empty() || allowed.empty()) continue;
        std::vector<int> both;
        std::set_intersection(allowed.begin(), allowed.end(), near.begin(), near.end(),
                              std::back_inserter(both));
        if (!both.empty()) continue;
        findings.add(kFarFromDevice,
                     fmt::format("{} is on NUMA node {} with the processors {}, none of which this "
                                 "process may use",
                                 device.name, node, near_text),
                     fmt::format("numactl --cpunodebind={} --membind={} PROGRAM", node, node));
    }
}

void check_ptrace_scope(const View& view, bool is_root, Findings& findings) {
    constexpr char kNobody = '3';
    const std::string scope = first_line(view.root + "/proc/sys/kernel/yama/ptrace_scope");
    if (scope.empty() || scope[0] == '0' || (is_root && scope[0] < kNobody)) return;
    findings.add(kPtraceRefused,
                 "kernel.yama.ptrace_scope is " + scope +
                     "; over soft0 the peer's service thread copies, which is slower",
                 scope[0] == kNobody ? "set kernel.yama.ptrace_scope=0 in /etc/sysctl.d and reboot"
                                     : "sysctl kernel.yama.ptrace_scope=0");
}

void check_copy(int error, Findings& findings) {
    if (error == 0) return;
    findings.add(
        kPtraceRefused,
        fmt::format("process_vm_readv between two processes fails: {}; over soft0 the peer's "
                    "service thread copies, which is slower",
                    error > 0 ? std::generic_category().message(error) : "no answer"),
        "start the container with --cap-add=SYS_PTRACE, or with a seccomp profile that "
        "permits process_vm_readv and process_vm_writev");
}

void check_shared_memory(std::uint64_t total, std::uint64_t free, Findings& findings) {
    if (free >= kSharedMemoryNeed) return;
    findings.add(
        kLittleSharedMemory,
        total == 0 ? std::string("/dev/shm does not exist")
                   : fmt::format("/dev/shm has {} KiB, of which {} KiB are free", total / kKibibyte,
                                 free / kKibibyte),
        "mount -o remount,size=1g /dev/shm (in a container: --shm-size=1g), or remove files "
        "there");
}

std::vector<int> parse_cpu_list(const std::string& text) {
    std::vector<int> cpus;
    for (std::size_t at = 0; at < text.size();) {
        const std::string part = text.substr(at, text.find(',', at) - at);
        int first = 0;
        int last = 0;
        const int count = std::sscanf(part.c_str(), "%d-%d", &first, &last);
        if (count == 1) last = first;
        if (count < 1 || first < 0 || last < first || last >= kMostCpus) return {};
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        at += part.size() + 1;
    }
    return cpus;
}

}  // namespace doctor
