// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// This process as a member of the fabric: it joins when the device is first opened, leaves at the
/// last close, finds other members and keeps one Peer for each that it communicates with.
#pragma once

#include <netinet/in.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "providers/soft/softverbs/fabric/bell.hpp"
#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/fabric/hook.hpp"
#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/fabric/message.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/fabric/port_faults.hpp"
#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"
#include "providers/soft/softverbs/fabric/service.hpp"
#include "providers/soft/softverbs/faults/faults.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// The memory that a member shows to its peers. The descriptors are memfds sealed with
/// F_SEAL_SHRINK; all of it remains the giver's and must outlive the Process.
struct PublishedArena {
    int fd = -1;
    std::byte* base = nullptr;
    std::size_t size = 0;
    int pages_fd = -1;  ///< page file; without it peers copy by other means
    std::uint64_t pages_size = 0;
};

class Process {
  public:
    using MessageHandler = std::function<void(const std::shared_ptr<Peer>&, Message&)>;
    using DeathHandler = std::function<void(const std::shared_ptr<Peer>&)>;
    /// Called with the previous states, also when only the fault rules have changed.
    using StatesHandler = std::function<void(DeviceStates before)>;
    using FoundHandler = std::function<void(Result<std::shared_ptr<Peer>>)>;
    /// Runs in the first join(), before any peer can see us: registers handlers and makes the
    /// arena.
    using Prepare = std::function<Result<PublishedArena>(Process&)>;

    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// The first call opens the fabric, runs `prepare` and starts the service thread. Later calls
    /// add a reference. In a child after fork: leaves the parent's Process as it was and joins
    /// anew. Failures have been reported.
    static Result<Process*> join(const Prepare& prepare);
    /// Drops one reference; the last one joins the service thread and releases everything.
    static void leave();
    /// @return nullptr when the process has not joined, or in a child that has not joined itself.
    static Process* current();

    // -- numbers
    // ------------------------------------------------------------------------------------
    /// The same for all members of one fabric, different in another fabric. Part of LID and GID.
    std::uint64_t fabric_hash() const;
    const Lids& lids() const { return lids_; }
    /// @return GID 0 of a port. Inline, since it is part of datagrams.
    union ibv_gid first_gid(PortId port) const {
        union ibv_gid gid = first_gid_;
        gid.raw[15] = static_cast<std::uint8_t>(gid.raw[15] | port.index());
        return gid;
    }
    MemberId member() const;
    /// SOFTVERBS_ADDRESS, IPv4 as mapped IPv6.
    const in6_addr& address() const { return address_; }
    const PublishedArena& arena() const { return arena_; }
    /// Takes a block of 256 QP numbers, which is ours until we leave. Block B holds the numbers B
    /// << 8 to (B << 8) + 255; B is never 0. Freed blocks are reused only when no fresh one is
    /// left. @return ENOSPC when all are taken.
    Result<std::uint32_t> take_block();

    // -- peers
    // --------------------------------------------------------------------------------------
    /// Finds the process that owns this QP number; connects to it if needed and waits for its
    /// answer. On the service thread only known peers are found (else EDEADLK).
    /// @return ENOENT: nobody has that number; ECONNREFUSED: its owner is gone; ETIMEDOUT; EPROTO,
    /// EACCES (reported): not a proper member.
    Result<std::shared_ptr<Peer>> peer_of_qpn(std::uint32_t qpn, Deadline deadline);
    /// Whether the process that owned this QP number has ended, be it a peer of ours or not. Does
    /// not wait for the process; from any thread.
    bool owner_has_ended(std::uint32_t qpn) EXCLUDES(mutex_);
    /// Like peer_of_qpn(), but by member and without waiting: `found` runs on the service thread;
    /// if the caller is on that thread, possibly before the call returns.
    void find_peer(const MemberRef& member, FoundHandler found);
    /// This process as its own peer.
    const std::shared_ptr<Peer>& self() const { return self_; }

    // -- handlers; all run on the service thread
    // ------------------------------------------------------
    Service& service() { return service_; }
    /// At most one handler per type. Replies go to the caller of request(), not here.
    void handle(MessageType type, MessageHandler handler) EXCLUDES(mutex_);
    void on_doorbell(Service::Function handler) EXCLUDES(mutex_);
    /// Makes a socket for a peer that may ring. @param what names the bell among those of this
    /// process.
    Result<UniqueFd> lend(Bell& bell, const std::string& what) const;
    /// Removes the name of a bell that has been lent, if any.
    void forget(const Bell& bell) const;
    void on_peer_death(DeathHandler handler) EXCLUDES(mutex_);
    void on_device_states(StatesHandler handler) EXCLUDES(mutex_);
    /// Keeps an object that handlers use until the service thread has been joined.
    void keep(std::shared_ptr<void> object) EXCLUDES(mutex_);
    /// Called by a handler for a peer that sends garbage: reports it once and ends its link.
    void reject_garbage(const std::shared_ptr<Peer>& peer, const char* what);

