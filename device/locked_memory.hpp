// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The limit of locked memory, which kernel devices usually reach first: they pin the memory that
/// is registered, and some pin their queues.
#pragma once

#include <cstdint>
#include <istream>

namespace dapl {

struct LockedMemory {
    static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
    std::uint64_t limit;   ///< RLIMIT_MEMLOCK in bytes; kUnlimited if it does not apply
    std::uint64_t pinned;  ///< bytes pinned by devices, which count against the limit
    std::uint64_t locked;  ///< bytes locked by mlock and the like, which are limited separately

    /// Whether the kernel refuses to pin that many bytes more.
    bool forbids(std::uint64_t bytes) const;
};

/// @return the current values of the calling process. Reads files of /proc.
LockedMemory locked_memory();

/// @param status /proc/self/status. @param users /proc/self/uid_map. @param limit RLIMIT_MEMLOCK.
/// The capability that lifts the limit (CAP_IPC_LOCK) counts only in the initial user namespace: a
/// container's root is bound by the limit.
LockedMemory locked_memory(std::istream& status, std::istream& users, std::uint64_t limit);

/// Whether the errno value of a refusal can mean that the limit is reached.
bool may_be_lock_limit(int error_number);

}  // namespace dapl
