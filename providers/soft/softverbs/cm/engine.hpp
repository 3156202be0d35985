// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection manager of one process: its device, its identifiers, and the messages that arrive
/// from peers. One lock guards all of it: connections are made rarely, and no call under the lock
/// waits for a peer.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "providers/soft/softverbs/cm/identifier.hpp"
#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "support/base/guard.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class Engine {
  public:
    /// Opens the device with the first reference; a channel and an identifier hold one reference
    /// each. @return an errno.
    static Result<Engine*> acquire();
    static void release();
    /// For children, while their listener holds a reference: these never open or close anything.
    static void add_reference();
    static void drop_reference();

    explicit Engine(Process& process) : process_(process) {}
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    support::Mutex mutex;
    /// The port of the last identifier that was destroyed while merely bound, on a loopback
    /// address, to a port of its caller's choice (bind_to_tried_port()).
    std::optional<PortKey> tried_port GUARDED_BY(mutex);

    /// @param device less than device_count().
    ibv_context* verbs(unsigned device) const { return devices_[device].verbs; }
    Process& process() { return process_; }
    Index& index() { return process_.index(); }

    // -- identifiers
    // --------------------------------------------------------------------------------
    /// Gives the identifier a number under which find() finds it.
    void add(Identifier& id) REQUIRES(mutex);
    /// Afterwards no message, timer or event refers to the identifier; waits until its fetched
    /// events are acknowledged.
    void remove(Identifier& id) REQUIRES(mutex);
    Identifier* find(std::uint32_t number) REQUIRES(mutex);
    /// Fills the fields that follow from a resolved address: verbs, port, GIDs, P_Key, the public
    /// addresses.
    void bind_to_device(Identifier& id) REQUIRES(mutex);
    /// Sets what follows from the device at the other end. @param device its number, from the peer.
    void face(Identifier& id, unsigned device) REQUIRES(mutex);
    void listen(Identifier& id) REQUIRES(mutex);

    // -- events
    // -------------------------------------------------------------------------------------
    /// Makes an event for append().
    static Events make_event(Identifier& id, rdma_cm_event_type type, int status = 0);
    /// @return the first of the events, which leaves the list.
    static Events take_first(Events& events);
    /// Queues the event on the identifier's channel; allocates nothing. @return the event, for the
    /// fields specific to its type.
    Event& append(Identifier& id, Events event) REQUIRES(mutex);
    /// Does both. If it throws, nothing has changed; callers that change a state therefore push
    /// first.
    Event& push(Identifier& id, rdma_cm_event_type type, int status = 0) REQUIRES(mutex);
    void push_rejected(Identifier& id, std::uint32_t reason,
                       const std::array<std::uint8_t, kRejectData>& data) REQUIRES(mutex);
    /// @return the oldest event of the channel, or none.
    Events pop(EventChannel& channel) REQUIRES(mutex);
    /// Puts a popped event back at the head of the queue.
    void push_back(EventChannel& channel, Events popped) REQUIRES(mutex);
    void acknowledge(const Event& event) REQUIRES(mutex);
    /// Drops the identifier's waiting events; rejects children whose request nobody has fetched.
    void drop_events(Identifier& id) REQUIRES(mutex);
    /// Drops the waiting events of one group; waits until the fetched ones are acknowledged.
    void drop_events(Identifier& id, const Membership& membership) REQUIRES(mutex);
    /// Moves the identifier's waiting events to another channel, once the fetched ones are
    /// acknowledged.
    void move_events(Identifier& id, EventChannel& to) REQUIRES(mutex);

    // -- connections
    // --------------------------------------------------------------------------------
    /// Finds the listener's process and sends the request once it is found.
    void start_request(Identifier& id, const ConnectRequest& request, const MemberRef& listener)
        REQUIRES(mutex);
    /// Ends a request that is not sent, as a fault rule asks.
    void fail_request(Identifier& id, const faults::Rule& rule) REQUIRES(mutex);
    void send_reject(Identifier& id, std::uint32_t reason, const void* data = nullptr,
                     std::size_t length = 0) REQUIRES(mutex);
    // -- datagram port spaces (datagrams.cpp)
    void send_resolved(Identifier& id, ResolveReply& reply) REQUIRES(mutex);
    void refuse_resolution(Identifier& id) REQUIRES(mutex);
    /// @param status the other side's status, or a negative errno.
    void push_unresolved(Identifier& id, int status) REQUIRES(mutex);
    /// Sends a message to the identifier's peer; it is lost while either end has no link.
    Result<void> send(const Identifier& id, MessageType type, std::span<const std::byte> body)
        REQUIRES(mutex);
    /// @return 0 or an errno.
    int send_step(Identifier& id, MessageType type) REQUIRES(mutex);
    /// Ends the connection: pushes DISCONNECTED at once and TIMEWAIT_EXIT later.
    void disconnected(Identifier& id) REQUIRES(mutex);
    /// Gives up on the peer's answer after `patience`.
    void start_timer(Identifier& id, Clock::duration patience) REQUIRES(mutex);
    void stop_timer(Identifier& id) REQUIRES(mutex);
    Clock::duration patience() const { return patience_; }
    /// Informs the peer, by the message that fits the state, that this end gives up; does not wait
    /// for an answer.
    void abandon_connection(Identifier& id) REQUIRES(mutex);

  private:
    struct Shared;
    class Unused;
    using ListenerKey = std::tuple<std::uint32_t, std::array<std::uint8_t, 16>, std::uint16_t>;

    static Shared& shared();
    static ListenerKey key_of(std::uint32_t port_space, const in6_addr& address,
                              std::uint16_t port);
    void install_handlers();

    template <class Body>
    void handle(MessageType type,
                void (Engine::*handler)(const std::shared_ptr<Peer>&, const Body&));
    template <class Body>
    Identifier* addressee(const std::shared_ptr<Peer>& peer, const Body& body) REQUIRES(mutex);
    void on_request(const std::shared_ptr<Peer>& peer, const ConnectRequest& request);
    void on_resolved(const std::shared_ptr<Peer>& peer, const ResolveReply& reply);
    void on_pending(const std::shared_ptr<Peer>& peer, const ConnectionStep& step);
    void on_reply(const std::shared_ptr<Peer>& peer, const ConnectReply& reply);
    void on_ready(const std::shared_ptr<Peer>& peer, const ConnectionStep& step);
    void on_reject(const std::shared_ptr<Peer>& peer, const ConnectReject& reject);
    void on_disconnect_request(const std::shared_ptr<Peer>& peer, const ConnectionStep& step);
    void on_disconnect_reply(const std::shared_ptr<Peer>& peer, const ConnectionStep& step);
    void on_peer_death(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);
    void on_device_states(DeviceStates before) EXCLUDES(mutex);

    /// Sends a message, unless a fault rule asks for something else.
    /// @param service the listener's port, or 0 when there is no connection.
    Result<void> send_to(const std::shared_ptr<Peer>& peer, MessageType type,
                         std::span<const std::byte> body, std::uint16_t service = 0)
        REQUIRES(mutex);
    Result<void> send_by_rule(const std::shared_ptr<Peer>& peer, MessageType type,
                              std::span<const std::byte> body, const faults::Rule& rule)
        REQUIRES(mutex);
    Identifier* find_listener(const ConnectRequest& request) REQUIRES(mutex);
    Identifier& make_child(Identifier& listener, const std::shared_ptr<Peer>& peer,
                           const ConnectRequest& request) REQUIRES(mutex);
    void peer_found(std::uint32_t number, const ConnectRequest& request,
                    Result<std::shared_ptr<Peer>> found) EXCLUDES(mutex);
    void no_answer(std::uint32_t number) EXCLUDES(mutex);
    /// Disconnects both ends, as a fault rule asks.
    void end_connection(std::uint32_t qp_num) EXCLUDES(mutex);
    void start_time_wait(const Identifier& id) REQUIRES(mutex);
    void lost(Identifier& id) REQUIRES(mutex);
    void forget_unseen(Identifier& child) REQUIRES(mutex);
    bool is_known(const std::shared_ptr<Peer>& peer, const ConnectRequest& request) const
        REQUIRES(mutex);
    /// Removes the identifier from the tables.
    void forget(const Identifier& id) REQUIRES(mutex);

    Process& process_;
    /// Written with shared().mutex held.
    struct Device {
        std::atomic<ibv_context*> verbs{nullptr};  ///< the service thread reads it too
        ibv_pd* pd = nullptr;
    };
    std::array<Device, kMostDevices> devices_;
    bool installed_ = false;  ///< whether the handlers are installed
    Clock::duration patience_{};
    std::unordered_map<std::uint32_t, Identifier*> ids_ GUARDED_BY(mutex);
    std::map<ListenerKey, Identifier*> listeners_ GUARDED_BY(mutex);
    /// The newest child that each identifier of a peer has requested, by which a request that comes
    /// twice is known. A child keeps its peer alive.
    std::map<std::pair<const Peer*, std::uint32_t>, Identifier*> children_ GUARDED_BY(mutex);
    std::uint32_t last_number_ GUARDED_BY(mutex) = 0;
    support::CondVar acknowledged_;
};

