// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// rdma_cm without an event loop: identifiers without a channel, and endpoints; also what else
/// belongs to an identifier: shared receive queues, adapter options (ECE), extended queue pairs.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "test/softverbs/cm_fixture.hpp"

namespace test {
namespace {

/// A registered buffer of an identifier.
class Memory {
  public:
    explicit Memory(rdma_cm_id* id) : id_(id), mr_(ibv_reg_mr(id->pd, data_, sizeof data_, kAll)) {
        require(mr_ != nullptr, "memory is registered");
    }
    ~Memory() { rdma_dereg_mr(mr_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void receive() { check(rdma_post_recv(id_, this, data_, sizeof data_, mr_), "rdma_post_recv"); }
    void send(const std::string& text) {
        text.copy(data_, sizeof data_);
        check(rdma_post_send(id_, nullptr, data_, text.size(), mr_, IBV_SEND_SIGNALED),
              "rdma_post_send");
        ibv_wc wc;
        require(rdma_get_send_comp(id_, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "sent");
    }
    std::string text(std::size_t length) const { return {data_, length}; }
    char* data() { return data_; }
    ibv_mr* mr() const { return mr_; }

  private:
    static constexpr int kAll =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    rdma_cm_id* id_;
    char data_[256] = {};
    ibv_mr* mr_;
};

std::string receive_text(rdma_cm_id* id) {
    ibv_wc wc;
    require(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "received");
    return reinterpret_cast<Memory*>(wc.wr_id)->text(wc.byte_len);
}

void make_queue_pair(rdma_cm_id* id) {
    ibv_qp_init_attr attributes = {};
    attributes.cap = {8, 8, 1, 1, 16};
    attributes.qp_type = IBV_QPT_RC;
    check(rdma_create_qp(id, nullptr, &attributes), "rdma_create_qp");
}

rdma_conn_param deep() {
    rdma_conn_param param = {};
    param.responder_resources = param.initiator_depth = 4;
    param.retry_count = param.rnr_retry_count = 7;
    return param;
}

/// Connects without a channel: every call waits for its event.
rdma_cm_id* connect_synchronously(int port) {
    rdma_cm_id* id = nullptr;
    check(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
    sockaddr_in to = address("127.0.0.1", port);
    check(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 2000), "resolved");
    require(id->event && id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED, "with its event");
    check(rdma_resolve_route(id, 2000), "rdma_resolve_route");
    make_queue_pair(id);
    rdma_conn_param param = deep();
    check(rdma_connect(id, &param), "rdma_connect");
    require(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED, "with its event");
    return id;
}

void finish(rdma_cm_id* id) {
    rdma_destroy_qp(id);
    check(rdma_destroy_id(id), "rdma_destroy_id");
}

rdma_cm_id* listen_synchronously(Channel& pipe, const char* ip = "127.0.0.1") {
    rdma_cm_id* listening = nullptr;
    check(rdma_create_id(nullptr, &listening, nullptr, RDMA_PS_TCP), "rdma_create_id");
    sockaddr_in at = address(ip, 0);
    check(rdma_bind_addr(listening, reinterpret_cast<sockaddr*>(&at)), "rdma_bind_addr");
    check(rdma_listen(listening, 8), "rdma_listen");
    pipe.send(static_cast<int>(ntohs(rdma_get_src_port(listening))));
    return listening;
}

struct Place {
    std::uint64_t address;
    std::uint32_t key;
};

TEST(RdmaCm, IdentifiersWithoutAChannelConnectSendWriteAndRead) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_cm_id* const listening = listen_synchronously(pipe);
        rdma_cm_id* id = nullptr;
        check(rdma_get_request(listening, &id), "rdma_get_request");
        require(id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !id->qp, "the request");
        make_queue_pair(id);
        {
            Memory memory(id), incoming(id);
            incoming.receive();
            rdma_conn_param param = deep();
            check(rdma_accept(id, &param), "rdma_accept");
            require(id->event->event == RDMA_CM_EVENT_ESTABLISHED, "it waits for that");
            std::strcpy(memory.data(), "what the server has");
            pipe.send(Place{reinterpret_cast<std::uintptr_t>(memory.data()), memory.mr()->rkey});
            require(receive_text(id) == "done", "the client says when");
            require(memory.text(19) == "what the client had", "written");
        }
        rdma_disconnect(id);
        finish(id);
        check(rdma_destroy_id(listening), "rdma_destroy_id");
    });
    rdma_cm_id* const id = connect_synchronously(server.channel().receive<int>());
    const auto place = server.channel().receive<Place>();
    {
        Memory memory(id);
        ibv_wc wc;
        ASSERT_EQ(rdma_post_read(id, nullptr, memory.data(), 19, memory.mr(), IBV_SEND_SIGNALED,
                                 place.address, place.key),
                  0);
        ASSERT_EQ(rdma_get_send_comp(id, &wc), 1);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        EXPECT_EQ(memory.text(19), "what the server has");
        std::strcpy(memory.data(), "what the client had");
        ASSERT_EQ(rdma_post_write(id, nullptr, memory.data(), 19, memory.mr(), 0, place.address,
                                  place.key),
                  0);
        memory.send("done");
    }
    EXPECT_EQ(rdma_disconnect(id), 0);
    EXPECT_EQ(id->event->event, RDMA_CM_EVENT_DISCONNECTED);
    finish(id);
    EXPECT_EQ(server.wait(), 0);
}

TEST(RdmaCm, AWildcardEndpointTakesRequestsOneAfterTheOther) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_addrinfo hints = {};
        hints.ai_flags = RAI_PASSIVE;
        hints.ai_port_space = RDMA_PS_TCP;
        rdma_addrinfo* where = nullptr;
        check(rdma_getaddrinfo(nullptr, "7471", &hints, &where), "rdma_getaddrinfo");
        ibv_qp_init_attr attributes = {};
        attributes.cap = {4, 4, 1, 1, 16};
        rdma_cm_id* listening = nullptr;
        check(rdma_create_ep(&listening, where, nullptr, &attributes), "rdma_create_ep");
        rdma_freeaddrinfo(where);
        check(rdma_listen(listening, 8), "rdma_listen");
        pipe.send(7471);
        for (int i = 0; i < 3; ++i) {
            rdma_cm_id* id = nullptr;
            check(rdma_get_request(listening, &id), "rdma_get_request");
            require(id->qp && id->verbs, "each with a queue pair");
            {
                Memory memory(id);
                memory.receive();
                check(rdma_accept(id, nullptr), "rdma_accept");
                require(receive_text(id) == "client " + std::to_string(i), "in their order");
            }
            rdma_disconnect(id);
            rdma_destroy_ep(id);
        }
        rdma_destroy_ep(listening);
    });
    const int port = server.channel().receive<int>();
    for (int i = 0; i < 3; ++i) {
        rdma_cm_id* const id = connect_synchronously(port);
        {
            Memory memory(id);
            memory.send("client " + std::to_string(i));
        }
        rdma_disconnect(id);
        finish(id);
    }
    EXPECT_EQ(server.wait(), 0);
}

