// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Copies between the address spaces of two processes. The ranges have been checked; placement is
/// in order: who polls the last bytes of what is written sees all of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "providers/soft/verbs/layout.hpp"
#include "providers/soft/verbs/shared_part.hpp"

namespace softverbs {

/// Bytes of this process.
struct LocalRange {
    std::uint64_t address;
    std::uint64_t length;
};

/// Bytes of the peer: where they are, and under which name the peer knows them.
struct RemoteRange {
    std::uint64_t address;
    std::uint64_t length;
    std::uint64_t named;  ///< address as its key has it
    std::uint32_t key;
    SharedPart shared;
};

/// What one request moves, after the checks.
struct Plan {
    LocalRange local[kMaxSge];
    RemoteRange remote[kMaxSge];
    std::uint32_t num_local = 0;
    std::uint32_t num_remote = 0;
    std::uint64_t length = 0;

    std::span<const LocalRange> locals() const { return {local, num_local}; }
    std::span<const RemoteRange> remotes() const { return {remote, num_remote}; }
};

/// Bytes [offset, offset + length) of the local ranges. @return how many ranges that makes.
std::uint32_t cut_locals(const Plan& plan, std::uint64_t offset, std::uint64_t length,
                         LocalRange* out);

/// Within this process.
void write_local(const Plan& plan);
void read_local(const Plan& plan);

/// By process_vm_writev and process_vm_readv. @return 0 or an errno: EFAULT when memory is not
/// there any more, ESRCH when the process is not, EPERM when it may not be touched.
int write_process(pid_t pid, const Plan& plan);
int read_process(pid_t pid, const Plan& plan);

/// memcpy whose last bytes are stored after all others, in the widest aligned pieces.
void ordered_copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length);

/// @return whether all of the ranges is mapped here: whose fault EFAULT was.
bool all_mapped(std::span<const LocalRange> ranges);

/// memcpy of what mostly is one word.
inline void copy_short(void* to, const void* from, std::size_t length) {
    constexpr std::size_t kWord = 8;
    if (length == kWord)
        std::memcpy(to, from, kWord);
    else
        std::memcpy(to, from, length);
}

/// Gathers the ranges, from `offset` on, into or out of one buffer.
void gather(std::uint8_t* to, std::span<const LocalRange> from, std::uint64_t offset,
            std::uint64_t length);
void scatter(std::span<const LocalRange> to, const std::uint8_t* from, std::uint64_t offset,
             std::uint64_t length);

}  // namespace softverbs
