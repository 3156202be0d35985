// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which requests are refused, with which status, and in which state they leave the queue pairs.

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsErrors : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsErrors);

/// Waits for an asynchronous event and acknowledges it. @return its type.
ibv_event_type next_event(ibv_context* context) {
    require(is_readable(context->async_fd), "an asynchronous event comes");
    ibv_async_event event;
    require(ibv_get_async_event(context, &event) == 0, "it can be fetched");
    ibv_ack_async_event(&event);
    return event.event_type;
}

bool becomes(const Qp& qp, ibv_qp_state state) {
    return eventually([&] { return qp.state() == state; });
}

/// A peer whose queue pair permits `access`. It posts one receive and reports the event that it
/// gets.
struct Witness {
    explicit Witness(int access = kAllAccess, int memory = kAllAccess, std::uint32_t receive = 64,
                     bool bad_receive_key = false)
        : child([=](Channel& channel) {
              Options options;
              options.access = memory;
              Host host(options);
              Qp qp(host, access);
              ibv_sge sge = host.sge(0, receive);
              if (bad_receive_key) sge.lkey ^= 0x00100000;
              qp.post_receive(77, {sge});
              qp.connect(channel);
              channel.receive<char>();
              if (receive == 64 && !bad_receive_key) channel.send(next_event(host.context));
              require(becomes(qp, IBV_QPS_ERR), "the responder's queue pair breaks");
              const ibv_wc wc = host.wait();
              require(wc.wr_id == 77, "its receive completes");
              channel.send(wc.status);
          }) {}
    Child child;
};

void expect_refused(Witness& witness, const std::function<void(Host&, Qp&, Address)>& post,
                    ibv_wc_status status, ibv_event_type event,
                    ibv_wc_status of_receive = IBV_WC_WR_FLUSH_ERR) {
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(witness.child.channel());
    post(host, qp, peer);
    EXPECT_EQ(host.wait().status, status);
    EXPECT_EQ(qp.state(), IBV_QPS_ERR);
    witness.child.channel().send('w');
    EXPECT_EQ(witness.child.channel().receive<ibv_event_type>(), event);
    EXPECT_EQ(witness.child.channel().receive<ibv_wc_status>(), of_receive);
    EXPECT_EQ(witness.child.wait(), 0);
}

TEST_P(VerbsErrors, AWrongRemoteKeyIsRefused) {
    Witness witness;
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey ^ 0x00100000);
        },
        IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_P(VerbsErrors, ARefusedWriteWithImmediateDataCompletesTheReceiveWithALocalAccessError) {
    Witness witness;
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.rdma(1, IBV_WR_RDMA_WRITE_WITH_IMM, {host.sge(0, 8)}, peer.address,
                    peer.rkey ^ 0x00100000);
        },
        IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
}

TEST_P(VerbsErrors, ARefusedWriteWithImmediateDataWaitsForNoReceive) {
    for (const bool shared : {false, true}) {
        Options options;
        options.shared_receives = shared;
        Host host(options);
        Qp qp(host);
        qp.connect(qp.address());
        qp.rdma(1, IBV_WR_RDMA_WRITE_WITH_IMM, {host.sge(0, 8)}, host.address(),
                host.mr->rkey ^ 0x00100000);
        EXPECT_EQ(host.wait().status, IBV_WC_REM_ACCESS_ERR);
        EXPECT_TRUE(becomes(qp, IBV_QPS_ERR));
    }
}

TEST_P(VerbsErrors, AWriteBeyondTheRegionIsRefused) {
    Witness witness;
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address + (4 << 20) - 7,
                    peer.rkey);
        },
        IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_P(VerbsErrors, AReadWithoutTheRegionsPermissionIsRefused) {
    Witness witness(kAllAccess, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, 8)}, peer.address, peer.rkey);
        },
        IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_P(VerbsErrors, AnAtomicWithoutTheQueuePairsPermissionIsAnInvalidRequest) {
    Witness witness(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address, peer.rkey, 1);
        },
        IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

