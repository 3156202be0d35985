// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds what is wrong with this machine, according to kernel files and limits. Each check reads
/// below the root of the view, so that tests have machines of their own. All functions allocate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/kernel_devices.hpp"
#include "device/locked_memory.hpp"
#include "tools/doctor/finding.hpp"

namespace doctor {

using View = dapl::cm::KernelView;

/// @return the first line of a file; empty if it cannot be read.
std::string first_line(const std::string& file);

/// Checks the device files and the access rights to them.
void check_devices(const View& view, Findings& findings);
/// The parts of an IA's record that check_records() needs.
struct Record {
    std::string ia_name, library, ia_params;
};
/// Finds devices that no record names, and records whose network interface does not exist.
void check_records(const View& view, const std::vector<Record>& records, Findings& findings);
/// Checks nothing without a kernel device: only those lock memory.
void check_locked_memory(const View& view, const dapl::LockedMemory& memory, Findings& findings);
/// Kernels before 5.12 may leave a forking process's registered pages to the child, unless
/// libibverbs was told to prevent it.
void check_fork(const View& view, Findings& findings);
void check_descriptors(std::uint64_t limit, Findings& findings);
/// Compares the processors that this process may use with those near each device.
void check_numa(const View& view, Findings& findings);
/// Checks kernel.yama.ptrace_scope. @param is_root whether the process has root's rights.
void check_ptrace_scope(const View& view, bool is_root, Findings& findings);
/// @param error result of copy_between_processes(): more than Yama may forbid the copy.
void check_copy(int error, Findings& findings);
/// @param total, free bytes of /dev/shm; 0, 0: it does not exist.
void check_shared_memory(std::uint64_t total, std::uint64_t free, Findings& findings);

/// @param text as the kernel writes it: `0-3,8`. @return empty for any other text.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace doctor
