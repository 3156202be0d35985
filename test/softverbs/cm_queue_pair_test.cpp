// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Connections whose queue pairs rdma_cm brings up, and the synchronous mode.
#include <gtest/gtest.h>

#include <array>

#include "test/softverbs/cm_fixture.hpp"

using namespace test;

namespace {

/// Creates an identifier's queue pair, with completion queues of the identifier's own.
void make_queue_pair(rdma_cm_id* id) {
    ibv_qp_init_attr attr = {};
    attr.cap = {8, 8, 1, 1, 16};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    check(rdma_create_qp(id, nullptr, &attr), "rdma_create_qp");
}

/// Registered memory of one identifier.
class Buffer {
  public:
    explicit Buffer(rdma_cm_id* id)
        : id_(id), region_(rdma_reg_msgs(id, bytes_.data(), bytes_.size())) {
        require(region_ != nullptr, "memory is registered");
    }
    ~Buffer() { rdma_dereg_mr(region_); }
    void receive() {
        check(rdma_post_recv(id_, nullptr, bytes_.data(), bytes_.size(), region_),
              "rdma_post_recv");
    }
    void send(const std::string& text) {
        memcpy(bytes_.data(), text.data(), text.size());
        check(rdma_post_send(id_, nullptr, bytes_.data(), text.size(), region_, 0),
              "rdma_post_send");
    }
    std::string text(std::size_t length) const { return {bytes_.data(), length}; }

  private:
    std::array<char, 64> bytes_ = {};
    rdma_cm_id* id_;
    ibv_mr* region_;
};

ibv_wc completion(ibv_cq* cq) {
    ibv_wc wc = {};
    require(eventually([&] { return ibv_poll_cq(cq, 1, &wc) == 1; }), "a completion comes");
    return wc;
}

ibv_qp_attr attributes(ibv_qp* qp) {
    ibv_qp_attr attr = {};
    ibv_qp_init_attr init = {};
    check(ibv_query_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC, &init),
          "ibv_query_qp");
    return attr;
}