    Index& index() { return *index_; }
    faults::Faults& faults() { return faults_; }
    /// The states of the fabric's devices, as last told, and as fault rules change them for this
    /// process.
    DeviceStates device_states() const {
        return DeviceStates::decode(device_states_.load(std::memory_order_acquire));
    }

    // -- hooks, for fault rules
    /// Tells to which service the queue pair with a number belongs: the listener's port. Called by
    /// the connection manager, without its lock.
    Hook<std::uint32_t, std::uint16_t> note_service;
    /// Ends the connection of the queue pair with a number. Called on the service thread.
    Hook<std::uint32_t> end_connection;
    /// Tells of an event of ports: PortFaults::Happened. Called on the service thread.
    Hook<faults::Action, std::uint32_t> port_event;

  private:
    friend class Peer;
    struct Handshake;
    struct Shared;
    using SharedHandshake = std::shared_ptr<Handshake>;
    using FoundPeer = Result<std::shared_ptr<Peer>>;

    Process();
    static Shared& shared();
    Result<void> start(const Prepare& prepare);
    Result<void> open_door();
    void stop();
    void abandon();

    std::shared_ptr<Peer> known_peer(MemberId member) EXCLUDES(mutex_);
    std::shared_ptr<Peer> known_owner(std::uint32_t block) EXCLUDES(mutex_);
    FoundPeer ask_index_for_owner(std::uint32_t block, Deadline deadline) EXCLUDES(mutex_);
    void remember_owner(std::uint32_t block, const std::shared_ptr<Peer>& peer) EXCLUDES(mutex_);
    // Service thread only:
    void doorbell_rung() EXCLUDES(mutex_);
    void accept_links();
    void look_at_devices() EXCLUDES(mutex_);
    void change_states(DeviceStates indexed, bool has_other_rules) EXCLUDES(mutex_);
    void connect_link(const SharedHandshake& handshake);
    void try_to_connect(const SharedHandshake& handshake);
    void begin_handshake(const SharedHandshake& handshake);
    void handshake_readable(const SharedHandshake& handshake);
    void finish_handshake(const SharedHandshake& handshake, const FoundPeer& outcome);
    FoundPeer adopt(Handshake& handshake, Message& hello) EXCLUDES(mutex_);
    Result<void> give_link(const std::shared_ptr<Peer>& peer, Handshake& handshake)
        EXCLUDES(mutex_);
    void forget(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex_);
    static bool check_memory(const Handshake& handshake, const Message& hello);
    static bool has_all_links(Peer& peer);
    Result<std::shared_ptr<Peer>> make_peer(const Handshake& handshake, Message& hello);
    Result<void> watch_link(const std::shared_ptr<Peer>& peer, UniqueFd link);
    void link_ready(const std::shared_ptr<Peer>& peer, int link, std::uint32_t events);
    void dispatch(const std::shared_ptr<Peer>& peer, Message& message, bool is_reply)
        EXCLUDES(mutex_);
    void peer_died(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex_);
    void close_peer(Peer& peer);

    std::unique_ptr<Directory> directory_;
    std::unique_ptr<Index> index_;
    faults::Faults faults_;
    in6_addr address_ = {};
    Lids lids_;
    union ibv_gid first_gid_ = {};  ///< of PortId::at(0)
    PublishedArena arena_;
    UniqueFd listener_;
    std::optional<Bell> doorbell_;
    Service service_;
    std::shared_ptr<Peer> self_;
    // Service thread only:
    std::unordered_map<MemberId, SharedHandshake> connecting_;
    std::vector<std::byte> receive_buffer_;

    support::Mutex mutex_;
    std::unordered_map<MemberId, std::shared_ptr<Peer>> peers_ GUARDED_BY(mutex_);
    /// By block. A member keeps a block of QP numbers as long as it lives, so the index is read
    /// once for each block.
    std::unordered_map<std::uint32_t, std::shared_ptr<Peer>> owners_ GUARDED_BY(mutex_);
    std::array<std::shared_ptr<MessageHandler>, static_cast<std::size_t>(MessageType::kCount)>
        handlers_ GUARDED_BY(mutex_);
    /// Replaced as a whole, so that taking a snapshot needs no memory.
    std::shared_ptr<const std::vector<Service::Function>> doorbell_handlers_ GUARDED_BY(mutex_);
    std::shared_ptr<const std::vector<DeathHandler>> death_handlers_ GUARDED_BY(mutex_);
    std::shared_ptr<const std::vector<StatesHandler>> states_handlers_ GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<void>> kept_ GUARDED_BY(mutex_);
    std::atomic<std::uint64_t> device_states_{0};  ///< DeviceStates::encode()
    DeviceStates indexed_states_;  ///< of them, those of the index; service thread only
    /// Index::rule_changes() when faults_ last read the fabric's rules; service thread only.
    std::uint64_t rule_changes_ = 0;
    PortFaults port_faults_{
        service_, [this] { change_states(indexed_states_, false); },
        [this](faults::Action event, std::uint32_t ports) { port_event(event, ports); }};
};

}  // namespace softverbs