/// Holds a reference to the engine and releases it unless keep() is called.
class EngineReference {
  public:
    explicit EngineReference(Engine* acquired) : engine_(acquired) {}
    ~EngineReference();
    EngineReference(const EngineReference&) = delete;
    EngineReference& operator=(const EngineReference&) = delete;
    void keep() { engine_ = nullptr; }

  private:
    Engine* engine_;
};

/// Runs the body of a C function. The callable returns an errno, 0 for success. @return 0, or -1
/// with errno set.
template <class Body>
int guarded(const Body& body) {
    const int error = support::guarded(body, ENOMEM, EIO);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

// -- queue pairs of identifiers (queue_pairs.cpp); they call the device, so without the lock
// -------------
int move_to_init(rdma_cm_id* id);
/// Moves the queue pair to RTR and RTS with the agreed terms. @return 0 or errno.
int move_to_ready(Identifier& id);
void move_to_error(Identifier& id);

// -- identifiers of datagram port spaces (datagrams.cpp)
/// @return 0 or an errno.
int accept_datagrams(Identifier& id, const rdma_conn_param* param);
int fill_datagram_attributes(const Identifier& id, ibv_qp_attr& attr, int& mask);
/// The Q_Key of all datagram queue pairs and groups; the kernel gives it to all of RDMA_PS_UDP.
inline constexpr std::uint32_t kDatagramKey = 0x01234567;

// -- multicast groups of identifiers (multicast.cpp); they call the device, so without the lock
/// Attaches the queue pair to the group that the event reports as joined. If that fails, the event
/// becomes an error.
void attach_to_group(Identifier& id, Event& event);
/// Detaches the queue pair from the groups to which rdma_cm has attached it.
void detach_from_groups(Identifier& id);

/// Synchronous identifiers (endpoints.cpp): acknowledges the event of the previous call.
void forget_event(Identifier& id);
/// Waits for the call's event and keeps it in id->event. @return 0 or errno; for other identifiers
/// 0 at once.
int complete(Identifier& id);
/// rdma_get_cm_event without the errno convention. A cancellation point.
int get_event(EventChannel& channel, rdma_cm_event** event);

}  // namespace softverbs
