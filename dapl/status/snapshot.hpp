// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A snapshot of the core's state in this process, in plain values, for the answer to dat_stat.
#pragma once

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dapl/base/counters.hpp"
#include "dapl/base/dat.hpp"
#include "dapl/ep/ep_history.hpp"
#include "dapl/transfer/slot_ring.hpp"

namespace dapl {
struct ProcessState;
}

namespace dapl::status {

using Clock = std::chrono::steady_clock;
/// A lower bound: the true age may be longer, by up to the time between two samples.
using Age = Clock::duration;

/// The requests or the receives of an EP.
struct SideStatus {
    SlotRing::Look work{};
    std::uint32_t limit = 0;
    std::uint64_t taken = 0;  ///< changes when the consumer consumes a completion
    std::uint64_t evd = 0;    ///< id, or 0
    // Filled in by Ages:
    Age idle{};        ///< since a completion was last consumed
    Age oldest_age{};  ///< of the oldest posted transfer
};

struct EpStatus {
    std::uint64_t id;
    DAT_EP_STATE state;
    bool is_datagram;
    sockaddr_storage peer;  ///< family 0 before the first connection
    std::uint64_t local_port, peer_port;
    std::uint64_t connect_evd, srq;  ///< ids, or 0
    SideStatus requests, receives;
    EpHistory history;
    std::array<std::uint64_t, DCNT_EP_ALL_COUNTERS> counters;
};

struct EvdStatus {
    std::uint64_t id;
    DAT_EVD_FLAGS flags;
    DAT_COUNT length;   ///< of the queue
    DAT_COUNT pending;  ///< events queued in the library, without completions still in the device
    bool waited_on, lost_events;
    std::uint64_t cno;  ///< id, or 0
    std::array<std::uint64_t, DCNT_EVD_ALL_COUNTERS> counters;
    Age unlooked{};  ///< since it was last asked for events, 0 while waited on; by Ages
};

struct CnoStatus {
    std::uint64_t id;
    bool known;  ///< false: another thread held its lock, so what follows is unknown
    int waiters, evds;
    bool triggered;
};

struct SrqStatus {
    std::uint64_t id;
    DAT_COUNT limit, posted;
    int users;  ///< number of EPs
    bool failed;
};

struct ServicePointStatus {
    std::uint64_t id;
    const char* kind;  ///< "PSP", "RSP", "CSP", "SSP"
    std::uint64_t conn_qual;
};

/// A connection request that the consumer has not answered.
struct CrStatus {
    std::uint64_t id, conn_qual;
    sockaddr_storage peer;
    Age age{};  ///< by Ages
};

struct IaStatus {
    std::uint64_t id;
    std::string name, device, manager;
    int port;
    sockaddr_storage address;
    /// Another thread held a lock of its objects for longer than take_snapshot() waits: the numbers
    /// and lists below are incomplete, but not the counters.
    bool busy = false;
    std::uint64_t pzs = 0, lmrs = 0, lmr_bytes = 0, rmrs = 0;
    std::vector<EpStatus> eps;
    std::vector<EvdStatus> evds;
    std::vector<CnoStatus> cnos;
    std::vector<SrqStatus> srqs;
    std::vector<ServicePointStatus> service_points;
    std::vector<CrStatus> requests;
    std::array<std::uint64_t, DCNT_IA_ALL_COUNTERS> counters{};
};

struct Snapshot {
    Clock::time_point when;
    /// An adapter instance was being opened or closed for longer than take_snapshot() waits; `ias`
    /// is empty.
    bool busy = false;
    std::vector<IaStatus> ias;
};

/// Takes no lock of the data path and waits only briefly for any other.
Snapshot take_snapshot(ProcessState& process);

}  // namespace dapl::status
