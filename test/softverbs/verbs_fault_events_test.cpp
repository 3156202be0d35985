// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault rules: events of ports, devices, queues and connections.
#include "test/softverbs/cm_fixture.hpp"
#include "test/softverbs/fault_fixture.hpp"

namespace test {
namespace {

/// The link is gone when the device is opened, so the first events may be of its return.
TEST_F(Faults, APortLosesItsLinkForAWhileInThisProcess) {
    use("port soft0: down for 10ms every 30ms");
    Connection connection(small());
    while (next_event(connection.here).first != IBV_EVENT_PORT_ERR) continue;
    for (const ibv_event_type type : {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_CLIENT_REREGISTER,
                                      IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE}) {
        EXPECT_EQ(connection.status(), IBV_WC_SUCCESS) << "it waits for the link";
        EXPECT_EQ(next_event(connection.here), Event(type, 1));
    }
    ASSERT_GE(logged().size(), 2u);
    EXPECT_EQ(logged()[1], "port soft0 -> down for 10ms every 30ms");
}

TEST_F(Faults, APortIsDownFromTheStart) {
    use("port soft0: down");
    Host host(small());
    EXPECT_EQ(host.port.state, IBV_PORT_DOWN);
}

TEST_F(Faults, APortTellsOfChanges) {
    for (const auto& [action, type] : {std::pair{"lid_change", IBV_EVENT_LID_CHANGE},
                                       {"gid_change", IBV_EVENT_GID_CHANGE},
                                       {"pkey_change", IBV_EVENT_PKEY_CHANGE},
                                       {"sm_change", IBV_EVENT_SM_CHANGE},
                                       {"client_reregister", IBV_EVENT_CLIENT_REREGISTER}}) {
        SCOPED_TRACE(action);
        use(std::string("port soft0/1: ") + action + " every 5ms");
        Connection connection(small());
        for (const Host* host : {&connection.here, &connection.there})
            for (int i = 0; i < 2; ++i) EXPECT_EQ(next_event(*host), Event(type, 1));
        EXPECT_TRUE(connection.delivers()) << "nothing else changes";
    }
}

TEST_F(Faults, ADeviceFailsAndComesBack) {
    Connection connection(small());
    EventQueue channel;
    Id id(channel);
    ASSERT_EQ(id.bind(address("127.0.0.1", 0)), 0);
    tell_rules(fabric_.path(), "device soft0 -> fatal for 50ms\n");
    EXPECT_EQ(next_event(connection.here), Event(IBV_EVENT_DEVICE_FATAL, 0));
    EXPECT_EQ(connection.status(), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
    channel.next(RDMA_CM_EVENT_DEVICE_REMOVAL);
    EXPECT_EQ(next_event(connection.here), Event(IBV_EVENT_PORT_ACTIVE, 1));
    Connection again(small());
    EXPECT_TRUE(again.delivers());
}

/// A rule that has had its time does not begin again when another one is added.
TEST_F(Faults, RulesForPortsGoOnWhenOthersAreAdded) {
    Host host(small());
    const std::string once = "port soft0 after=1ns -> sm_change\nport soft0 -> down for 5ms\n";
    tell_rules(fabric_.path(), once);
    EXPECT_EQ(next_event(host), Event(IBV_EVENT_SM_CHANGE, 1));
    for (const auto type : {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_CLIENT_REREGISTER})
        EXPECT_EQ(next_event(host), Event(type, 1));
    tell_rules(fabric_.path(), once + "send -> drop\n");
    EXPECT_FALSE(has_event(host));
}

TEST_F(Faults, AsynchronousEventsAreLostOrComeLateOrTwice) {
    const auto event_of = [&](const char* action) {
        tell_rules(fabric_.path(), std::string("async_event event=port_err -> ") + action +
                                       "\nport soft0 -> down for 5ms\n");
    };
    {
        Host host(small());
        event_of("drop");
        EXPECT_EQ(next_event(host), Event(IBV_EVENT_PORT_ACTIVE, 1));
    }
    tell_rules(fabric_.path(), "");
    {
        Host host(small());
        event_of("duplicate");
        for (const auto type : {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE})
            EXPECT_EQ(next_event(host), Event(type, 1));
    }
    tell_rules(fabric_.path(), "");
    Host host(small());
    event_of("delay 50ms");
    for (const auto type : {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_PORT_ERR})
        EXPECT_EQ(next_event(host), Event(type, 1));
}

TEST_F(Faults, AnEventThatIsLateDoesNotComeWhenItsQueuePairIsGone) {
    use("async_event event=qp_access_err -> delay 10ms; write nth=1 -> remote_access");
    Options options = small();
    Host keeps(options);
    {
        Connection connection(options);
        EXPECT_EQ(connection.status(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
        EXPECT_TRUE(connection.other_fails());
    }
    usleep(20000);
    EXPECT_FALSE(has_event(keeps));
}

TEST_F(Faults, ACompletionQueueOverruns) {
    use("send qp=1 nth=2 -> cq_overrun");
    Connection connection(small());
    EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    ASSERT_EQ(connection.send(), 0);
    EXPECT_EQ(next_event(connection.here), Event(IBV_EVENT_CQ_ERR, 0));
    EXPECT_EQ(next_event(connection.here), Event(IBV_EVENT_QP_FATAL, 0));
    EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
    EXPECT_EQ(connection.here.wait().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_FALSE(has_event(connection.there));
}

TEST_F(Faults, ACompletionQueueOverrunsAtTheOtherEnd) {
    use("send qp=1 nth=2 -> peer_cq_overrun");
    Connection connection(small(), kShort);
    EXPECT_TRUE(connection.delivers());
    EXPECT_EQ(connection.status(), IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(next_event(connection.there), Event(IBV_EVENT_CQ_ERR, 0));
    EXPECT_EQ(next_event(connection.there), Event(IBV_EVENT_QP_FATAL, 0));
    EXPECT_TRUE(connection.other_fails());
}

TEST_F(Faults, ASharedReceiveQueueTellsItsLimitEarly) {
    use("send qp=1 nth=2 -> peer_srq_limit");
    Options shared = small();
    shared.shared_receives = true;
    Connection connection(small(), shared);
    ibv_srq_attr limit{};
    limit.srq_limit = 1;
    ASSERT_EQ(ibv_modify_srq(connection.there.srq, &limit, IBV_SRQ_LIMIT), 0);
    EXPECT_TRUE(connection.delivers());
    EXPECT_FALSE(has_event(connection.there));
    EXPECT_TRUE(connection.delivers());
    EXPECT_EQ(next_event(connection.there), Event(IBV_EVENT_SRQ_LIMIT_REACHED, 0));
    EXPECT_TRUE(connection.delivers());
}

/// Both ends of a connection of rdma_cm, with queue pairs.
struct Connected : BothEnds {
    explicit Connected() : host(small()) {
        make_queue_pair(id);
        connect(id);
        auto request = server_events.next(RDMA_CM_EVENT_CONNECT_REQUEST);
        child.emplace(request->id);
        make_queue_pair(*child);
        accept(*child);
        events.next(RDMA_CM_EVENT_ESTABLISHED);
        server_events.next(RDMA_CM_EVENT_ESTABLISHED);
    }
    ~Connected() {
        for (const Id* end : {&id, &*child}) rdma_destroy_qp(end->get());
    }
    void make_queue_pair(const Id& end) {
        ibv_qp_init_attr attributes{};
        attributes.cap = {4, 4, 1, 1, 16};
        attributes.qp_type = IBV_QPT_RC;
        require(rdma_create_qp(end.get(), nullptr, &attributes) == 0, "a queue pair is made");
    }
    Host host;
    std::optional<Id> child;
};

TEST_F(Faults, AConnectionEndsInTheMiddle) {
    use("send nth=1 -> disconnect");
    Connected both;
    char byte = 1;
    ibv_sge segment{reinterpret_cast<std::uintptr_t>(&byte), 1, 0};
    ibv_send_wr request{};
    ibv_send_wr* bad = nullptr;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_INLINE;
    request.sg_list = &segment;
    request.num_sge = 1;
    ASSERT_EQ(ibv_post_send(both.id->qp, &request, &bad), 0);
    both.events.next(RDMA_CM_EVENT_DISCONNECTED);
    both.server_events.next(RDMA_CM_EVENT_DISCONNECTED);
    both.events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST_F(Faults, TimewaitTakesLongerOrForEver) {
    use("timewait_exit nth=1 -> drop; timewait_exit nth=2 -> duplicate");
    {
        Connected both;
        ASSERT_EQ(rdma_disconnect(both.id.get()), 0);
        both.events.next(RDMA_CM_EVENT_DISCONNECTED);
        both.server_events.next(RDMA_CM_EVENT_DISCONNECTED);
        // The server is the first to know, so its event is the one that is lost.
        for (int i = 0; i < 2; ++i) both.events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
        EXPECT_FALSE(both.server_events.readable());
    }
    use("timewait_exit -> delay 100ms");
    Connected both;
    const auto begin = Clock::now();
    ASSERT_EQ(rdma_disconnect(both.id.get()), 0);
    both.events.next(RDMA_CM_EVENT_DISCONNECTED);
    both.events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    EXPECT_GE(Clock::now() - begin, 1100ms);
}

TEST_F(Faults, MessagesThatComeTwiceChangeNothing) {
    for (const char* message : {"req", "mra", "rep", "rtu", "dreq", "drep"}) {
        SCOPED_TRACE(message);
        use(message + std::string(" -> duplicate"));
        Connected both;
        EXPECT_FALSE(both.events.readable());
        EXPECT_FALSE(both.server_events.readable());
        ASSERT_EQ(rdma_disconnect(both.id.get()), 0);
        both.events.next(RDMA_CM_EVENT_DISCONNECTED);
        both.server_events.next(RDMA_CM_EVENT_DISCONNECTED);
        both.events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
        both.server_events.next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
    }
}

TEST_F(Faults, NobodyAnswersAConnectionRequestForAWhile) {
    use("connect nth=1 -> unreachable for 30ms");
    BothEnds both;
    const auto begin = Clock::now();
    connect(both.id);
    EXPECT_EQ(both.events.next(RDMA_CM_EVENT_UNREACHABLE)->status, -ETIMEDOUT);
    EXPECT_GE(Clock::now() - begin, 30ms);
}

}  // namespace
}  // namespace test