TEST(RdmaCm, QueuePairsOfAnIdentifierTakeReceivesFromItsSharedQueue) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_cm_id* const listening = listen_synchronously(pipe);
        rdma_cm_id* id = nullptr;
        check(rdma_get_request(listening, &id), "rdma_get_request");
        ibv_srq_init_attr attributes = {};
        attributes.attr.max_wr = 4;
        attributes.attr.max_sge = 1;
        check(rdma_create_srq(id, nullptr, &attributes), "rdma_create_srq");
        require(id->srq && attributes.attr.max_wr >= 4, "with what was asked for");
        require(rdma_create_srq(id, nullptr, &attributes) == -1 && errno == EINVAL, "one only");
        make_queue_pair(id);
        require(id->qp->srq == id->srq, "the queue pair has it");
        {
            Memory memory(id);
            memory.receive();
            check(rdma_accept(id, nullptr), "rdma_accept");
            require(receive_text(id) == "for whoever takes it", "received");
        }
        rdma_disconnect(id);
        rdma_destroy_ep(id);
        check(rdma_destroy_id(listening), "rdma_destroy_id");
    });
    rdma_cm_id* const id = connect_synchronously(server.channel().receive<int>());
    {
        Memory memory(id);
        memory.send("for whoever takes it");
    }
    rdma_disconnect(id);
    finish(id);
    EXPECT_EQ(server.wait(), 0);
}

