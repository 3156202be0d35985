// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connections of connections.cpp with only rdma_cm and verbs, and as few calls as these allow:
/// the time that the kernel needs, whatever software is above it. Modifies the queue pairs itself,
/// which saves the second INIT of rdma_accept() and rdma_connect(), and has no event thread.
///
/// usage: rdma_connections ADDRESS COUNT [IN_FLIGHT]     IPv4 address of the server's RDMA device
/// Prints one `key value` per line.
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "test/bench/connection_sequence.hpp"

namespace {

constexpr int kPatience = 60'000;  // milliseconds
constexpr std::uint16_t kPort = 45302;
constexpr std::uint8_t kReads = 4;

void require(bool good, const char* what) {
    if (good) return;
    std::fprintf(stderr, "rdma_connections: %s failed: %s\n", what, std::strerror(errno));
    std::exit(1);
}

struct Connection {
    ibv_qp* qp = nullptr;
    rdma_cm_id* id = nullptr;
};

class Side {
  public:
    Side(sockaddr_in address, int count) : address_(address), connections_(count) {
        channel_ = rdma_create_event_channel();
        require(channel_, "rdma_create_event_channel");
        own_ = create_id();
        address_.sin_port = 0;
        require(rdma_bind_addr(own_, reinterpret_cast<sockaddr*>(&address_)) == 0 && own_->verbs,
                "rdma_bind_addr");
        queue_ = ibv_create_cq(own_->verbs, 64, nullptr, nullptr, 0);
        require(queue_, "ibv_create_cq");
    }
    void create_endpoints() {
        for (Connection& connection : connections_) connection.qp = create_queue_pair();
    }
    void listen() {
        listener_ = create_id();
        address_.sin_port = htons(kPort);
        require(rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&address_)) == 0,
                "rdma_bind_addr");
        require(rdma_listen(listener_, 0) == 0, "rdma_listen");
    }
    void connect_all(int in_flight) {
        sockaddr_in own = address_;
        address_.sin_port = htons(kPort);
        int unanswered = 0;
        for (Connection& connection : connections_) {
            if (unanswered++ == in_flight) {
                await(RDMA_CM_EVENT_CONNECT_RESPONSE, 1);
                --unanswered;
            }
            connection.id = create_id();
            connection.id->context = &connection;
            require(rdma_resolve_addr(connection.id, reinterpret_cast<sockaddr*>(&own),
                                      reinterpret_cast<sockaddr*>(&address_), kPatience) == 0,
                    "rdma_resolve_addr");
        }
        await(RDMA_CM_EVENT_CONNECT_RESPONSE, unanswered);
    }
    void accept_all() { await_all(RDMA_CM_EVENT_ESTABLISHED); }
    void disconnect_all() {
        for (const Connection& connection : connections_) disconnect(connection);
    }
    void await_disconnections() { await_all(RDMA_CM_EVENT_DISCONNECTED); }
    void free_all() {
        for (const Connection& connection : connections_) {
            rdma_destroy_id(connection.id);
            require(ibv_destroy_qp(connection.qp) == 0, "ibv_destroy_qp");
        }
    }
    void close() {
        ibv_destroy_cq(queue_);
        if (listener_) rdma_destroy_id(listener_);
        rdma_destroy_id(own_);
        rdma_destroy_event_channel(channel_);
    }

  private:
    void await_all(rdma_cm_event_type last) { await(last, static_cast<int>(connections_.size())); }
    /// Handles events until `count` of them have been `last`.
    void await(rdma_cm_event_type last, int count) {
        for (int had = 0; had < count;) {
            rdma_cm_event* event = nullptr;
            require(rdma_get_cm_event(channel_, &event) == 0, "rdma_get_cm_event");
            rdma_cm_id* id = event->id;
            const rdma_cm_event_type type = event->event;
            rdma_ack_cm_event(event);
            answer(id, type);
            if (type == last) ++had;
        }
    }
    rdma_cm_id* create_id() {
        rdma_cm_id* made = nullptr;
        require(rdma_create_id(channel_, &made, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
        return made;
    }
    ibv_qp* create_queue_pair() {
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = queue_;
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap = {16, 16, 4, 4, 64};
        ibv_qp* made = ibv_create_qp(own_->pd, &wanted);
        require(made, "ibv_create_qp");
        ibv_qp_attr first{};
        first.qp_state = IBV_QPS_INIT;
        first.port_num = own_->port_num;
        first.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
        require(ibv_modify_qp(
                    made, &first,
                    IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX) == 0,
                "the initial state");
        return made;
    }
    static void move(const Connection& connection, ibv_qp_state state) {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        int mask = 0;
        require(rdma_init_qp_attr(connection.id, &attributes, &mask) == 0, "rdma_init_qp_attr");
        require(ibv_modify_qp(connection.qp, &attributes, mask) == 0, "ibv_modify_qp");
    }
    static rdma_conn_param parameters(const Connection& connection) {
        rdma_conn_param result{};
        result.responder_resources = result.initiator_depth = kReads;
        result.flow_control = 1;
        result.retry_count = result.rnr_retry_count = 7;
        result.qp_num = connection.qp->qp_num;
        return result;
    }
    static void disconnect(const Connection& connection) {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        require(ibv_modify_qp(connection.qp, &attributes, IBV_QP_STATE) == 0, "ibv_modify_qp");
        require(rdma_disconnect(connection.id) == 0, "rdma_disconnect");
    }
    void answer(rdma_cm_id* id, rdma_cm_event_type type) {
        auto* connection = static_cast<Connection*>(id->context);
        switch (type) {
            case RDMA_CM_EVENT_ADDR_RESOLVED:
                return require(rdma_resolve_route(id, kPatience) == 0, "rdma_resolve_route");
            case RDMA_CM_EVENT_ROUTE_RESOLVED: {
                rdma_conn_param asked = parameters(*connection);
                return require(rdma_connect(id, &asked) == 0, "rdma_connect");
            }
            case RDMA_CM_EVENT_CONNECT_REQUEST:
                return accept(id);
            case RDMA_CM_EVENT_CONNECT_RESPONSE:
                move(*connection, IBV_QPS_RTR);
                move(*connection, IBV_QPS_RTS);
                return require(rdma_establish(id) == 0, "rdma_establish");
            case RDMA_CM_EVENT_DISCONNECTED:
                if (listener_) disconnect(*connection);
                return;
            case RDMA_CM_EVENT_ESTABLISHED:
            case RDMA_CM_EVENT_TIMEWAIT_EXIT:
                return;
            default:
                std::fprintf(stderr, "rdma_connections: event %s\n", rdma_event_str(type));
                std::exit(1);
        }
    }
    void accept(rdma_cm_id* id) {
        Connection& connection = connections_.at(accepted_++);
        connection.id = id;
        id->context = &connection;
        move(connection, IBV_QPS_RTR);
        move(connection, IBV_QPS_RTS);
        rdma_conn_param asked = parameters(connection);
        require(rdma_accept(id, &asked) == 0, "rdma_accept");
    }

    sockaddr_in address_;
    std::vector<Connection> connections_;
    std::size_t accepted_ = 0;
    rdma_event_channel* channel_ = nullptr;
    rdma_cm_id* own_ = nullptr;  ///< keeps the device open
    rdma_cm_id* listener_ = nullptr;
    ibv_cq* queue_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    const ConnectionOrder order =
        connection_order(argc, argv, 2, "rdma_connections ADDRESS COUNT [IN_FLIGHT]");
    const auto measure = [&](int in, int out) {
        Side side(order.server, order.count);
        measure_connections(side, order, in, out, [] {});
    };
    const auto serve = [&](int in, int out) {
        Side side(order.server, order.count);
        serve_connections(side, in, out);
    };
    return run_both(measure, serve);
}
