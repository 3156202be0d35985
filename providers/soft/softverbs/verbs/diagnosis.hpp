// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds out why a request failed, after the fact and from what the tables still contain: the data
/// path knows only that a check failed, not which.
#pragma once

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

struct SendWork;

/// A range of memory that was requested, and the key that was used.
struct Asked {
    std::uint32_t key;
    std::uint32_t rights;  ///< IBV_ACCESS_* bits, all of which were needed
    std::uint64_t address;
    std::uint64_t length;
};

/// Diagnoses a local protection error: the first segment of the request that is at fault.
verbs::QueuePairFailure diagnose_local(const Adapter& adapter, const SendWork& work,
                                       std::uint32_t pd);
/// Diagnoses a remote access error, on the requester's side.
verbs::QueuePairFailure diagnose_remote(const Target& target, const Asked& asked);
/// Diagnoses a remote access error, on the responder's side. @param qp the queue pair through which
/// the request came.
verbs::QueuePairFailure diagnose_asked(const ArenaView& own, const QpEntry& qp);
/// Diagnoses an invalid request, on both sides: one of a kind that the responder's queue pair does
/// not take. Any other has no diagnosis.
verbs::QueuePairFailure diagnose_invalid(const Target& target, const Asked& asked);
verbs::QueuePairFailure diagnose_invalid(const QpEntry& qp);
/// Diagnoses a receive whose memory cannot be written. @param pd of the receive queue.
verbs::QueuePairFailure diagnose_receive(const ArenaView& own, const QpEntry& qp, std::uint32_t pd);
/// Diagnoses such a receive on the sender's side.
verbs::QueuePairFailure diagnose_remote_receive(const Target& target);
/// Diagnoses a peer that has not answered our queue pair `qp`.
verbs::QueuePairFailure diagnose_silence(const Adapter& own, const QpEntry& qp,
                                         const Target& target);
/// Describes how the peer's process ended.
verbs::QueuePairFailure diagnose_death(const Peer& peer);

/// @return the access to its peer's memory that a request needs.
Asked asked_by(const SendWork& work);

}  // namespace softverbs
