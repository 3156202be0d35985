// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The process that survives while others die: a server with one completion queue and one shared
/// receive queue for all of its connections. It accounts for everything that it posts and for every
/// message that it is to receive.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <list>
#include <set>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "test/softverbs/fault_traffic.hpp"

namespace test {

/// What a process has open, mapped and allocated, and the files in the fabric's directory.
struct Footprint {
    std::size_t descriptors = 0;
    std::size_t arenas = 0;         ///< number of mapped arenas
    std::uint64_t arena_bytes = 0;  ///< allocated in its own arena
    std::size_t files = 0;

    static Footprint now(const std::string& fabric) {
        namespace fs = std::filesystem;
        Footprint found;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            found.arenas += line.find("softverbs-arena") != std::string::npos;
        const auto count = [](const fs::path& directory) {
            return static_cast<std::size_t>(
                std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
        };
        found.descriptors = count("/proc/self/fd");
        found.files = count(fabric);
        const auto adapter = softverbs::Adapter::join();
        require(adapter.has_value(), "the device is open");
        found.arena_bytes = (*adapter)->arena().in_use();
        softverbs::Adapter::leave(*adapter);
        return found;
    }
    bool fits_in(const Footprint& other) const {
        return descriptors <= other.descriptors && arenas <= other.arenas &&
               arena_bytes <= other.arena_bytes && files <= other.files;
    }
    std::string text() const {
        return std::to_string(descriptors) + " descriptors, " + std::to_string(arenas) +
               " arenas, " + std::to_string(arena_bytes) + " bytes, " + std::to_string(files) +
               " files";
    }
};

class Survivor {
  public:
    static constexpr std::size_t kMostConnections = 14;
    static constexpr std::uint32_t kShared = 64;  ///< shared receives, always posted
    static constexpr std::uint32_t kPrivate = 2;  ///< receives of a connection without an SRQ
    static constexpr int kCqEntries = 1024;

    Survivor() : memory_(kAreasAt + kMostConnections * kAreaSize) {
        events_ = rdma_create_event_channel();
        require(events_ && rdma_create_id(events_, &listener_, nullptr, RDMA_PS_TCP) == 0,
                "a listener");
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        require(rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&at)) == 0, "a port");
        require(rdma_listen(listener_, 64) == 0, "it listens");
        make_queues();
        for (const int fd : {events_->fd, context()->async_fd, channel_->fd})
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    ~Survivor() {
        for (Connection& connection : connections_) destroy(connection);
        rdma_destroy_id(listener_);
        ibv_destroy_srq(srq_);
        ibv_destroy_cq(cq_);
        ibv_destroy_comp_channel(channel_);
        ibv_dereg_mr(mr_);
        ibv_dealloc_pd(pd_);
        rdma_destroy_event_channel(events_);
    }
    Survivor(const Survivor&) = delete;
    Survivor& operator=(const Survivor&) = delete;

    std::uint16_t port() const { return ntohs(rdma_get_src_port(listener_)); }
    /// Number of connections that are not closed yet.
    std::size_t connections() const { return connections_.size(); }
    std::size_t established() const {
        return static_cast<std::size_t>(
            std::count_if(connections_.begin(), connections_.end(),
                          [](const auto& c) { return c.is_established; }));
    }
    /// Messages received from the steady client so far.
    std::uint32_t steady_messages() const { return steady_messages_; }

    /// From now on the steady client may disconnect while our requests to it are outstanding.
    void let_steady_client_end() { steady_may_end_ = true; }

