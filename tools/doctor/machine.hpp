// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What is wrong with this machine, as far as files of the kernel and limits tell: each check looks
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

/// Device files and the rights to them.
void check_devices(const View& view, Findings& findings);
/// What check_records() wants to know of an IA.
struct Record {
    std::string ia_name, library, ia_params;
};
/// Devices that no record names, and records whose network interface is not there.
void check_records(const View& view, const std::vector<Record>& records, Findings& findings);
/// Only kernel devices lock memory.
void check_locked_memory(const View& view, const dapl::LockedMemory& memory, Findings& findings);
/// Kernels before 5.12 give a forking process's registered pages away, unless libibverbs was told.
void check_fork(const View& view, Findings& findings);
void check_descriptors(std::uint64_t limit, Findings& findings);
/// The processors that this process may use and those near each device.
void check_numa(const View& view, Findings& findings);
/// kernel.yama.ptrace_scope. @param is_root whether the process has root's rights.
void check_ptrace_scope(const View& view, bool is_root, Findings& findings);
/// @param error of copy_between_processes(): more than Yama may forbid it.
void check_copy(int error, Findings& findings);
/// @param total, free bytes of /dev/shm; 0, 0: it is not there.
void check_shared_memory(std::uint64_t total, std::uint64_t free, Findings& findings);

/// @param text as the kernel writes it: `0-3,8`. What is no such list has nothing in it.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace doctor
