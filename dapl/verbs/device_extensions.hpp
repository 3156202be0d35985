// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Functions that a device may offer beyond verbs. Only soft0 does: libdaplsoft contains it and
/// passes its functions; the other provider libraries find them if libsoftverbs.so was loaded
/// before them.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbs {

enum class FailureCause : std::uint32_t {
    kUnknown,
    kNoSuchKey,        ///< no region or window has or had the key
    kKeyEnded,         ///< its region has been deregistered, or its window unbound
    kOutOfRange,       ///< the requested range is not inside that of the region or window
    kMissingRight,     ///< the region or window does not grant `rights`
    kOtherDomain,      ///< the region or window belongs to another protection domain
    kOtherQueuePair,   ///< the window is bound to another queue pair
    kQueuePairRights,  ///< the queue pair does not grant `rights`
    kMemoryGone,       ///< the key is good, but the program has unmapped or protected the memory
    kProcessEnded,     ///< the process at the other end: pid, signal, exit_code
    kProgramReplaced,  ///< it has called execve(): pid
    kQueuePairGone,    ///< the other end has been destroyed or reset
    kQueuePairFailed,  ///< the other end is in the error state
    kLinkDown,         ///< a port has no link: is_remote
    kFaultRule,        ///< a fault rule asked for it (softverbs-fault(5))
};

/// Why the connection of a queue pair ended, in more detail than the status of a completion.
/// Members that do not apply to the cause are 0.
struct QueuePairFailure {
    FailureCause cause;
    bool asked_by_peer;  ///< the peer's request was refused here
    bool is_remote;      ///< the key is the peer's
    bool is_window;
    bool is_receive;  ///< the key belongs to a segment of a receive
    bool is_by_exit;  ///< the process closed the device or called exit(); its status may be unknown
    std::uint32_t key;
    std::uint32_t rights;  ///< the IBV_ACCESS_* bit that was needed; 0: reading local memory
    std::uint64_t address, length;                ///< requested, in bytes
    std::uint64_t region_address, region_length;  ///< the range of the key
    std::uint64_t ended_at;                       ///< CLOCK_MONOTONIC in ns; 0: not known
    std::int32_t ended_by;                        ///< process id; 0: not known
    std::int32_t pid;                             ///< of the other end; 0: not visible from here
    std::int32_t signal;                          ///< that ended the process; 0: none or not known
    std::int32_t exit_code;                       ///< -1: not known
};

/// Uses of a memory region by peers, who count them without locked instructions: now and then one
/// is missing.
struct RegionUses {
    std::atomic<std::uint64_t> last;   ///< CLOCK_MONOTONIC in ns, coarse; 0: never
    std::atomic<std::uint32_t> count;  ///< requests, longer ones several times; modulo 2^32
};

/// A function that the device does not have is nullptr. All are thread safe.
struct DeviceExtensions {
    /// Allocates zeroed memory that peers on the same machine can map. @return nullptr with errno
    /// if it fails.
    void* (*memory_alloc)(std::size_t size);
    void (*memory_free)(void* memory);
    /// Finds out why the connection of a queue pair ended. @param qp of any device. @return false
    /// if it is not of soft0, or has not failed and its peer's process is alive. Makes system
    /// calls; allocates no memory.
    bool (*failure_of)(ibv_qp* qp, QueuePairFailure* failure);
    /// @return whether a context is one of the device's. The functions below are for such alone.
    bool (*drives)(const ibv_context* context);
    /// Ends a memory registration of another process of the user
    /// (providers/soft/softverbs/end_registration.hpp).
    bool (*end_registration)(pid_t pid, std::uint32_t key);
    /// Uses of a region by peers, and its absence
    /// (providers/soft/softverbs/region_extensions.hpp).
    const RegionUses* (*count_region_uses)(ibv_mr* region);
    bool (*suspend_region)(ibv_mr* region, void (*wanted)(void* context), void* context);
    bool (*resume_region)(ibv_mr* region);
};

/// @return the functions that a device of this context has; none if it is another device than
/// theirs.
DeviceExtensions extensions_for(const ibv_context* context, const DeviceExtensions& found);

/// @return the functions of a device that was loaded before this library. Looks up symbols, which
/// allocates memory.
DeviceExtensions preloaded_extensions();

}  // namespace verbs
