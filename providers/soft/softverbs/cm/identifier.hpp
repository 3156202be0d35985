// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The objects behind rdma_cm_id, rdma_event_channel and rdma_cm_event. Engine::mutex guards
/// everything that is not public.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <list>
#include <memory>
#include <optional>

#include "providers/soft/softverbs/cm/messages.hpp"
#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/fabric/service.hpp"

namespace softverbs {

class Engine;
struct Identifier;

enum class State {
    kIdle,
    kBound,
    kAddressResolved,
    kRouteResolved,
    kListening,
    kConnecting,  ///< request sent, waits for reply or reject
    kReplied,     ///< reply received, ready-to-use not sent yet
    kRequested,   ///< a listener's child, waits for accept or reject
    kAccepted,    ///< reply sent, waits for ready-to-use
    kConnected,
    kDisconnecting,  ///< disconnect request sent
    kDisconnected,
    kFailed,  ///< rejected or unreachable
};

/// The address by which a program names a multicast group.
struct GroupAddress {
    sa_family_t family = AF_UNSPEC;
    in6_addr address = {};  ///< IPv4 as mapped IPv6; AF_IB: the GID
};

/// A multicast group that an identifier has joined.
struct Membership {
    GroupAddress address;
    union ibv_gid mgid = {};
    std::uint16_t mlid = 0;
    bool receives = true;  ///< the identifier's queue pair is to be attached
    bool is_attached = false;
    void* context = nullptr;      ///< the program's
    unsigned events_fetched = 0;  ///< with the application
};

/// An event and the buffer its private data points into.
struct Event {
    rdma_cm_event public_part = {};    ///< first: applications hold pointers to this
    Identifier* counted_on = nullptr;  ///< its destruction waits for the acknowledgement
    Membership* membership = nullptr;  ///< of an event of a group, whose end waits likewise
    std::array<std::uint8_t, kReplyData> data = {};
};

/// A list, so that an existing event moves to another list without allocating memory.
using Events = std::list<std::unique_ptr<Event>>;

struct EventChannel {
    rdma_event_channel public_part =
        {};  ///< first; its fd is an eventfd that is readable while events wait
    Engine* engine = nullptr;
    Events waiting;
};

/// Whether identifiers of the port space make no connections.
inline bool is_datagram_space(std::uint32_t port_space) {
    return port_space == RDMA_PS_UDP || port_space == RDMA_PS_IPOIB;
}

struct Identifier {
    rdma_cm_id public_part = {};  ///< first
    Engine* engine = nullptr;
    std::uint32_t number = 0;  ///< names this end in messages
    State state = State::kIdle;
    bool is_synchronous = false;  ///< created without a channel: its calls wait for their event

    std::optional<PortKey> bound;  ///< the port that we reserved, with its address
    bool chose_port = false;       ///< by the caller, not by this device
    bool share_port = false;
    std::optional<bool> one_family;  ///< RDMA_OPTION_ID_AFONLY, if it was set
    in6_addr source = {};
    in6_addr destination = {};
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint16_t service = 0;  ///< the listener's port, at both ends

    std::shared_ptr<Peer> peer;
    std::uint32_t remote_number = 0;
    PortId remote_port;  ///< by the destination's address, until the peer has told its own
    Service::TimerId timer = 0;
    Deadline answer_due = {};  ///< time for which the timer is set
    QueuePairTerms own = {};   ///< agreed; responder_resources and initiator_depth are this side's
    QueuePairTerms remote = {};               ///< as sent by the other side
    std::optional<std::uint8_t> ack_timeout;  ///< RDMA_OPTION_ID_ACK_TIMEOUT, if it was set
    ibv_ece local_ece = {};
    std::uint32_t requests_waiting = 0;  ///< listeners: children not fetched yet

    std::list<Membership> memberships;

    unsigned events_waiting = 0;  ///< in the channel's queue
    unsigned events_fetched = 0;  ///< with the application

    /// Parameters of rdma_create_ep() for the children of a listener.
    std::optional<ibv_qp_init_attr> child_qp;
    ibv_pd* child_pd = nullptr;
    bool owns_cqs = false;
    ibv_sa_path_rec path = {};

    static Identifier& of(rdma_cm_id* id) { return *reinterpret_cast<Identifier*>(id); }
    rdma_cm_id* handle() { return &public_part; }
    EventChannel& channel() { return *reinterpret_cast<EventChannel*>(public_part.channel); }
    bool is_datagram() const { return is_datagram_space(public_part.ps); }
    bool is_connection() const {
        return state >= State::kConnecting && state <= State::kDisconnecting;
    }
};

}  // namespace softverbs