TEST_P(VerbsErrors, AMisalignedAtomicIsRefused) {
    Witness witness;
    expect_refused(
        witness,
        [](Host& host, Qp& qp, Address peer) {
            qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address + 4, peer.rkey,
                      1);
        },
        IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

TEST_P(VerbsErrors, AMessageLongerThanTheReceiveFailsAtBothEnds) {
    Witness witness(kAllAccess, kAllAccess, 63);
    Host host;
    Qp qp(host);
    qp.connect(witness.child.channel());
    qp.send(1, {host.sge(0, 64)});
    EXPECT_EQ(host.wait().status, IBV_WC_REM_INV_REQ_ERR);
    witness.child.channel().send('w');
    EXPECT_EQ(witness.child.channel().receive<ibv_wc_status>(), IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(witness.child.wait(), 0);
}

TEST_P(VerbsErrors, AReceiveWithAWrongKeyFailsAtBothEnds) {
    Witness witness(kAllAccess, kAllAccess, 64, true);
    Host host;
    Qp qp(host);
    qp.connect(witness.child.channel());
    qp.send(1, {host.sge(0, 64)});
    EXPECT_EQ(host.wait().status, IBV_WC_REM_OP_ERR);
    witness.child.channel().send('w');
    EXPECT_EQ(witness.child.channel().receive<ibv_wc_status>(), IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(witness.child.wait(), 0);
}

TEST_P(VerbsErrors, AMemoryKeyOfAnotherProtectionDomainIsRefused) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        ibv_pd* other = ibv_alloc_pd(host.context);
        ibv_mr* mr = ibv_reg_mr(other, host.buffer.data(), 4096, kAllAccess);
        qp.connect(channel);
        channel.send(mr->rkey);
        channel.receive<char>();
        ibv_dereg_mr(mr);
        ibv_dealloc_pd(other);
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    const auto rkey = child.channel().receive<std::uint32_t>();
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_REM_ACCESS_ERR);
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsErrors, AKeyEndsWithItsRegistration) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        ibv_mr* mr = ibv_reg_mr(host.pd, host.buffer.data(), 4096, kAllAccess);
        qp.connect(channel);
        channel.send(mr->rkey);
        channel.receive<char>();
        ibv_dereg_mr(mr);
        channel.send('d');
        channel.receive<char>();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    const auto rkey = child.channel().receive<std::uint32_t>();
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().send('d');
    child.channel().receive<char>();
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_REM_ACCESS_ERR);
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsErrors, AWrongLocalKeyFailsWithoutTouchingThePeer) {
    Host host;
    Qp a(host);
    Qp b(host);
    a.connect(b.address());
    b.connect(a.address());
    ibv_sge sge = host.sge(0, 8);
    sge.lkey ^= 0x00100000;
    a.rdma(1, IBV_WR_RDMA_WRITE, {sge}, host.address(), host.mr->rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(a.state(), IBV_QPS_ERR);
    EXPECT_EQ(b.state(), IBV_QPS_RTS);
}

TEST_P(VerbsErrors, WithoutAReceiveTheRequesterWaitsAsLongAsItWasTold) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel, {.rnr_retry = 7, .min_rnr_timer = 14});
        channel.receive<char>();
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel(), {.rnr_retry = 2});
    qp.send(1, {host.sge(0, 8)});
    qp.send(2, {host.sge(0, 8)});
    const ibv_wc first = host.wait();
    EXPECT_EQ(first.wr_id, 1u);
    EXPECT_EQ(first.status, IBV_WC_RNR_RETRY_EXC_ERR);
    const ibv_wc second = host.wait();
    EXPECT_EQ(second.wr_id, 2u);
    EXPECT_EQ(second.status, IBV_WC_WR_FLUSH_ERR);
    child.channel().send('q');
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsErrors, RetryCountSevenWaitsForAReceiveForEverAndKeepsTheOrder) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel, {.rnr_retry = 7, .min_rnr_timer = 1});
        channel.receive<char>();
        for (std::uint32_t i = 0; i < 50; ++i) {
            qp.post_receive(i, {host.sge(i * 2000, 2000)});
            const ibv_wc wc = host.wait();
            require(wc.status == IBV_WC_SUCCESS && wc.wr_id == i, "received in order");
            require(holds(&host.buffer[i * 2000], i * 40, i), "the data");
        }
        channel.meet();
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    for (std::uint32_t i = 0; i < 50; ++i) {
        fill(&host.buffer[i * 2000], i * 40, i);
        const bool fits = i * 40 <= 256;
        ASSERT_EQ(qp.send(i, {host.sge(i * 2000, i * 40)},
                          IBV_SEND_SIGNALED | (fits ? IBV_SEND_INLINE : 0)),
                  0);
        if (fits) std::memset(&host.buffer[i * 2000], 0, i * 40);  // inline data has been copied
    }
    EXPECT_TRUE(host.is_empty());
    child.channel().send('g');
    for (std::uint32_t i = 0; i < 50; ++i) {
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.wr_id, i);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsErrors, APeerThatNeverBecomesReadyIsGivenUp) {
    Host host;
    Qp a(host);
    Qp b(host);
    a.connect(b.address(), {.timeout = 8, .retry_cnt = 1});
    a.send(1, {host.sge(0, 8)});
    EXPECT_EQ(host.wait().status, IBV_WC_RETRY_EXC_ERR);
}

