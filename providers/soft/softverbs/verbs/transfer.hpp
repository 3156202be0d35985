// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Copies between memory of this process and of a peer. The ranges have been checked; placement is
/// in order: who polls the last bytes of what is written sees all of it.
///
/// Memory that is shared from birth, and data posted inline, are copied by plain loads and stores,
/// through mappings of our own: they are there whatever the program does with its own. All other
/// memory is copied by the kernel, which reports what the program has unmapped or protected since
/// it registered it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "providers/soft/softverbs/verbs/layout.hpp"
#include "providers/soft/softverbs/verbs/shared_part.hpp"

namespace softverbs {

/// Bytes of this process.
struct LocalRange {
    std::uint64_t address;
    std::uint64_t length;
    SharedPart shared;   ///< of the region
    std::uint8_t* here;  ///< where plain copies reach them; nullptr: nowhere
};

/// Bytes of the peer: where they are, and under which name the peer knows them.
struct RemoteRange {
    std::uint64_t address;
    std::uint64_t length;
    std::uint64_t named;  ///< address as its key has it
    std::uint32_t key;
    SharedPart shared;   ///< of the region
    std::uint8_t* here;  ///< as in LocalRange
};

/// What one request moves, or a piece of it, after the checks.
struct Plan {
    LocalRange local[kMaxSge];
    RemoteRange remote[kMaxSge];
    std::uint32_t num_local = 0;
    std::uint32_t num_remote = 0;
    std::uint64_t length = 0;

    std::span<const LocalRange> locals() const { return {local, num_local}; }
    std::span<const RemoteRange> remotes() const { return {remote, num_remote}; }
};

/// Bytes [offset, offset + length) of a plan.
void cut(const Plan& plan, std::uint64_t offset, std::uint64_t length, Plan& piece);

/// Between ranges that are all `here`.
void write_plain(const Plan& plan);
void read_plain(const Plan& plan);

/// A process as it was when it opened the device. After execve() nothing reaches its new image.
struct Image {
    pid_t pid;
    std::uint64_t address;  ///< ArenaHeader::image_address
};

/// By process_vm_writev and process_vm_readv. @return 0 or an errno: EFAULT when memory is not
/// there any more, ESRCH when the process or its image is not, EPERM when it may not be touched.
int write_process(const Image& image, const Plan& plan);
int read_process(const Image& image, const Plan& plan);

/// Between memory of this process and a file of ours that is mapped: @return 0 or EFAULT.
int read_into_file(int fd, std::uint64_t offset, std::span<const LocalRange> from);
/// The last bytes are placed last.
int write_from_file(int fd, std::uint64_t offset, std::span<const LocalRange> to);

/// memmove whose last bytes are stored after all others, in the widest aligned pieces.
void ordered_copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length);

/// @return whether all of the ranges may be read here, or written: whose fault EFAULT was.
bool are_there(std::span<const LocalRange> ranges, bool writes);

/// memcpy of what mostly is one word.
inline void copy_short(void* to, const void* from, std::size_t length) {
    constexpr std::size_t kWord = 8;
    if (length == kWord)
        std::memcpy(to, from, kWord);
    else
        std::memcpy(to, from, length);
}

/// Gathers ranges that are all `here` into one buffer.
void gather(std::uint8_t* to, std::span<const LocalRange> from);
/// Scatters a buffer over ranges that are all `here`.
void scatter(std::span<const LocalRange> to, const std::uint8_t* from);

}  // namespace softverbs
