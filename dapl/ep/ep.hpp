// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Endpoint: a queue pair, its posted transfers, its connection.
#pragma once

#include <atomic>
#include <memory>

#include "dapl/base/codes.hpp"
#include "dapl/base/counters.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/ep/ep_connection.hpp"
#include "dapl/ep/ep_name.hpp"
#include "dapl/ep/ep_state.hpp"
#include "dapl/ep/shared_receives.hpp"
#include "dapl/ep/ud_endpoint.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/transfer/side.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Ia;
class Srq;

/// The objects that an EP uses; nullptr where the consumer gave none.
struct EpParts {
    Pz* pz;
    Evd* recv_evd;
    Evd* request_evd;
    Evd* connect_evd;
};

/// connection_lock guards the parts of an EP and its connection. It is never held while the queue
/// pair is destroyed: that waits for the handlers of its async events, which take the lock. Posts
/// to the device take the lock of their side only. Lock order: connection_lock before the side's
/// lock.
class Ep final : public Object<Ep>, public ListNode<Ep> {
  public:
    static constexpr Kind kKind = Kind::kEp;
    /// Makes an EP without parts and without a queue pair; renew() supplies them.
    /// @param srq of dat_ep_create_with_srq, else nullptr. @param service of DAT_EP_ATTR; the
    /// adapter's connection manager offers it. Throws std::bad_alloc.
    explicit Ep(Ia& owner, Srq* srq = nullptr, DAT_SERVICE_TYPE service = DAT_SERVICE_TYPE_RC);

    EpName name() const { return {id(), handle()}; }

    Ia& ia;
    const std::unique_ptr<SharedReceives> shared;  ///< nullptr: the EP has its own receives
    const std::unique_ptr<UdEndpoint> ud;          ///< nullptr: a connected endpoint
    EpParts parts GUARDED_BY(connection_lock);
    DAT_EP_ATTR attributes GUARDED_BY(connection_lock);
    EpConnection connection GUARDED_BY(connection_lock){*this};
    EpState state;
    EpCounters counters;

    Side requests;
    Side receives;
    /// The invalidation before a bind has failed, so the bind completes flushed.
    std::atomic<bool> invalidation_failed{false};
    /// Status of a failed request that another one follows, which completes flushed.
    std::atomic<ibv_wc_status> first_half_status{IBV_WC_SUCCESS};
    /// DAT_EP_ATTR::request_completion_flags.
    std::atomic<unsigned> request_flags{0};

    /// Returns the operation of its receives: DAT_DTOS or DAT_IB_DTOS.
    std::uint32_t receive_operation() const {
        return ud ? std::uint32_t{DAT_IB_DTO_RECV_UD} : std::uint32_t{DAT_DTO_RECEIVE};
    }
    Side& side(bool receive) { return receive ? receives : requests; }
    const Side& side(bool receive) const { return receive ? receives : requests; }

    /// The queue pair in state INIT, RTR, RTS or ERR; nullptr without a PZ.
    ibv_qp* queue_pair() REQUIRES(connection_lock) { return queue_pair_.get(); }
    /// Returns whether a connection request could be accepted with it.
    bool is_complete() const REQUIRES(connection_lock) { return queue_pair_ && parts.connect_evd; }
    /// Replaces parts, attributes and queue pair. The new queue pair, if there is a PZ, is in state
    /// INIT (RTS for datagrams); work requests on the old one complete flushed.
    /// @param call the DAT call, which the EP's state has to allow.
    /// @return the code of dat_ep_create or of the illegal call, and nothing has changed; or raw
    /// DAT_INVALID_STATE while a peer is in the middle of a transfer with an old queue pair: if
    /// that is the one replaced here, the change is made and end_old() destroys it later.
    support::Result<void> renew(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call)
        EXCLUDES(connection_lock);
    /// Changes parts and attributes; renews the queue pair only if it has to differ.
    /// @param call, @return as for renew().
    support::Result<void> modify(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call)
        EXCLUDES(connection_lock);
    /// Sets the inline limit of requests. Called again when the IA gets its first zero-based LMR or
    /// loses its last (Ia::zero_based_lmrs).
    void limit_inline() REQUIRES(connection_lock);
    /// Releases the parts. The queue pair has ended.
    void release_parts() REQUIRES(connection_lock) { set_parts({}); }
    /// Identifies the current queue pair to the RMRs that are bound through it.
    std::atomic<std::uint64_t> binding_base{Side::kNoWorkRequests};

    /// Posts the marker: a zero-length RDMA write, which completes after everything posted before
    /// it and which the peer does not notice. @return errno.
    int post_marker() REQUIRES(connection_lock);
    /// Moves the queue pair to the error state. Every work request completes, and later posts
    /// complete flushed, whatever the device does. On return the completions are in the EVDs, those
    /// of shared receives only if the device was quick enough. Further calls do nothing.
    void flush_queue_pair() REQUIRES(connection_lock);
    /// Destroys the queue pair; unconsumed completions stay in the EVDs as events. May wait for the
    /// peer. @return false if the peer is in the middle of a transfer: the EP no longer uses the
    /// queue pair, and a later call destroys it.
    bool end_queue_pair() EXCLUDES(connection_lock);
    /// Destroys the previous queue pair if renew() could not. @return as for end_queue_pair().
    bool end_old() EXCLUDES(connection_lock);

  private:
    /// @return DAT_SUCCESS, or the code for a call that is not legal in the current state.
    DAT_RETURN check(EpCall call) const REQUIRES(connection_lock);
    std::uint32_t max_message(bool is_receive) const REQUIRES(connection_lock);
    void set_parts(const EpParts& made_of) REQUIRES(connection_lock);
    void change(const EpParts& made_of, const DAT_EP_ATTR& wanted) REQUIRES(connection_lock);
    bool keeps_queue_pair(const EpParts& made_of, const DAT_EP_ATTR& wanted) const
        REQUIRES(connection_lock);
    void retire_sides() REQUIRES(connection_lock);
    /// Memory for one side of a new queue pair, allocated before anything is changed.
    struct Storage {
        std::uint32_t limit = 0;  ///< slots that may be in use at a time
        SlotRing::Storage slots;
    };
    struct Sides {
        Storage requests, receives;
        ibv_sge read_back{};
    };
    Storage storage(std::uint32_t limit) const;
    Sides storage_for(const DAT_EP_ATTR& wanted) const;
    void install_sides(const ibv_qp_cap& made, Sides& sides) REQUIRES(connection_lock);
    /// Destroys a queue pair, which waits for the handlers of its async events and for the peer.
    /// @return false if the peer is in the middle of a transfer: `old` is kept for end_old().
    bool dispose(verbs::QueuePair old) EXCLUDES(connection_lock);
    void install(Side& side, Evd* evd, Storage& storage, int segments, bool is_receive)
        REQUIRES(connection_lock) EXCLUDES(side.lock);
    void retire(Side& side, Evd* evd) EXCLUDES(side.lock);
    void flush(Side& side, Evd* evd) EXCLUDES(side.lock);
    verbs::QueuePair queue_pair_ GUARDED_BY(connection_lock);
    verbs::QueuePair old_queue_pair_ GUARDED_BY(connection_lock);  ///< kept for end_old()
    std::uint32_t device_inline_ GUARDED_BY(connection_lock) = 0;
};

/// Destroys an EP and its connection, whatever its state. May wait for the peer. @return false if
/// the peer is in the middle of a transfer: the EP stays, without a queue pair, and a later call
/// destroys it.
bool destroy_ep(Ep& ep) EXCLUDES(connection_lock);

}  // namespace dapl