    /// Handles what has arrived. If nothing has, sleeps until something does, at most until `end`.
    void pump(Clock::time_point end) {
        bool worked = take_completions();
        worked = take_connection_events() || worked;
        worked = take_async_events() || worked;
        close_finished();
        if (worked || Clock::now() >= end) return;
        require(ibv_req_notify_cq(cq_, 0) == 0, "armed");
        if (take_completions()) return;
        pollfd descriptors[] = {
            {channel_->fd, POLLIN, 0}, {events_->fd, POLLIN, 0}, {context()->async_fd, POLLIN, 0}};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        poll(descriptors, 3, static_cast<int>(std::max<long>(left.count(), 0)));
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        while (ibv_get_cq_event(channel_, &cq, &cq_context) == 0) ibv_ack_cq_events(cq, 1);
    }
    /// @throws when the condition is not met within the deadline.
    template <class Condition>
    void pump_until(Condition condition, const std::string& what) {
        const auto end = Clock::now() + kDeadline;
        while (!condition()) {
            require(Clock::now() < end, what + "; " + state());
            pump(end);
        }
    }

    /// Checks, when no connection is left, that no receive and no entry of the completion queue is
    /// lost.
    void check_queues() {
        require(connections_.empty(), "all connections are closed");
        require(!take_completions(), "the completion queue is empty");
        require(shared_posted_.size() == kShared, "every shared receive came back; " + state());
        ibv_srq_attr attributes{};
        require(ibv_query_srq(srq_, &attributes) == 0, "the shared receive queue");
        for (std::uint32_t more = kShared; more < attributes.max_wr; ++more)
            require(post_shared(1000 + more) == 0, "a slot of the shared receive queue is free");
        require(post_shared(5000) == ENOMEM, "and then it is full");
        check_completion_queue();
    }

    /// @return a summary for failure messages.
    std::string state() const {
        std::string text = std::to_string(steady_messages_) + " steady messages, " +
                           std::to_string(shared_posted_.size()) + " shared receives;";
        for (const Connection& c : connections_)
            text += " client " + std::to_string(c.hello.number) +
                    (c.is_established ? " established" : "") + (c.is_over ? " over" : "") + ", " +
                    std::to_string(c.sends) + " requests, " +
                    std::to_string(c.private_posted.size()) + " receives;";
        return text;
    }

  private:
    struct Connection {
        ClientHello hello;
        rdma_cm_id* id = nullptr;
        ibv_mw* window = nullptr;
        std::size_t area = 0;
        bool is_established = false;
        bool was_connected = false;  ///< requests could be posted
        bool is_over = false;        ///< reported by the connection manager
        bool is_broken = false;
        std::uint32_t steady_messages = 0;  ///< Survivor's total when this one was drained
        bool is_drained = false;            ///< LAST_WQE_REACHED was reported
        bool was_told = false;              ///< something posted has completed with an error
        std::uint32_t next_message = 0;
        std::size_t sends = 0;
        std::uint32_t turn = 0;
        std::uint32_t sequence = 0;
        std::uint64_t added = 0;
        std::uint64_t wanted = 0;  ///< result that the outstanding atomic operation must have
        std::set<std::uint64_t> private_posted;
    };

    // Places in memory_.
    static constexpr std::size_t kPatternAt = 0;
    static constexpr std::size_t kSharedAt = 4096;
    static constexpr std::size_t kPrivateAt = kSharedAt + kShared * kReceiveSize;
    static constexpr std::size_t kSendAt = kPrivateAt + kMostConnections * kPrivate * kReceiveSize;
    static constexpr std::size_t kAreasAt = kSendAt + kMostConnections * kSlotSize;
    // Work-request ids.
    static constexpr std::uint64_t kPrivateId = 1 << 16;
    static constexpr std::uint64_t kSendId = 1 << 20;
    static constexpr std::uint64_t kWelcomeId = kSendId + 1;

    ibv_context* context() const { return listener_->verbs; }

