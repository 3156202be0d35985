// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Why a request failed: looked for after it has, with all that the tables still say. The data path
/// knows only that a check failed, not which.
#pragma once

#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/layout.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

struct SendWork;

/// Which range was asked for under which key.
struct Asked {
    std::uint32_t key;
    std::uint32_t rights;  ///< IBV_ACCESS_* bits, all of which were needed
    std::uint64_t address;
    std::uint64_t length;
};

/// A local protection error: the first of the request's segments that is at fault.
verbs::QueuePairFailure diagnose_local(const Adapter& adapter, const SendWork& work,
                                       std::uint32_t pd);
/// A remote access error, seen by who made the request.
verbs::QueuePairFailure diagnose_remote(const Target& target, const Asked& asked);
/// The same, seen by who was asked. @param qp the queue pair by way of which it came.
verbs::QueuePairFailure diagnose_asked(const ArenaView& own, const QpEntry& qp);
/// A receive whose memory cannot be written. @param pd of the receive queue.
verbs::QueuePairFailure diagnose_receive(const ArenaView& own, const QpEntry& qp, std::uint32_t pd);
/// The same, seen by who sent.
verbs::QueuePairFailure diagnose_remote_receive(const Target& target);
/// The peer has not answered.
verbs::QueuePairFailure diagnose_silence(const Target& target);
/// The peer's process has ended.
verbs::QueuePairFailure diagnose_death(const Peer& peer);

/// What a request asks of its peer's memory.
Asked asked_by(const SendWork& work);

}  // namespace softverbs
