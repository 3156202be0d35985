// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The limit of locked memory, which devices of the kernel run into first: they pin what is
/// registered with them, and some their queues.
#pragma once

#include <cstdint>
#include <istream>

namespace dapl {

struct LockedMemory {
    static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
    std::uint64_t limit;   ///< RLIMIT_MEMLOCK in bytes; kUnlimited for whom it does not bind
    std::uint64_t pinned;  ///< by devices, in bytes: what the kernel holds against the limit
    std::uint64_t locked;  ///< by mlock and the like, in bytes: has the limit to itself

    /// Whether the kernel refuses to pin so many bytes more.
    bool forbids(std::uint64_t bytes) const;
};

/// As it is now for the calling process. Reads files of /proc.
LockedMemory locked_memory();

/// @param status /proc/self/status. @param users /proc/self/uid_map. @param limit RLIMIT_MEMLOCK.
/// The capability that lifts the limit counts in the first user name space only: a container's root
/// is bound by it.
LockedMemory locked_memory(std::istream& status, std::istream& users, std::uint64_t limit);

/// Whether an errno value of a refusal can mean the limit.
bool may_be_lock_limit(int error_number);

}  // namespace dapl