/// Accepts one connection with a queue pair, answers one message, and waits for its end.
void echo_server(Channel& pipe) {
    EventQueue events;
    Id listening = listener(events);
    pipe.send(port_of(listening));
    Id id(events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    make_queue_pair(id.get());
    {
        Buffer in(id.get()), out(id.get());
        in.receive();
        rdma_conn_param param = parameters("");
        param.responder_resources = 2;
        param.initiator_depth = 1;
        check(rdma_accept(id.get(), &param), "rdma_accept");
        events.next(RDMA_CM_EVENT_ESTABLISHED);
        const ibv_wc wc = completion(id->recv_cq);
        require(wc.status == IBV_WC_SUCCESS, "the message arrives");
        out.send(in.text(wc.byte_len));
        require(completion(id->send_cq).status == IBV_WC_SUCCESS, "the answer is sent");
        in.receive();
        events.next(RDMA_CM_EVENT_DISCONNECTED);
        check(rdma_disconnect(id.get()), "rdma_disconnect");
        require(completion(id->recv_cq).status == IBV_WC_WR_FLUSH_ERR, "the receive is flushed");
    }
    rdma_destroy_qp(id.get());
}

TEST(CmQueuePair, IsBroughtUpOnBothSidesAndCarriesMessages) {
    TemporaryFabric fabric;
    Child server(echo_server);
    const int port = server.channel().receive<int>();
    EventQueue events;
    Id id(events);
    resolve(events, id, address("127.0.0.1", port));
    make_queue_pair(id.get());
    EXPECT_EQ(attributes(id->qp).qp_state, IBV_QPS_INIT);
    {
        Buffer in(id.get()), out(id.get());
        in.receive();
        connect(id);
        events.next(RDMA_CM_EVENT_ESTABLISHED);
        const ibv_qp_attr attr = attributes(id->qp);
        EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
        EXPECT_EQ(attr.max_rd_atomic, 2) << "what the server has resources for";
        EXPECT_EQ(attr.max_dest_rd_atomic, 1) << "what the server will use";
        out.send("there and back");
        EXPECT_EQ(completion(id->send_cq).status, IBV_WC_SUCCESS);
        const ibv_wc wc = completion(id->recv_cq);
        EXPECT_EQ(in.text(wc.byte_len), "there and back");
        in.receive();
        check(rdma_disconnect(id.get()), "rdma_disconnect");
        EXPECT_EQ(completion(id->recv_cq).status, IBV_WC_WR_FLUSH_ERR);
        events.next(RDMA_CM_EVENT_DISCONNECTED);
    }
    rdma_destroy_qp(id.get());
    EXPECT_EQ(server.wait(), 0);
}

TEST(CmQueuePair, OfAKilledPeerEndsWithADisconnect) {
    TemporaryFabric fabric;
    Child server(echo_server);
    const int port = server.channel().receive<int>();
    EventQueue events;
    Id id(events);
    resolve(events, id, address("127.0.0.1", port));
    make_queue_pair(id.get());
    connect(id);
    events.next(RDMA_CM_EVENT_ESTABLISHED);
    server.kill();
    events.next(RDMA_CM_EVENT_DISCONNECTED);
    check(rdma_disconnect(id.get()), "rdma_disconnect");
    EXPECT_EQ(attributes(id->qp).qp_state, IBV_QPS_ERR);
    rdma_destroy_qp(id.get());
}

// RDMA_OPTION_ID_ACK_TIMEOUT: the two ends do not agree on it.
TEST(CmQueuePair, HasTheAcknowledgementTimeoutOfItsOwnSide) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    const auto set = [](rdma_cm_id* at, std::uint8_t timeout) {
        return rdma_set_option(at, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
                               sizeof timeout);
    };
    make_queue_pair(id.get());
    ASSERT_EQ(set(id.get(), 9), 0);
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    make_queue_pair(child.get());
    accept(child);
    events.next(RDMA_CM_EVENT_ESTABLISHED);
    server_events.next(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(attributes(id->qp).timeout, 9);
    EXPECT_EQ(attributes(child->qp).timeout, 14) << "67 ms, if nothing was set";
    rdma_destroy_qp(id.get());
    rdma_destroy_qp(child.get());

    Id datagrams(events, RDMA_PS_UDP);
    EXPECT_EQ(set(datagrams.get(), 9), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(CmQueuePair, OfARejectedConnectionIsInError) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    resolve(events, id, address("127.0.0.1", 4711));
    make_queue_pair(id.get());
    connect(id);
    events.next(RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(attributes(id->qp).qp_state, IBV_QPS_ERR);
    rdma_destroy_qp(id.get());
}

TEST(CmQueuePair, MayBeTakenThroughItsStatesByTheApplication) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    const auto make = [](rdma_cm_id* id) {
        ibv_qp_init_attr attr = {};
        attr.cap = {4, 4, 1, 1, 0};
        attr.qp_type = IBV_QPT_RC;
        attr.send_cq = attr.recv_cq = ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0);
        ibv_qp* qp = ibv_create_qp(id->pd, &attr);
        require(qp != nullptr, "a queue pair is made");
        return qp;
    };
    const auto move = [](rdma_cm_id* id, ibv_qp* qp, ibv_qp_state state) {
        ibv_qp_attr attr = {};
        int mask = 0;
        attr.qp_state = state;
        check(rdma_init_qp_attr(id, &attr, &mask), "rdma_init_qp_attr");
        require(ibv_modify_qp(qp, &attr, mask) == 0, "ibv_modify_qp");
    };
    const auto destroy = [](ibv_qp* qp) {
        ibv_cq* cq = qp->send_cq;
        require(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0, "destroyed");
    };
    ibv_qp* qp = make(id.get());
    connect(id, "", qp->qp_num);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    ibv_qp* child_qp = make(child.get());
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
        move(child.get(), child_qp, state);
    accept(child, "", child_qp->qp_num);
    EXPECT_EQ(events.next(RDMA_CM_EVENT_CONNECT_RESPONSE)->param.conn.qp_num, child_qp->qp_num);
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
        move(id.get(), qp, state);
    check(rdma_establish(id.get()), "rdma_establish");
    server_events.next(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(attributes(qp).max_rd_atomic, attributes(child_qp).max_dest_rd_atomic);
    destroy(qp);
    destroy(child_qp);
}

rdma_addrinfo* endpoint_address(int port, int flags) {
    rdma_addrinfo hints = {};
    hints.ai_flags = flags;
    hints.ai_port_space = RDMA_PS_TCP;
    rdma_addrinfo* found = nullptr;
    check(rdma_getaddrinfo("127.0.0.1", std::to_string(port).c_str(), &hints, &found),
          "rdma_getaddrinfo");
    return found;
}

rdma_cm_id* make_endpoint(int port, int flags) {
    rdma_addrinfo* where = endpoint_address(port, flags);
    ibv_qp_init_attr attr = {};
    attr.cap = {4, 4, 1, 1, 16};  // the type comes from the address
    attr.sq_sig_all = 1;
    rdma_cm_id* id = nullptr;
    const int result = rdma_create_ep(&id, where, nullptr, &attr);
    rdma_freeaddrinfo(where);
    check(result, "rdma_create_ep");
    return id;
}

TEST(CmSynchronous, EndpointsConnectAndTalkWithoutAnEventLoop) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_cm_id* listening = make_endpoint(7000, RAI_PASSIVE);
        check(rdma_listen(listening, 1), "rdma_listen");
        pipe.meet();
        rdma_cm_id* id = nullptr;
        check(rdma_get_request(listening, &id), "rdma_get_request");
        require(id->qp && id->event, "with a queue pair and the request's event");
        {
            Buffer in(id);
            in.receive();
            check(rdma_accept(id, nullptr), "rdma_accept");
            ibv_wc wc;
            require(rdma_get_recv_comp(id, &wc) == 1, "the message comes");
            require(in.text(wc.byte_len) == "one message", "as it was sent");
        }
        rdma_disconnect(id);
        rdma_destroy_ep(id);
        rdma_destroy_ep(listening);
    });
    server.channel().meet();
    rdma_cm_id* id = make_endpoint(7000, 0);
    {
        Buffer out(id);
        ASSERT_EQ(rdma_connect(id, nullptr), 0) << strerror(errno);
        out.send("one message");
        ibv_wc wc;
        EXPECT_EQ(rdma_get_send_comp(id, &wc), 1);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(rdma_disconnect(id), 0);
    rdma_destroy_ep(id);
    EXPECT_EQ(server.wait(), 0);
}

TEST(CmSynchronous, ARefusedConnectionIsAnErrno) {
    TemporaryFabric fabric;
    rdma_cm_id* id = make_endpoint(4711, 0);
    EXPECT_EQ(rdma_connect(id, nullptr), -1);
    EXPECT_EQ(errno, ECONNREFUSED);
    rdma_destroy_ep(id);
}

TEST(CmDevices, AreUsableAfterTheListHasBeenFreed) {
    TemporaryFabric fabric;
    Child child([](Channel&) {
        int count = 0;
        ibv_context** list = rdma_get_devices(&count);
        require(list && count == 1 && !list[1], "one device");
        ibv_context* context = list[0];
        rdma_free_devices(list);
        ibv_pd* pd = ibv_alloc_pd(context);
        require(pd != nullptr && ibv_dealloc_pd(pd) == 0, "the context is open");
    });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