TEST_P(VerbsErrors, ARequestWaitsUntilThePeerIsReady) {
    Host host;
    Qp a(host);
    Qp b(host);
    b.post_receive(2, {host.sge(100, 8)});
    a.connect(b.address(), {.timeout = 20});
    a.send(1, {host.sge(0, 8)});
    EXPECT_TRUE(host.is_empty());
    b.connect(a.address());
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
}

TEST_P(VerbsErrors, TheErrorStateFlushesEverythingInOrderAndOnce) {
    Host host;
    Qp a(host);
    Qp b(host);
    for (std::uint64_t i = 0; i < 10; ++i) b.post_receive(100 + i, {host.sge(0, 8)});
    a.connect(b.address());
    b.connect(a.address());
    for (std::uint64_t i = 0; i < 3; ++i) a.send(i, {host.sge(8, 8)});
    b.to_error();
    a.send(3, {host.sge(8, 8)});
    a.send(4, {host.sge(8, 8)});
    ASSERT_EQ(b.post_receive(110, {host.sge(0, 8)}), 0);
    ASSERT_EQ(b.send(5, {host.sge(8, 8)}), 0);
    std::uint64_t next_receive = 100;
    std::uint64_t next_send = 0;
    int others = 0;
    for (int i = 0; i < 11 + 5 + 1; ++i) {
        const ibv_wc wc = host.wait();
        if (wc.qp_num == b.get()->qp_num && wc.wr_id >= 100) {
            EXPECT_EQ(wc.wr_id, next_receive++);
            EXPECT_EQ(wc.status, wc.wr_id < 103 ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
        } else if (wc.qp_num == a.get()->qp_num) {
            EXPECT_EQ(wc.wr_id, next_send++);
            const ibv_wc_status expected[] = {IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_SUCCESS,
                                              IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR};
            EXPECT_EQ(wc.status, expected[wc.wr_id]);
        } else {
            ++others;
            EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
        }
    }
    EXPECT_EQ(others, 1);
    EXPECT_TRUE(host.is_empty());
}

TEST_P(VerbsErrors, NumbersThatNobodyHasAndOtherFabricsAreRefused) {
    Host host;
    Qp a(host);
    Address nobody = a.address();
    nobody.qp_num ^= 0x00ff00;
    EXPECT_NE(a.ready_to_receive(nobody), 0);
    Address unused = a.address();
    unused.qp_num ^= 0x80;
    EXPECT_NE(a.ready_to_receive(unused), 0);
    Address elsewhere = a.address();
    elsewhere.lid ^= 1;
    EXPECT_EQ(a.ready_to_receive(elsewhere), EINVAL);
    EXPECT_EQ(a.state(), IBV_QPS_INIT);
}

TEST_P(VerbsErrors, RequestsThatMakeNoSenseAreRefusedAtOnce) {
    Host host;
    Qp a(host);
    Qp b(host);
    EXPECT_EQ(a.send(1, {host.sge(0, 8)}), EINVAL) << "before RTS";
    a.connect(b.address());
    b.connect(a.address());
    EXPECT_EQ(a.send(1, std::vector<ibv_sge>(5, host.sge(0, 8))), EINVAL) << "segments";
    EXPECT_EQ(a.send(1, {host.sge(0, 2000)}, IBV_SEND_INLINE), EINVAL) << "inline length";
    EXPECT_EQ(a.rdma(1, IBV_WR_BIND_MW, {}, 0, 0), EINVAL) << "opcode";
    EXPECT_EQ(a.init(), EINVAL) << "RTS to INIT";
    EXPECT_EQ(ibv_reg_mr(host.pd, nullptr, 4096, kAllAccess), nullptr);
    const int without_local_write = IBV_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(ibv_reg_mr(host.pd, host.buffer.data(), 8, without_local_write), nullptr);
    EXPECT_EQ(ibv_destroy_cq(host.cq), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(host.pd), EBUSY);
}

TEST_P(VerbsErrors, ACallThatReturnsAnErrorNumberSetsErrnoToo) {
    Options options;
    options.channel = options.shared_receives = true;
    Host host(options);
    Qp qp(host);
    ibv_context* context = host.context;
    const auto fails = [](int cause, const auto& call) {
        errno = 0;
        EXPECT_EQ(call(), cause);
        EXPECT_EQ(errno, cause);
    };
    fails(EBUSY, [&] { return ibv_dealloc_pd(host.pd); });
    fails(EBUSY, [&] { return ibv_destroy_cq(host.cq); });
    fails(EBUSY, [&] { return ibv_destroy_srq(host.srq); });
    fails(EBUSY, [&] { return ibv_destroy_comp_channel(host.channel); });
    fails(EINVAL, [&] { return ibv_resize_cq(host.cq, 0); });
    ibv_srq_attr shared{};
    fails(EINVAL, [&] { return ibv_modify_srq(host.srq, &shared, IBV_SRQ_MAX_WR); });
    fails(EINVAL, [&] { return qp.ready_to_send(); });
    ibv_port_attr port;
    fails(EINVAL, [&] { return ibv_query_port(context, 2, &port); });
    ibv_gid_entry gid;
    fails(ENODATA, [&] { return ibv_query_gid_ex(context, 1, 1, &gid, 0); });
    ibv_ece ece{1, 1, 0};
    fails(EOPNOTSUPP, [&] { return ibv_set_ece(qp.get(), &ece); });
    fails(EINVAL, [&] { return qp.send(1, {host.sge(0, 8)}); });
    ibv_mw* window = ibv_alloc_mw(host.pd, IBV_MW_TYPE_1);
    ibv_mw_bind bind{};
    bind.bind_info = {host.mr, host.address(), 8, IBV_ACCESS_ZERO_BASED};
    fails(EINVAL, [&] { return ibv_bind_mw(qp.get(), window, &bind); });
    for (const auto& [handle, destroy] :
         std::vector<std::pair<std::uint32_t*, std::function<int()>>>{
             {&window->handle, [&] { return ibv_dealloc_mw(window); }},
             {&host.mr->handle, [&] { return ibv_dereg_mr(host.mr); }},
             {&host.pd->handle, [&] { return ibv_dealloc_pd(host.pd); }},
             {&host.cq->handle, [&] { return ibv_destroy_cq(host.cq); }},
             {&host.srq->handle, [&] { return ibv_destroy_srq(host.srq); }},
             {&qp.get()->handle, [&] { return ibv_destroy_qp(qp.get()); }}}) {
        const std::uint32_t known = std::exchange(*handle, ~*handle);
        fails(ENOENT, destroy);
        *handle = known;
    }
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

}  // namespace
}  // namespace test