TEST(RdmaCm, SharedReceivesAreRefusedWhereTheyCannotBe) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    ibv_srq_init_attr attributes = {};
    attributes.attr.max_wr = attributes.attr.max_sge = 1;
    EXPECT_EQ(rdma_create_srq(id.get(), nullptr, &attributes), -1);
    EXPECT_EQ(errno, EINVAL) << "no device yet";
    EXPECT_EQ(rdma_create_srq(id.get(), nullptr, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(rdma_create_srq_ex(id.get(), nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
    ASSERT_EQ(id.bind(address("127.0.0.1", 0)), 0);
    ibv_srq_init_attr_ex extended = {};
    extended.attr = attributes.attr;
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
    extended.srq_type = IBV_SRQT_XRC;
    EXPECT_EQ(rdma_create_srq_ex(id.get(), &extended), -1);
    EXPECT_EQ(errno, EOPNOTSUPP);
    rdma_destroy_srq(id.get());
    extended.srq_type = IBV_SRQT_BASIC;
    EXPECT_EQ(rdma_create_srq_ex(id.get(), &extended), 0);
    rdma_destroy_srq(id.get());
    EXPECT_EQ(id->srq, nullptr);
}

TEST(RdmaCm, OptionsOfAdaptersTravelWithTheRequestAndItsAnswer) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    ibv_ece offer = {0x1234, 0x5678, 0};
    ASSERT_EQ(rdma_set_local_ece(id.get(), &offer), 0);
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    ibv_ece seen = {};
    ASSERT_EQ(rdma_get_remote_ece(child.get(), &seen), 0);
    EXPECT_EQ(seen.vendor_id, 0x1234u);
    EXPECT_EQ(seen.options, 0x5678u);
    ibv_ece answer = {0x1234, 0x0078, 0};
    ASSERT_EQ(rdma_set_local_ece(child.get(), &answer), 0);
    accept(child);
    events.next(RDMA_CM_EVENT_CONNECT_RESPONSE);
    ASSERT_EQ(rdma_get_remote_ece(id.get(), &seen), 0);
    EXPECT_EQ(seen.options, 0x0078u);

    ibv_ece none = {};
    EXPECT_EQ(rdma_set_local_ece(id.get(), &none), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(rdma_set_local_ece(id.get(), nullptr), -1);
    EXPECT_EQ(rdma_get_remote_ece(id.get(), nullptr), -1);
    make_queue_pair(id.get());
    EXPECT_EQ(rdma_get_remote_ece(id.get(), &seen), -1) << "only without a queue pair";
    EXPECT_EQ(errno, EINVAL);
    // The device itself has no options.
    EXPECT_EQ(ibv_query_ece(id->qp, &seen), EOPNOTSUPP);
    EXPECT_EQ(ibv_set_ece(id->qp, &offer), EOPNOTSUPP);
    rdma_destroy_qp(id.get());
}

TEST(RdmaCm, ARejectOfOptionsSaysSo) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    ASSERT_EQ(rdma_reject_ece(child.get(), "other", 5), 0);
    FetchedEvent rejected = events.next(RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(rejected->status, 35);
    EXPECT_EQ(rejected.data().substr(0, 5), "other");
}

TEST(RdmaCm, ANotificationOfDataEstablishesAConnectionBeforeItsLastMessage) {
    TemporaryFabric fabric;
    BothEnds both;
    auto& [events, server_events, listening, id] = both;
    connect(id);
    Id child(server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    EXPECT_EQ(rdma_notify(child.get(), IBV_EVENT_COMM_EST), -1);
    EXPECT_EQ(errno, EINVAL) << "not accepted yet";
    accept(child);
    EXPECT_EQ(rdma_notify(child.get(), IBV_EVENT_SQ_DRAINED), -1);
    EXPECT_EQ(errno, EINVAL);
    ASSERT_EQ(rdma_notify(child.get(), IBV_EVENT_COMM_EST), 0);
    server_events.next(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(rdma_notify(child.get(), IBV_EVENT_COMM_EST), -1);
    EXPECT_EQ(errno, EISCONN);
}

TEST(RdmaCm, AnIdentifierChangesBetweenWaitingAndEvents) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_cm_id* const listening = listen_synchronously(pipe);
        rdma_cm_id* id = nullptr;
        check(rdma_get_request(listening, &id), "rdma_get_request");
        make_queue_pair(id);
        EventQueue events;
        check(rdma_migrate_id(id, events.get()), "rdma_migrate_id");
        check(rdma_accept(id, nullptr), "rdma_accept");
        events.next(RDMA_CM_EVENT_ESTABLISHED);
        check(rdma_migrate_id(id, nullptr), "rdma_migrate_id");
        check(rdma_disconnect(id), "it waits again");
        require(id->event && id->event->event == RDMA_CM_EVENT_DISCONNECTED, "with its event");
        finish(id);
        check(rdma_destroy_id(listening), "rdma_destroy_id");
    });
    rdma_cm_id* const id = connect_synchronously(server.channel().receive<int>());
    EXPECT_EQ(rdma_disconnect(id), 0);
    finish(id);
    EXPECT_EQ(server.wait(), 0);
}

TEST(RdmaCm, RequestsAreFetchedSynchronouslyOnlyWithoutAChannel) {
    TemporaryFabric fabric;
    EventQueue events;
    Id listening = listener(events);
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_get_request(listening.get(), &id), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaCm, AnExtendedQueuePairOfAnIdentifierBuildsSends) {
    TemporaryFabric fabric;
    Child server([](Channel& pipe) {
        rdma_cm_id* const listening = listen_synchronously(pipe, "0.0.0.0");
        rdma_cm_id* id = nullptr;
        check(rdma_get_request(listening, &id), "rdma_get_request");
        make_queue_pair(id);
        {
            Memory memory(id);
            memory.receive();
            check(rdma_accept(id, nullptr), "rdma_accept");
            require(receive_text(id) == "built", "received");
        }
        rdma_disconnect(id);
        finish(id);
        check(rdma_destroy_id(listening), "rdma_destroy_id");
    });
    EventQueue events;
    Id id(events);
    resolve(events, id, address("127.0.0.1", server.channel().receive<int>()));
    ibv_qp_init_attr_ex attributes = {};
    attributes.cap = {8, 8, 1, 1, 16};
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = IBV_QP_EX_WITH_SEND;
    ASSERT_EQ(rdma_create_qp_ex(id.get(), &attributes), 0) << strerror(errno);
    ASSERT_EQ(rdma_connect(id.get(), nullptr), 0);
    events.next(RDMA_CM_EVENT_ESTABLISHED);
    ibv_qp_ex* const ex = ibv_qp_to_qp_ex(id->qp);
    ASSERT_TRUE(ex);
    char text[] = "built";
    ibv_wr_start(ex);
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, text, 5);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    events.next(RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(rdma_create_qp_ex(id.get(), nullptr), -1);
    rdma_destroy_qp(id.get());
    EXPECT_EQ(server.wait(), 0);
}

TEST(RdmaCm, EndpointsOfKindsThatAreNotThereAreRefused) {
    TemporaryFabric fabric;
    for (const int type : {int(IBV_QPT_XRC_SEND), int(IBV_QPT_XRC_RECV)}) {
        sockaddr_in at = address("127.0.0.1", 7471);
        rdma_addrinfo wish = {};
        wish.ai_qp_type = type;
        wish.ai_port_space = RDMA_PS_TCP;
        wish.ai_dst_addr = reinterpret_cast<sockaddr*>(&at);
        wish.ai_dst_len = sizeof at;
        rdma_cm_id* id = nullptr;
        EXPECT_EQ(rdma_create_ep(&id, &wish, nullptr, nullptr), -1);
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_create_ep(&id, nullptr, nullptr, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
}

struct AddressInfo {
    AddressInfo(const char* node, const char* service, const rdma_addrinfo& hints) {
        result = rdma_getaddrinfo(node, service, &hints, &found);
    }
    ~AddressInfo() {
        if (found) rdma_freeaddrinfo(found);
    }
    rdma_addrinfo* operator->() const { return found; }
    int result;
    rdma_addrinfo* found = nullptr;
};

rdma_addrinfo hint(int flags, int port_space = 0, int qp_type = 0) {
    rdma_addrinfo hints = {};
    hints.ai_flags = flags;
    hints.ai_port_space = port_space;
    hints.ai_qp_type = qp_type;
    return hints;
}

TEST(RdmaCm, HintsDecideWhatAnAddressIsFor) {
    struct Row {
        int port_space, qp_type, gives_space, gives_type;
    };
    for (const Row& row :
         {Row{0, 0, RDMA_PS_TCP, IBV_QPT_RC}, Row{RDMA_PS_UDP, 0, RDMA_PS_UDP, IBV_QPT_UD},
          Row{0, IBV_QPT_UD, RDMA_PS_UDP, IBV_QPT_UD}, Row{RDMA_PS_IB, 0, RDMA_PS_IB, IBV_QPT_RC},
          Row{RDMA_PS_IPOIB, 0, RDMA_PS_IPOIB, IBV_QPT_UD},
          Row{RDMA_PS_TCP, IBV_QPT_UC, RDMA_PS_TCP, IBV_QPT_UC}}) {
        const AddressInfo info("127.0.0.1", "7471", hint(0, row.port_space, row.qp_type));
        ASSERT_EQ(info.result, 0);
        EXPECT_EQ(info->ai_port_space, row.gives_space);
        EXPECT_EQ(info->ai_qp_type, row.gives_type);
        EXPECT_TRUE(info->ai_dst_addr && !info->ai_src_addr);
    }
    const AddressInfo wildcard(nullptr, "7471", hint(RAI_PASSIVE));
    ASSERT_EQ(wildcard.result, 0);
    const auto* any = reinterpret_cast<sockaddr_in*>(wildcard->ai_src_addr);
    EXPECT_EQ(any->sin_addr.s_addr, htonl(INADDR_ANY));
    EXPECT_EQ(any->sin_port, htons(7471));
    EXPECT_FALSE(wildcard->ai_dst_addr);
    const AddressInfo here(nullptr, "7471", hint(0));
    ASSERT_EQ(here.result, 0);
    EXPECT_EQ(reinterpret_cast<sockaddr_in*>(here->ai_dst_addr)->sin_addr.s_addr,
              htonl(INADDR_LOOPBACK));
    rdma_addrinfo six = hint(RAI_PASSIVE | RAI_FAMILY);
    six.ai_family = AF_INET6;
    const AddressInfo any_six(nullptr, "7471", six);
    ASSERT_EQ(any_six.result, 0);
    EXPECT_EQ(any_six->ai_family, AF_INET6);
    EXPECT_EQ(any_six->ai_src_addr->sa_family, AF_INET6);
}

TEST(RdmaCm, HintsBringAddressesOfTheirOwn) {
    sockaddr_in from = address("127.0.0.2", 1), to = address("127.0.0.3", 2);
    rdma_addrinfo hints = hint(0);
    hints.ai_src_addr = reinterpret_cast<sockaddr*>(&from);
    hints.ai_src_len = sizeof from;
    const AddressInfo named("127.0.0.1", "7471", hints);
    ASSERT_EQ(named.result, 0);
    EXPECT_EQ(std::memcmp(named->ai_src_addr, &from, sizeof from), 0);
    EXPECT_EQ(reinterpret_cast<sockaddr_in*>(named->ai_dst_addr)->sin_port, htons(7471));
    hints.ai_dst_addr = reinterpret_cast<sockaddr*>(&to);
    hints.ai_dst_len = sizeof to;
    const AddressInfo bare(nullptr, nullptr, hints);
    ASSERT_EQ(bare.result, 0);
    EXPECT_EQ(std::memcmp(bare->ai_src_addr, &from, sizeof from), 0);
    EXPECT_EQ(std::memcmp(bare->ai_dst_addr, &to, sizeof to), 0);
    const AddressInfo literal("no.literal.address", "1", hint(RAI_NUMERICHOST));
    EXPECT_EQ(literal.result, -1);
    EXPECT_EQ(errno, ENODATA);
    rdma_addrinfo* found = nullptr;
    EXPECT_EQ(rdma_getaddrinfo(nullptr, nullptr, nullptr, &found), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaCm, OptionsOfIdentifiersAreCheckedAndAnswered) {
    TemporaryFabric fabric;
    EventQueue events;
    Id id(events);
    const auto set = [&](int level, int name, std::size_t length) {
        int value = 1;
        return rdma_set_option(id.get(), level, name, &value, length) == 0 ? 0 : errno;
    };
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, sizeof(int)), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, sizeof(int)), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 2), EINVAL);
    EXPECT_EQ(set(RDMA_OPTION_ID, 99, sizeof(int)), ENOSYS);
    EXPECT_EQ(set(RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 0), EOPNOTSUPP);
    EXPECT_EQ(set(99, 0, 0), ENOSYS);
    ASSERT_EQ(id.bind(address("127.0.0.1", 0)), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, sizeof(int)), EINVAL) << "too late";
    ibv_qp_attr attributes = {};
    int mask = 0;
    attributes.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(rdma_init_qp_attr(id.get(), &attributes, &mask), -1) << "no peer yet";
    EXPECT_EQ(errno, EINVAL);
    attributes.qp_state = IBV_QPS_INIT;
    EXPECT_EQ(rdma_init_qp_attr(id.get(), &attributes, &mask), 0);
}

}  // namespace
}  // namespace test
