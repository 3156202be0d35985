// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault rules: what they do to requests, posts and calls, at both ends.
#include "test/softverbs/datagram_pair.hpp"
#include "test/softverbs/fault_fixture.hpp"

namespace test {
namespace {

struct Case {
    const char* rule;
    ibv_wr_opcode opcode;
    ibv_wc_status here;
    bool fails_there;
    ibv_wc_status there;  ///< of the receive; SUCCESS: none completes
};

constexpr Case kCases[] = {
    {"send nth=2 -> retry_exceeded", IBV_WR_SEND, IBV_WC_RETRY_EXC_ERR, false, IBV_WC_SUCCESS},
    {"write nth=2 -> retry_exceeded", IBV_WR_RDMA_WRITE, IBV_WC_RETRY_EXC_ERR, false,
     IBV_WC_SUCCESS},
    {"send nth=2 -> rnr_retry_exceeded", IBV_WR_SEND, IBV_WC_RNR_RETRY_EXC_ERR, false,
     IBV_WC_SUCCESS},
    {"read nth=2 -> remote_access", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR, true,
     IBV_WC_WR_FLUSH_ERR},
    {"atomic nth=2 -> remote_access", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR, true,
     IBV_WC_WR_FLUSH_ERR},
    {"send nth=2 -> remote_operation", IBV_WR_SEND, IBV_WC_REM_OP_ERR, true, IBV_WC_LOC_QP_OP_ERR},
    {"send nth=2 -> remote_invalid_request", IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR, true,
     IBV_WC_LOC_LEN_ERR},
    {"write nth=2 -> remote_invalid_request", IBV_WR_RDMA_WRITE, IBV_WC_REM_INV_REQ_ERR, true,
     IBV_WC_WR_FLUSH_ERR},
    {"request nth=2 -> local_protection", IBV_WR_RDMA_READ, IBV_WC_LOC_PROT_ERR, false,
     IBV_WC_SUCCESS},
    {"request nth=2 -> local_length", IBV_WR_SEND, IBV_WC_LOC_LEN_ERR, false, IBV_WC_SUCCESS},
    {"request nth=2 -> flush", IBV_WR_SEND, IBV_WC_WR_FLUSH_ERR, false, IBV_WC_SUCCESS},
};

TEST_F(Faults, RequestsFailAsIfTheyWereAtFaultAtBothEnds) {
    for (const Case& one : kCases) {
        SCOPED_TRACE(one.rule);
        use(std::string(one.rule).replace(std::string(one.rule).find("nth"), 0, "qp=1 "));
        Connection connection(small());
        EXPECT_EQ(connection.status(one.opcode), IBV_WC_SUCCESS);
        if (one.opcode == IBV_WR_SEND) {
            EXPECT_EQ(connection.there.wait().status, IBV_WC_SUCCESS);
        }
        EXPECT_EQ(connection.status(one.opcode), one.here);
        EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
        EXPECT_EQ(connection.status(one.opcode), IBV_WC_WR_FLUSH_ERR);
        if (!one.fails_there) {
            EXPECT_EQ(connection.other.state(), IBV_QPS_RTS);
            EXPECT_TRUE(connection.there.is_empty());
            continue;
        }
        EXPECT_TRUE(connection.other_fails());
        EXPECT_EQ(connection.there.wait().status, one.there);
    }
}

TEST_F(Faults, TheStateInTheStructureIsTheOneThatTheProgramKnowsOf) {
    use("write nth=1 -> retry_exceeded");
    Connection connection(small());
    const ibv_qp* const qp = connection.one.get();
    EXPECT_EQ(qp->state, IBV_QPS_RTS);
    EXPECT_EQ(connection.status(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(qp->state, IBV_QPS_RTS);
    EXPECT_EQ(connection.one.state(), IBV_QPS_ERR);
    EXPECT_EQ(qp->state, IBV_QPS_ERR);
}

TEST_F(Faults, AnAcknowledgementThatIsLostLeavesTheRequestCarriedOut) {
    for (const char* const way : {"process_vm", "agent"}) {
        setenv("SOFTVERBS_COPY", way, 1);
        use("write nth=1 -> acknowledgement_lost");
        Connection connection(small());
        connection.here.buffer[0] = 7;
        EXPECT_EQ(connection.status(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
        EXPECT_EQ(connection.there.buffer[0], 7);
        unsetenv("SOFTVERBS_COPY");
    }
}

TEST_F(Faults, ADelayedRequestDelaysThoseBehindIt) {
    use("send qp=1 nth=2 -> delay 20ms");
    Connection connection(small());
    const auto begin = Clock::now();
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(connection.one.send(static_cast<std::uint64_t>(i), {connection.here.sge(0, 8)}),
                  0);
    EXPECT_EQ(connection.here.wait().wr_id, 0u);
    EXPECT_EQ(connection.here.wait().wr_id, 1u);
    EXPECT_GE(Clock::now() - begin, 20ms);
    EXPECT_EQ(connection.here.wait().wr_id, 2u);
}

TEST_F(Faults, BandwidthIsSharedByTheRequestsOfAQueuePair) {
    use("write -> bandwidth 100kB/s");
    Connection connection(small());
    const auto begin = Clock::now();
    for (int i = 0; i < 5; ++i)
        ASSERT_EQ(connection.one.rdma(1, IBV_WR_RDMA_WRITE, {connection.here.sge(0, 1000)},
                                      connection.there.address(), connection.there.mr->rkey),
                  0);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(connection.here.wait().status, IBV_WC_SUCCESS);
    EXPECT_GE(Clock::now() - begin, 50ms);
}

TEST_F(Faults, APeerThatIsSilentForAWhileIsWaitedForAndOneThatStaysSilentIsNot) {
    use("send qp=1 nth=1 -> silence for 5ms");
    {
        Connection connection(small());
        EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    }
    use("send qp=1 nth=1 -> silence");
    Connection connection(small(), kShort);
    EXPECT_EQ(connection.status(), IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(connection.other.state(), IBV_QPS_RTS);
}

TEST_F(Faults, UnreliableMessagesToASilentPeerAreLostUntilItAnswersAgain) {
    use("send qp=1 nth=1 -> silence");
    {
        Connection connection(small(IBV_QPT_UC));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
        EXPECT_TRUE(connection.there.is_empty());
    }
    use("send qp=1 nth=1 -> silence for 5ms");
    Connection connection(small(IBV_QPT_UC));
    const auto end = Clock::now() + kDeadline;
    while (connection.there.is_empty()) {
        ASSERT_LT(Clock::now(), end);
        ASSERT_EQ(connection.status(), IBV_WC_SUCCESS);
    }
}

TEST_F(Faults, AReceiverThatIsNotReadyForAWhileIsWaitedFor) {
    use("send qp=1 nth=1 -> receiver_not_ready for 5ms");
    {
        Connection connection(small());
        EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    }
    use("send qp=1 nth=1 -> receiver_not_ready");
    Connection connection(small(), kShort);
    EXPECT_EQ(connection.status(), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(Faults, UnreliableMessagesAreDroppedAndDatagramsDoubled) {
    use("send qp=1 type=uc nth=2 -> drop");
    {
        Connection connection(small(IBV_QPT_UC));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(connection.there.wait().status, IBV_WC_SUCCESS);
        EXPECT_TRUE(connection.there.is_empty());
    }
    use("send type=ud nth=2 -> drop; send type=ud nth=3 -> duplicate");
    Host here(small(IBV_QPT_UD)), there(small(IBV_QPT_UD));
    Datagrams one(here), other(there);
    for (std::uint64_t i = 0; i < 8; ++i)
        ASSERT_EQ(other.receive(i, {there.sge(kHeader * 2, kHeader + 64)}), 0);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ASSERT_EQ(one.send(i, {here.sge(0, static_cast<std::uint32_t>(i))},
                           {.to = other.number(), .by = one.handle_to(there)}),
                  0);
        EXPECT_EQ(here.wait().wr_id, i);
    }
    for (const std::uint32_t length : {1u, 3u, 3u, 4u})
        EXPECT_EQ(there.wait().byte_len, kHeader + length);
    EXPECT_TRUE(there.is_empty());
}

TEST_F(Faults, PostsFail) {
    use("post_send qp=1 every=3 -> fail; post_recv qp=2 nth=2 -> fail EINVAL");
    Host here(small()), there(small());
    Qp one(here), other(there);
    EXPECT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
    EXPECT_EQ(other.post_receive(2, {there.sge(0, 64)}), EINVAL);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
    one.connect(other.address());
    other.connect(one.address());
    for (int i = 1; i <= 7; ++i) {
        const int cause = one.send(1, {here.sge(0, 8)});
        EXPECT_EQ(cause, i % 3 == 0 ? ENOMEM : 0);
        if (cause == 0) {
            EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
        }
    }
}

/// A full queue refuses as it does without rules.
TEST_F(Faults, AQueueWithRulesForPostsHasItsLength) {
    use("post_send nth=1000 -> fail; send -> silence");
    Options options = small();
    options.depth = 4;
    Host here(options), there(options);
    Qp one(here), other(there);
    one.connect(other.address());
    other.connect(one.address());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(one.send(1, {here.sge(0, 8)}), 0);
    EXPECT_EQ(one.send(1, {here.sge(0, 8)}), ENOMEM);
}

TEST_F(Faults, CallsThatMakeObjectsFail) {
    use("alloc_pd nth=2 -> fail; reg_mr nth=1 -> fail EFAULT; create_comp_channel -> fail EMFILE;"
        "create_cq nth=1 -> fail; create_qp nth=1 -> fail ENOSPC; create_srq -> fail;"
        "create_ah -> fail; alloc_mw -> fail; modify_qp nth=1 -> fail EIO");
    ibv_context* context = open_soft0();
    ibv_pd* pd = ibv_alloc_pd(context);
    ASSERT_NE(pd, nullptr);
    const auto fails = [](const void* made, int with) {
        const int cause = errno;
        return !made && cause == with;
    };
    EXPECT_TRUE(fails(ibv_alloc_pd(context), ENOMEM));
    char memory[64];
    EXPECT_TRUE(fails(ibv_reg_mr(pd, memory, sizeof memory, kLocalWrite), EFAULT));
    EXPECT_TRUE(fails(ibv_create_comp_channel(context), EMFILE));
    EXPECT_TRUE(fails(ibv_create_cq(context, 8, nullptr, nullptr, 0), ENOMEM));
    ibv_cq* cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    ibv_srq_init_attr shared{};
    shared.attr = {8, 1, 0};
    EXPECT_TRUE(fails(ibv_create_srq(pd, &shared), ENOMEM));
    EXPECT_TRUE(fails(ibv_alloc_mw(pd, IBV_MW_TYPE_2), ENOMEM));
    ibv_ah_attr address{};
    address.port_num = 1;
    EXPECT_TRUE(fails(ibv_create_ah(pd, &address), ENOMEM));
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {1, 1, 1, 1, 0};
    EXPECT_TRUE(fails(ibv_create_qp(pd, &attributes), ENOSPC));
    ibv_qp* qp = ibv_create_qp(pd, &attributes);
    ASSERT_NE(qp, nullptr);
    ibv_qp_attr state{};
    EXPECT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), EIO);
    EXPECT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

/// Which of 200 posts fail.
std::vector<bool> failing_posts() {
    Options options = small();
    options.depth = 256;
    Host here(options);
    Qp one(here);
    std::vector<bool> failed;
    for (int i = 0; i < 200; ++i) failed.push_back(one.post_receive(1, {here.sge(0, 8)}) != 0);
    return failed;
}

TEST_F(Faults, TheSameSeedGivesTheSameFaultsAndTheLogGivesThemAgain) {
    use("post_recv probability=0.1 -> fail", 7);
    const std::vector<bool> first = failing_posts();
    const auto count = std::count(first.begin(), first.end(), true);
    EXPECT_GT(count, 5);
    EXPECT_LT(count, 45);
    EXPECT_EQ(logged().size(), static_cast<std::size_t>(count));
    EXPECT_EQ(failing_posts(), first);
    use("post_recv probability=0.1 -> fail", 8);
    EXPECT_NE(failing_posts(), first);
    unlink(log().c_str());
    use("post_recv probability=0.1 -> fail", 7);
    EXPECT_EQ(failing_posts(), first);
    const std::string kept = fabric_.path() + "/kept";
    rename(log().c_str(), kept.c_str());
    use("@" + kept, 1000);
    EXPECT_EQ(failing_posts(), first);
}

TEST_F(Faults, RulesThatAreWrongKeepTheDeviceFromOpening) {
    for (const char* const rules : {"send -> explode", "@/nonexistent/rules"}) {
        use(rules);
        ibv_device** list = ibv_get_device_list(nullptr);
        EXPECT_EQ(ibv_open_device(list[0]), nullptr);
        EXPECT_EQ(errno, EINVAL);
        ibv_free_device_list(list);
    }
}

TEST_F(Faults, RulesOfTheFabricConcernQueuePairsThatAreConnected) {
    Connection connection(small());
    EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    tell_rules(fabric_.path(), "send qp=1 nth=2 -> retry_exceeded\n");
    EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    // A second rule does not make the first one begin again.
    tell_rules(fabric_.path(),
               "send qp=1 nth=2 -> retry_exceeded\nwrite qp=1 nth=1 -> delay 1ms\n");
    EXPECT_EQ(connection.status(), IBV_WC_RETRY_EXC_ERR);
}

/// Also to those that connect later, which is when a process looks at what has changed.
TEST_F(Faults, RulesOfTheFabricThatAreWrongAreReportedOnceAndLeaveThoseBefore) {
    Connection connection(small());
    tell_rules(fabric_.path(), "send qp=1 nth=2 -> retry_exceeded\n");
    const std::string told = captured_stderr([&] {
        tell_rules(fabric_.path(), "send -> explode\n");
        tell_members(fabric_.path());
        tell_rules(fabric_.path(), "send -> explode\n");
    });
    const auto first = told.find("DAT314");
    ASSERT_NE(first, told.npos) << told;
    EXPECT_EQ(told.find("DAT314", first + 1), told.npos) << told;
    EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    EXPECT_EQ(connection.status(), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(Faults, WhatRulesHoldBackGoesOnWhenTheyAreRemoved) {
    tell_rules(fabric_.path(), "send qp=1 -> silence\n");
    Connection connection(small());
    ASSERT_EQ(connection.post(IBV_WR_SEND), 0);
    usleep(2000);
    EXPECT_TRUE(connection.here.is_empty());
    tell_rules(fabric_.path(), "");
    EXPECT_EQ(connection.here.wait().status, IBV_WC_SUCCESS);
}

/// What one process does to itself is done to a peer of its own name.
TEST_F(Faults, RulesChooseByTheProcessAtTheOtherEnd) {
    const std::string name = program_invocation_short_name;
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        use("send peer=" + name + " nth=2 -> flush");
        {
            Connection connection(small(type));
            EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
            EXPECT_EQ(connection.status(), IBV_WC_WR_FLUSH_ERR);
        }
        use("send peer=other nth=1 -> flush; send peer_rank=0 -> flush");
        Connection another(small(type));
        EXPECT_EQ(another.status(), IBV_WC_SUCCESS);
    }
    use("send peer=other -> silence; send peer=" + name + " nth=2 -> flush");
    Host here(small(IBV_QPT_UD)), there(small(IBV_QPT_UD));
    Datagrams one(here), other(there);
    for (const ibv_wc_status expected : {IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR}) {
        ASSERT_EQ(other.receive(1, {there.sge(0, kHeader + 64)}), 0);
        ASSERT_EQ(one.send(1, {here.sge(0, 8)}, {.to = other.number(), .by = one.handle_to(there)}),
                  0);
        EXPECT_EQ(here.wait().status, expected);
    }
}

TEST_F(Faults, RulesChooseByTheRankAtTheOtherEnd) {
    setenv("PMI_RANK", "3", 1);
    use("write peer_rank=3 nth=1 -> retry_exceeded; send peer_rank=30 -> flush");
    Connection connection(small());
    unsetenv("PMI_RANK");
    EXPECT_EQ(connection.status(), IBV_WC_SUCCESS);
    EXPECT_EQ(connection.status(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(Faults, ADatagramIsOvertakenByTheNextOne) {
    use("send type=ud every=3 -> reorder; send nth=5 -> drop; send nth=7 -> duplicate");
    Host here(small(IBV_QPT_UD)), there(small(IBV_QPT_UD));
    Datagrams one(here), other(there);
    for (std::uint64_t i = 0; i < 16; ++i)
        ASSERT_EQ(other.receive(i, {there.sge(kHeader * 2, kHeader + 64)}), 0);
    for (std::uint64_t i = 1; i <= 9; ++i) {
        ASSERT_EQ(one.send(i, {here.sge(0, static_cast<std::uint32_t>(i))},
                           {.to = other.number(), .by = one.handle_to(there)}),
                  0);
        EXPECT_EQ(here.wait().wr_id, i);
        here.buffer[0] = 0;  // it is the program's again
    }
    for (const std::uint32_t length : {1u, 2u, 4u, 3u, 7u, 7u, 6u, 8u}) {
        SCOPED_TRACE(length);
        EXPECT_EQ(there.wait().byte_len, kHeader + length);
    }
    EXPECT_TRUE(there.is_empty()) << "the last one waits for a next one";
}

}  // namespace
}  // namespace test
