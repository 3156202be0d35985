// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Copies between memory of this process and of a peer, of ranges that have been checked. Writes
/// are placed in order: whoever polls the last bytes of what is written sees all of it.
///
/// Memory that is shared from birth, and inline data, are copied by plain loads and stores, through
/// mappings of our own, which remain whatever the program does with its mappings. All other memory
/// is copied by the kernel, which reports what the program has unmapped or protected since it
/// registered it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/arena/shared_part.hpp"

namespace softverbs {

/// A range of this process's memory.
struct LocalRange {
    std::uint64_t address;
    std::uint64_t length;
    SharedPart shared;   ///< of the region
    std::uint8_t* here;  ///< where plain copies reach it; nullptr: they do not
};

/// A range of a peer's memory: where it is, and by which address and key requests name it.
struct RemoteRange {
    std::uint64_t address;
    std::uint64_t length;
    std::uint64_t named;  ///< the address that goes with `key`
    std::uint32_t key;
    SharedPart shared;   ///< of the region
    std::uint8_t* here;  ///< as in LocalRange
};

/// The checked ranges that one request, or a piece of it, moves.
struct Plan {
    LocalRange local[kMaxSge];
    RemoteRange remote[kMaxSge];
    std::uint32_t num_local = 0;
    std::uint32_t num_remote = 0;
    std::uint64_t length = 0;

    std::span<const LocalRange> locals() const { return {local, num_local}; }
    std::span<const RemoteRange> remotes() const { return {remote, num_remote}; }
};

/// Sets `piece` to bytes [offset, offset + length) of a plan.
void cut(const Plan& plan, std::uint64_t offset, std::uint64_t length, Plan& piece);

/// Copies between ranges all of which have `here`.
void write_plain(const Plan& plan);
void read_plain(const Plan& plan);

/// A process as it was when it opened the device. After execve() nothing reaches its new image.
struct Image {
    pid_t pid;
    std::uint64_t address;  ///< ArenaHeader::image_address
};

/// Copies by process_vm_writev or process_vm_readv.
/// @return 0 or an errno: EFAULT when memory is no longer mapped or was protected, ESRCH when the
/// process or its image has ended, EPERM when access is not permitted.
int write_process(const Image& image, const Plan& plan);
int read_process(const Image& image, const Plan& plan);

/// Reads memory of this process into a mapped file of ours. @return 0 or EFAULT.
int read_into_file(int fd, std::uint64_t offset, std::span<const LocalRange> from);
/// Writes memory of this process from such a file, the last bytes last. @return 0 or EFAULT.
int write_from_file(int fd, std::uint64_t offset, std::span<const LocalRange> to);

/// memmove whose last bytes are stored after all others, in the widest aligned pieces.
void ordered_copy(std::uint8_t* to, const std::uint8_t* from, std::uint64_t length);

/// @return whether all of the ranges may be read here, or written: shows which side an EFAULT came
/// from.
bool are_there(std::span<const LocalRange> ranges, bool writes);

/// memcpy with a shortcut for one word, the most frequent length.
inline void copy_short(void* to, const void* from, std::size_t length) {
    constexpr std::size_t kWord = 8;
    if (length == kWord)
        std::memcpy(to, from, kWord);
    else
        std::memcpy(to, from, length);
}

/// Gathers ranges all of which have `here` into one buffer.
void gather(std::uint8_t* to, std::span<const LocalRange> from);
/// Scatters a buffer over ranges all of which have `here`.
void scatter(std::span<const LocalRange> to, const std::uint8_t* from);

}  // namespace softverbs