    void make_queues() {
        fill(memory_.data() + kPatternAt, kPatternSize, kPatternRound);
        pd_ = ibv_alloc_pd(context());
        channel_ = ibv_create_comp_channel(context());
        cq_ = ibv_create_cq(context(), kCqEntries, nullptr, channel_, 0);
        mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), kAllAccess | IBV_ACCESS_MW_BIND);
        ibv_srq_init_attr attributes{};
        attributes.attr.max_wr = kShared * 2;
        attributes.attr.max_sge = 1;
        srq_ = ibv_create_srq(pd_, &attributes);
        require(pd_ && channel_ && cq_ && mr_ && srq_, "objects are made");
        for (std::uint64_t i = 0; i < kShared; ++i) {
            require(post_shared(i) == 0, "a shared receive");
            shared_posted_.insert(i);
        }
        arm_limit();
    }

    void arm_limit() {
        ibv_srq_attr attributes{};
        attributes.srq_limit = kShared;
        require(ibv_modify_srq(srq_, &attributes, IBV_SRQ_LIMIT) == 0, "the limit is set");
    }

    ibv_sge sge(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uintptr_t>(memory_.data()) + offset, length, mr_->lkey};
    }

    int post_shared(std::uint64_t id) {
        ibv_sge at = sge(kSharedAt + id % kShared * kReceiveSize, kReceiveSize);
        ibv_recv_wr wr{};
        wr.wr_id = id;
        wr.sg_list = &at;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_srq_recv(srq_, &wr, &bad);
    }

    static std::size_t private_at(const Connection& connection, std::uint64_t which) {
        return kPrivateAt + (connection.area * kPrivate + which) * kReceiveSize;
    }
    void post_private(Connection& connection, std::uint64_t which) {
        ibv_sge at = sge(private_at(connection, which), kReceiveSize);
        ibv_recv_wr wr{};
        wr.wr_id = kPrivateId + which;
        wr.sg_list = &at;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        require(ibv_post_recv(connection.id->qp, &wr, &bad) == 0, "a private receive");
        connection.private_posted.insert(which);
    }

    // -- connections
    bool take_connection_events() {
        rdma_cm_event* event = nullptr;
        bool any = false;
        while (rdma_get_cm_event(events_, &event) == 0) {
            any = true;
            const rdma_cm_event_type type = event->event;
            rdma_cm_id* id = event->id;
            ClientHello hello{};
            if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
                std::memcpy(&hello, event->param.conn.private_data, sizeof hello);
            rdma_ack_cm_event(event);
            if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
                accept(id, hello);
            else
                note(id, type);
        }
        return any;
    }

    void note(rdma_cm_id* id, rdma_cm_event_type type) {
        const auto found = std::find_if(connections_.begin(), connections_.end(),
                                        [id](const Connection& c) { return c.id == id; });
        if (found == connections_.end()) return;
        if (type == RDMA_CM_EVENT_ESTABLISHED) {
            found->is_established = true;
        } else if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
                   type == RDMA_CM_EVENT_REJECTED) {
            require(!found->is_over, "a connection ends once");
            found->is_over = true;
            if (found->hello.is_steady) rdma_disconnect(id);
            if (found->was_connected) post_send(*found);
        }
    }

    void accept(rdma_cm_id* id, const ClientHello& hello) {
        std::set<std::size_t> used;
        for (const Connection& c : connections_) used.insert(c.area);
        Connection made;
        while (used.count(made.area)) ++made.area;
        require(made.area < kMostConnections, "not more clients than there is room for");
        made.hello = hello;
        made.id = id;
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = cq_;
        attributes.srq = hello.shares_receives ? srq_ : nullptr;
        attributes.qp_type = IBV_QPT_RC;
        attributes.sq_sig_all = 1;
        attributes.cap = {16, hello.shares_receives ? 0 : kPrivate, 1,
                          hello.shares_receives ? 0u : 1u, 0};
        require(rdma_create_qp(id, pd_, &attributes) == 0, "a queue pair");
        std::memset(memory_.data() + kAreasAt + made.area * kAreaSize, 0, kAreaSize);
        connections_.push_back(made);
        Connection& connection = connections_.back();
        if (!hello.shares_receives)
            for (std::uint64_t i = 0; i < kPrivate; ++i) post_private(connection, i);
        rdma_conn_param parameters{};
        parameters.responder_resources = parameters.initiator_depth = 4;
        parameters.rnr_retry_count = 7;
        if (rdma_accept(id, &parameters) == 0) return welcome(connection);
        // The client died before it could be accepted.
        require(errno == ECONNRESET || errno == ENOTCONN || errno == EINVAL || errno == ETIMEDOUT ||
                    errno == ECONNREFUSED,
                std::string("a request of a client that is gone: ") + strerror(errno));
        destroy(connection);
        connections_.pop_back();
    }

    void welcome(Connection& connection) {
        connection.window = ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
        require(connection.window != nullptr, "a window");
        const std::size_t area = kAreasAt + connection.area * kAreaSize;
        ibv_send_wr bind{};
        bind.wr_id = kWelcomeId;
        bind.opcode = IBV_WR_BIND_MW;
        bind.bind_mw.mw = connection.window;
        bind.bind_mw.rkey = ibv_inc_rkey(connection.window->rkey);
        bind.bind_mw.bind_info = {mr_, sge(area, 64).addr, 64, IBV_ACCESS_REMOTE_WRITE};
        const Welcome text{sge(kPatternAt, 0).addr, sge(area, 0).addr, mr_->rkey,
                           bind.bind_mw.rkey};
        const std::size_t at = kSendAt + connection.area * kSlotSize;
        std::memcpy(memory_.data() + at, &text, sizeof text);
        ibv_sge where = sge(at, sizeof text);
        ibv_send_wr message{};
        message.wr_id = kWelcomeId;
        message.opcode = IBV_WR_SEND;
        message.sg_list = &where;
        message.num_sge = 1;
        bind.next = &message;
        ibv_send_wr* bad = nullptr;
        const int error = ibv_post_send(connection.id->qp, &bind, &bad);
        connection.was_connected = error == 0;
        // Otherwise the client died before it could be accepted, which an event reports.
        require(error == 0 || (error == EINVAL && bad == &bind), "a welcome");
        if (error == 0) connection.sends += 2;
    }

    void destroy(Connection& connection) {
        rdma_destroy_qp(connection.id);
        if (connection.window) ibv_dealloc_mw(connection.window);
        rdma_destroy_id(connection.id);
    }

    bool is_finished(const Connection& connection) const {
        if (!connection.is_over || !connection.was_connected) return connection.is_over;
        return connection.sends == 0 &&
               (connection.hello.shares_receives ? has_taken_all(connection)
                                                 : connection.private_posted.empty());
    }

    /// Whether the completions of its last shared receives have been polled. They are in one order
    /// with those of other connections, and the queue may be waiting for one of these. More
    /// messages of the steady client than there are receives cannot all have been ahead of them.
    bool has_taken_all(const Connection& connection) const {
        return connection.is_drained &&
               (connection.hello.is_steady ||
                steady_messages_ > connection.steady_messages + 2 * kShared);
    }

    /// Destroys each connection that has ended, once everything posted for it has completed.
    void close_finished() {
        for (auto c = connections_.begin(); c != connections_.end();) {
            if (!is_finished(*c)) {
                ++c;
                continue;
            }
            take_completions();  // those of its last shared receives
            require(c->was_told || !c->was_connected,
                    "an error tells of the end of client " + std::to_string(c->hello.number));
            destroy(*c);
            c = connections_.erase(c);
        }
    }

    bool take_async_events() {
        bool any = false;
        for (ibv_async_event event; ibv_get_async_event(context(), &event) == 0; any = true) {
            const ibv_event_type type = event.event_type;
            for (Connection& c : connections_) {
                if (type != IBV_EVENT_QP_LAST_WQE_REACHED || c.id->qp != event.element.qp) continue;
                c.steady_messages = steady_messages_;
                c.is_drained = true;
            }
            ibv_ack_async_event(&event);
            require(type != IBV_EVENT_CQ_ERR && type != IBV_EVENT_DEVICE_FATAL,
                    "the queues are sound");
            if (type == IBV_EVENT_SRQ_LIMIT_REACHED) arm_limit();
        }
        return any;
    }

    // -- completions
    bool take_completions() {
        ibv_wc completions[16];
        bool any = false;
        for (int found; (found = ibv_poll_cq(cq_, 16, completions)) != 0; any = true) {
            require(found > 0, "poll succeeds");
            for (int i = 0; i < found; ++i) finish(completions[i]);
        }
        return any;
    }

    void finish(const ibv_wc& wc) {
        const auto found =
            std::find_if(connections_.begin(), connections_.end(),
                         [&](const Connection& c) { return c.id->qp->qp_num == wc.qp_num; });
        require(found != connections_.end(), "a completion of a queue pair that is there");
        Connection& connection = *found;
        if (wc.status != IBV_WC_SUCCESS) {
            if (connection.hello.is_steady && !steady_may_end_) {
                usleep(300000);  // time for the client to report its own error
                require(false, std::string("the steady client is not disturbed: ") +
                                   ibv_wc_status_str(wc.status) + why_failed(connection.id->qp) +
                                   "; " + state());
            }
            connection.is_broken = connection.was_told = true;
        }
        if (wc.wr_id >= kSendId) return finish_send(connection, wc);
        const std::uint8_t* data = nullptr;
        if (wc.wr_id >= kPrivateId) {
            const std::uint64_t which = wc.wr_id - kPrivateId;
            require(connection.private_posted.erase(which) == 1, "a receive completes once");
            data = memory_.data() + private_at(connection, which);
        } else {
            require(shared_posted_.erase(wc.wr_id) == 1, "a shared receive completes once");
            data = memory_.data() + kSharedAt + wc.wr_id * kReceiveSize;
        }
        if (wc.status == IBV_WC_SUCCESS) check_message(connection, wc, data);
        repost(connection, wc);
        if (wc.status == IBV_WC_SUCCESS && connection.sends < 2 && !connection.is_over)
            post_send(connection);
    }

    void repost(Connection& connection, const ibv_wc& wc) {
        if (wc.wr_id < kPrivateId) {
            require(post_shared(wc.wr_id) == 0, "a shared receive is posted again");
            shared_posted_.insert(wc.wr_id);
        } else if (wc.status == IBV_WC_SUCCESS) {
            post_private(connection, wc.wr_id - kPrivateId);
        }
    }

    /// Checks that no message is lost, duplicated, reordered or damaged.
    void check_message(Connection& connection, const ibv_wc& wc, const std::uint8_t* data) {
        const std::uint32_t wanted = connection.next_message++;
        const std::string who = "message " + std::to_string(wanted) + " of client " +
                                std::to_string(connection.hello.number);
        if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
            const std::uint8_t* area = memory_.data() + kAreasAt + connection.area * kAreaSize;
            require(ntohl(wc.imm_data) == wanted, who + " comes in its turn");
            require(holds(area + wanted % kImmediateSlots * kImmediateSize, 200, wanted),
                    who + " is whole");
        } else {
            require(is_message(data, wc.byte_len, wanted), who);
            if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0)
                require(ntohl(wc.imm_data) == wanted, who + " has its immediate");
        }
        if (connection.hello.is_steady) ++steady_messages_;
    }

    void finish_send(Connection& connection, const ibv_wc& wc) {
        require(connection.sends-- > 0, "a request completes once");
        if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_FETCH_ADD) {
            std::uint64_t value;
            std::memcpy(&value, memory_.data() + kSendAt + connection.area * kSlotSize,
                        sizeof value);
            require(value == connection.wanted, "what the atomic operation found");
        }
        if (connection.is_over && connection.sends == 0 && !connection.is_broken)
            post_send(connection);
    }

    /// Posts one request at a time, because they share their memory.
    void post_send(Connection& connection) {
        if (connection.sends != 0 || connection.is_broken) return;
        const std::size_t at = kSendAt + connection.area * kSlotSize;
        const std::uint64_t remote = connection.hello.address + kClientAreaAt;
        static constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND,      IBV_WR_RDMA_WRITE,
                                                     IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                                     IBV_WR_SEND,      IBV_WR_RDMA_WRITE};
        static constexpr std::uint32_t kLengths[] = {64, 8,    kPatternSize,
                                                     8,  3000, kBulkSize - 4096};
        const std::uint32_t which = connection.turn++ % 6;
        ibv_sge where = sge(at, kLengths[which]);
        ibv_send_wr wr{};
        wr.wr_id = kSendId;
        wr.opcode = kOpcodes[which];
        wr.sg_list = &where;
        wr.num_sge = 1;
        wr.wr.rdma = {remote + (which == 2 ? 0 : 4096), connection.hello.rkey};
        if (wr.opcode == IBV_WR_SEND)
            write_message(memory_.data() + at, kLengths[which], connection.sequence++);
        if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            connection.wanted = connection.added++;
            wr.wr.atomic = {connection.hello.address + kClientAreaAt + kBulkSize + 96, 1, 0,
                            connection.hello.rkey};
        }
        ibv_send_wr* bad = nullptr;
        require(ibv_post_send(connection.id->qp, &wr, &bad) == 0, "a request");
        ++connection.sends;
    }

    /// Checks that flushed requests of an unconnected queue pair fill the queue to its last entry.
    void check_completion_queue() {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = cq_;
        attributes.qp_type = IBV_QPT_RC;
        attributes.sq_sig_all = 1;
        attributes.cap = {static_cast<std::uint32_t>(cq_->cqe), 1, 1, 1, 0};
        ibv_qp* qp = ibv_create_qp(pd_, &attributes);
        require(qp != nullptr, "a queue pair");
        ibv_qp_attr error{};
        error.qp_state = IBV_QPS_ERR;
        require(ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0, "in the error state");
        for (int i = 0; i < cq_->cqe; ++i) {
            ibv_send_wr wr{};
            wr.wr_id = static_cast<std::uint64_t>(i);
            wr.opcode = IBV_WR_SEND;
            ibv_send_wr* bad = nullptr;
            require(ibv_post_send(qp, &wr, &bad) == 0, "a request that is flushed");
        }
        ibv_wc wc;
        for (int i = 0; i < cq_->cqe; ++i)
            require(ibv_poll_cq(cq_, 1, &wc) == 1 && wc.wr_id == static_cast<std::uint64_t>(i),
                    "every entry of the completion queue is free");
        ibv_destroy_qp(qp);
        take_async_events();  // would report an overrun
    }

    std::vector<std::uint8_t> memory_;
    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* listener_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_srq* srq_ = nullptr;
    std::set<std::uint64_t> shared_posted_;
    std::list<Connection> connections_;
    std::uint32_t steady_messages_ = 0;
    bool steady_may_end_ = false;
};

/// Ends the steady client, which is the third process: checks that all of its messages have
/// arrived, that all connections close, and that the queues have lost nothing.
inline void end_steady_client(Survivor& survivor, SharedState& shared, Nursery& nursery,
                              pid_t steady) {
    shared.stop = true;
    require(eventually([&] {
                survivor.pump(Clock::now() + 1ms);
                return shared.steady_done && survivor.steady_messages() == shared.steady_total;
            }),
            "the third process's traffic is complete; " + survivor.state());
    survivor.let_steady_client_end();
    shared.ended = true;
    survivor.pump_until([&] { return survivor.connections() == 0; }, "all are closed");
    require(nursery.wait(steady) == 0, "the third process is content");
    survivor.check_queues();
}

}  // namespace test
