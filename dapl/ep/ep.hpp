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

/// What an EP is made of; NULL where the consumer gave none.
struct EpParts {
    Pz* pz;
    Evd* recv_evd;
    Evd* request_evd;
    Evd* connect_evd;
};

/// connection_lock guards what an EP is made of and its connection; it is never held while a verbs
/// object is destroyed (that waits for the handlers of its async events, which want the lock).
/// Posts take the lock of their side only; connection_lock comes before it.
class Ep final : public Object<Ep>, public ListNode<Ep> {
  public:
    static constexpr Kind kKind = Kind::kEp;
    /// Made of nothing: renew() makes it.
    /// @param srq of dat_ep_create_with_srq, else nullptr. @param service of DAT_EP_ATTR; its
    /// manager offers it. Throws std::bad_alloc.
    explicit Ep(Ia& owner, Srq* srq = nullptr, DAT_SERVICE_TYPE service = DAT_SERVICE_TYPE_RC);

    EpName name() const { return {id(), handle()}; }

    Ia& ia;
    const std::unique_ptr<SharedReceives> shared;  ///< nullptr: receives of its own
    const std::unique_ptr<UdEndpoint> ud;          ///< nullptr: a connected endpoint
    EpParts parts GUARDED_BY(connection_lock);
    DAT_EP_ATTR attributes GUARDED_BY(connection_lock);
    EpConnection connection GUARDED_BY(connection_lock){*this};
    EpState state;
    EpCounters counters;

    Side requests;
    Side receives;
    /// An RMR could not be invalidated, which was to come before a bind; that comes back flushed.
    std::atomic<bool> invalidation_failed{false};
    /// How a write failed that a read was to confirm; that comes back flushed.
    std::atomic<ibv_wc_status> unconfirmed_status{IBV_WC_SUCCESS};
    /// DAT_EP_ATTR::request_completion_flags.
    std::atomic<unsigned> request_flags{0};

    /// What a receive of it is: DAT_DTOS or DAT_IB_DTOS.
    std::uint32_t receive_operation() const {
        return ud ? std::uint32_t{DAT_IB_DTO_RECV_UD} : std::uint32_t{DAT_DTO_RECEIVE};
    }
    Side& side(bool receive) { return receive ? receives : requests; }
    const Side& side(bool receive) const { return receive ? receives : requests; }

    /// The queue pair in state INIT, RTR, RTS or ERR; nullptr without a PZ.
    ibv_qp* queue_pair() REQUIRES(connection_lock) { return queue_pair_.get(); }
    /// Whether a request could be accepted with it.
    bool is_complete() const REQUIRES(connection_lock) { return queue_pair_ && parts.connect_evd; }
    /// Makes a fresh queue pair in state INIT, if there is a PZ, and with it replaces the old one,
    /// the parts and the attributes. What is posted on the old one comes back flushed.
    /// @param call what it is for: legal in the state that the EP then has, else nothing has
    /// changed. @return codes as dat_ep_create gives them; then nothing has changed either.
    support::Result<void> renew(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call)
        EXCLUDES(connection_lock);
    /// Changes parts and attributes; renews the queue pair only where it has to differ.
    /// @param call, @return as for renew().
    support::Result<void> modify(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call)
        EXCLUDES(connection_lock);
    /// The IA has got its first zero-based LMR, or lost its last: see Ia::zero_based_lmrs.
    void limit_inline() REQUIRES(connection_lock);
    /// Lets its parts go; the queue pair has ended.
    void release_parts() REQUIRES(connection_lock) { set_parts({}); }
    /// What RMRs that are bound to the present queue pair know it by.
    std::atomic<std::uint64_t> binding_base{Side::kNoWorkRequests};

    /// Posts the marker: a write of nothing, which completes after everything that was posted
    /// before it, and which the peer does not notice. @return errno.
    int post_marker() REQUIRES(connection_lock);
    /// Puts the queue pair into the error state: every work request completes, new ones come back
    /// flushed, whatever the device does. On return their completions are in the EVDs; those of
    /// shared receives are where the device is quick enough. Once is enough: more does nothing.
    void flush_queue_pair() REQUIRES(connection_lock);
    /// Ends the queue pair; completions that nobody has taken stay in the EVDs as events. May wait
    /// for the peer. @return false when it is in the middle of a transfer: nothing else of the
    /// queue pair is left, and a later call ends it.
    bool end_queue_pair() EXCLUDES(connection_lock);
    /// Ends the queue pair before this one, where renew() could not: @return as above.
    bool end_old() EXCLUDES(connection_lock);

  private:
    /// @return DAT_SUCCESS, or the code of a call that is not legal now.
    DAT_RETURN check(EpCall call) const REQUIRES(connection_lock);
    std::uint32_t max_message(bool is_receive) const REQUIRES(connection_lock);
    void set_parts(const EpParts& made_of) REQUIRES(connection_lock);
    void change(const EpParts& made_of, const DAT_EP_ATTR& wanted) REQUIRES(connection_lock);
    bool keeps_queue_pair(const EpParts& made_of, const DAT_EP_ATTR& wanted) const
        REQUIRES(connection_lock);
    void retire_sides() REQUIRES(connection_lock);
    /// A side of a queue pair needs it; it is made before anything is changed.
    struct Storage {
        std::uint32_t limit = 0;  ///< transfers that may be posted and not yet taken
        SlotRing::Storage slots;
        std::unique_ptr<SlotShadow::Storage> shadow;
    };
    struct Sides {
        Storage requests, receives;
    };
    static Storage storage(const Side& side, std::uint32_t limit);
    Sides storage_for(const DAT_EP_ATTR& wanted) const;
    void install_sides(const ibv_qp_cap& made, Sides& sides) REQUIRES(connection_lock);
    /// Destroying waits for the handlers of asynchronous events, and for the peer. @return false
    /// when it has to be tried again: end_old().
    bool dispose(verbs::QueuePair old) EXCLUDES(connection_lock);
    void install(Side& side, Evd* evd, Storage& storage, int segments, bool is_receive)
        REQUIRES(connection_lock) EXCLUDES(side.lock);
    void install_slots(Side& side, Evd* evd, Storage& storage, int segments, bool is_receive)
        REQUIRES(connection_lock) EXCLUDES(side.lock);
    void retire(Side& side, Evd* evd) EXCLUDES(side.lock);
    void flush(Side& side, Evd* evd) EXCLUDES(side.lock);
    verbs::QueuePair queue_pair_ GUARDED_BY(connection_lock);
    verbs::QueuePair old_queue_pair_ GUARDED_BY(connection_lock);  ///< dispose()
    std::uint32_t device_inline_ GUARDED_BY(connection_lock) = 0;
};

/// Ends an EP with its connection, whatever its state. May wait for its peer. @return false when
/// that is in the middle of a transfer: the EP stays, without a queue pair, and a later call ends
/// it.
bool destroy_ep(Ep& ep) EXCLUDES(connection_lock);

}  // namespace dapl
