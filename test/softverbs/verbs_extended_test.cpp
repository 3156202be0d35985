// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Extended completion queues and queue pairs: ibv_create_cq_ex, ibv_create_qp_ex, and the calls by
/// which a program builds sends one by one.

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsExtended : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsExtended);

constexpr std::uint64_t kAllSends = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                    IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                                    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

ibv_cq_ex* make_cq(Host& host, std::uint64_t wc_flags = IBV_WC_STANDARD_FLAGS,
                   std::uint32_t flags = 0) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 256;
    attributes.cq_context = &host;
    attributes.wc_flags = wc_flags;
    attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    attributes.flags = flags;
    return ibv_create_cq_ex(host.context, &attributes);
}

ibv_qp_init_attr_ex wishes(Host& host, ibv_cq* cq) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.cap = {64, 64, 4, 4, 128};
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = host.pd;
    attributes.send_ops_flags = kAllSends;
    return attributes;
}

Options with_windows() {
    Options options;
    options.access = kAllAccess | IBV_ACCESS_MW_BIND;
    return options;
}

/// A host with a completion queue and a queue pair of the extended kinds.
struct End {
    explicit End(std::uint32_t cq_flags = 0)
        : host(with_windows()),
          cq(make_cq(host, IBV_WC_STANDARD_FLAGS, cq_flags)),
          qp(make()),
          ex(ibv_qp_to_qp_ex(qp->get())) {
        require(ex != nullptr, "it has the extended calls");
    }
    ~End() {
        qp.reset();
        ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
    }
    std::unique_ptr<Qp> make() {
        require(cq != nullptr, "an extended completion queue is made");
        ibv_qp_init_attr_ex attributes = wishes(host, ibv_cq_ex_to_cq(cq));
        return std::make_unique<Qp>(host, ibv_create_qp_ex(host.context, &attributes));
    }
    /// Waits for a completion and leaves the poll open.
    void start() {
        ibv_poll_cq_attr attributes{};
        const auto end = Clock::now() + kDeadline;
        for (int cause; (cause = ibv_start_poll(cq, &attributes)) != 0;) {
            require(cause == ENOENT, "an empty queue says so");
            require(Clock::now() < end, "a completion arrives in time");
        }
    }
    ibv_wc_status wait(std::uint64_t id) {
        start();
        const ibv_wc_status status = cq->status;
        const std::uint64_t found = cq->wr_id;
        ibv_end_poll(cq);
        require(found == id, "the completion is of the request");
        return status;
    }
    /// Sets the work request id and flags that the next operation takes.
    void number(std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
        ex->wr_id = id;
        ex->wr_flags = flags;
    }

    Host host;
    ibv_cq_ex* cq;
    std::unique_ptr<Qp> qp;
    ibv_qp_ex* ex;
};

constexpr std::size_t kWritten = 4096;
constexpr std::size_t kCounter = 8192;
constexpr std::size_t kRead = 16384;

struct Received {
    std::uint64_t id;
    ibv_wc_opcode opcode;
    std::uint32_t length, imm, qp_num, src_qp;
    unsigned flags;
};

Received read_completion(ibv_cq_ex* cq) {
    return {cq->wr_id,
            ibv_wc_read_opcode(cq),
            ibv_wc_read_byte_len(cq),
            ibv_wc_read_imm_data(cq),
            ibv_wc_read_qp_num(cq),
            ibv_wc_read_src_qp(cq),
            ibv_wc_read_wc_flags(cq)};
}

/// Receives three messages and reports each completion.
void receive_three(Channel& channel) {
    End end;
    for (std::uint64_t id = 1; id <= 3; ++id)
        require(end.qp->post_receive(id, {end.host.sge(id * 64, 64)}) == 0, "posted");
    const Address peer = end.qp->connect(channel);
    for (int i = 0; i < 3; ++i) {
        end.start();
        require(end.cq->status == IBV_WC_SUCCESS, "received");
        const Received received = read_completion(end.cq);
        require(received.qp_num == end.qp->get()->qp_num && received.src_qp == peer.qp_num,
                "the queue pairs are named");
        require(ibv_wc_read_vendor_err(end.cq) == 0 && ibv_wc_read_sl(end.cq) == 0, "no more");
        ibv_end_poll(end.cq);
        channel.send(received);
    }
    channel.meet();
    channel.send(holds(&end.host.buffer[64], 40, 1));
    channel.send(holds(&end.host.buffer[128], 48, 2));
    channel.send(holds(&end.host.buffer[kWritten], 1000, 3));
    std::uint64_t counter;
    std::memcpy(&counter, &end.host.buffer[kCounter], sizeof counter);
    channel.send(counter);
}

TEST_P(VerbsExtended, SendsBuiltOneByOneArriveAsThoseOfPostSend) {
    Child child(receive_three);
    End end;
    const Address peer = end.qp->connect(child.channel());
    auto& buffer = end.host.buffer;
    fill(&buffer[0], 40, 1);
    std::uint8_t text[48];
    fill(text, sizeof text, 2);
    fill(&buffer[kWritten], 1000, 3);
    ibv_wr_start(end.ex);
    end.number(1, 0);
    ibv_wr_send(end.ex);
    const ibv_sge parts[] = {end.host.sge(0, 16), end.host.sge(16, 24)};
    ibv_wr_set_sge_list(end.ex, 2, parts);
    end.number(2, 0);
    ibv_wr_send_imm(end.ex, 77);
    const ibv_data_buf pieces[] = {{text, 8}, {text + 8, 40}};
    ibv_wr_set_inline_data_list(end.ex, 2, pieces);
    end.number(3, 0);
    ibv_wr_rdma_write(end.ex, peer.rkey, peer.address + kWritten);
    ibv_wr_set_sge(end.ex, end.host.mr->lkey, end.host.address(kWritten), 1000);
    end.number(4);
    ibv_wr_rdma_write_imm(end.ex, peer.rkey, peer.address + kCounter, 99);
    const std::uint64_t start = 40;
    ibv_wr_set_inline_data(end.ex, const_cast<std::uint64_t*>(&start), sizeof start);
    std::memset(text, 0, sizeof text);
    ASSERT_EQ(ibv_wr_complete(end.ex), 0);
    EXPECT_EQ(end.wait(4), IBV_WC_SUCCESS);

    ibv_wr_start(end.ex);
    end.number(5);
    ibv_wr_atomic_fetch_add(end.ex, peer.rkey, peer.address + kCounter, 2);
    ibv_wr_set_sge(end.ex, end.host.mr->lkey, end.host.address(kRead), 8);
    end.number(6);
    ibv_wr_atomic_cmp_swp(end.ex, peer.rkey, peer.address + kCounter, 42, 1000);
    ibv_wr_set_sge(end.ex, end.host.mr->lkey, end.host.address(kRead + 8), 8);
    end.number(7);
    ibv_wr_rdma_read(end.ex, peer.rkey, peer.address + kCounter);
    ibv_wr_set_sge(end.ex, end.host.mr->lkey, end.host.address(kRead + 16), 8);
    ASSERT_EQ(ibv_wr_complete(end.ex), 0);
    for (const std::uint64_t id : {5, 6, 7}) EXPECT_EQ(end.wait(id), IBV_WC_SUCCESS);
    std::uint64_t words[3];
    std::memcpy(words, &buffer[kRead], sizeof words);
    EXPECT_EQ(words[0], 40u);
    EXPECT_EQ(words[1], 42u);
    EXPECT_EQ(words[2], 1000u);

    const auto first = child.channel().receive<Received>();
    EXPECT_EQ(first.opcode, IBV_WC_RECV);
    EXPECT_EQ(first.length, 40u);
    EXPECT_EQ(first.flags, 0u);
    const auto second = child.channel().receive<Received>();
    EXPECT_EQ(second.length, 48u);
    EXPECT_EQ(second.imm, 77u);
    EXPECT_EQ(second.flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
    const auto third = child.channel().receive<Received>();
    EXPECT_EQ(third.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(third.id, 3u);
    EXPECT_EQ(third.imm, 99u);
    child.channel().meet();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(child.channel().receive<bool>()) << i;
    EXPECT_EQ(child.channel().receive<std::uint64_t>(), 1000u);
    EXPECT_EQ(child.wait(), 0);
}

/// A queue pair that is connected to itself needs no second process.
struct Loop : End {
    explicit Loop(std::uint32_t cq_flags = 0) : End(cq_flags) { qp->connect(qp->address()); }
    std::uint8_t* written() { return &host.buffer[kWritten]; }
    void write(std::uint64_t id, std::size_t length = 8) {
        number(id);
        ibv_wr_rdma_write(ex, host.mr->rkey, host.address(kWritten));
        ibv_wr_set_sge(ex, host.mr->lkey, host.address(), static_cast<std::uint32_t>(length));
    }
};

TEST_P(VerbsExtended, AFaultInTheListPostsNothingOfIt) {
    Loop loop;
    fill(loop.host.buffer.data(), 8, 1);
    std::uint8_t large[129] = {};
    const std::vector<ibv_sge> five(5, loop.host.sge(0, 1));
    const std::function<void()> faults[] = {
        [&] { ibv_wr_set_inline_data(loop.ex, large, sizeof large); },
        [&] { ibv_wr_set_sge_list(loop.ex, five.size(), five.data()); },
        [&] {
            for (int i = 0; i < 64; ++i) loop.write(2);
        },
        [&] {
            ibv_wr_rdma_read(loop.ex, loop.host.mr->rkey, loop.host.address());
            ibv_wr_set_inline_data(loop.ex, large, 8);
        },
    };
    for (const auto& fault : faults) {
        ibv_wr_start(loop.ex);
        loop.write(1);
        fault();
        EXPECT_NE(ibv_wr_complete(loop.ex), 0);
    }
    ibv_wr_start(loop.ex);
    loop.write(1);
    ibv_wr_send_tso(loop.ex, large, 8, 1024);
    EXPECT_EQ(ibv_wr_complete(loop.ex), EOPNOTSUPP);
    ibv_wr_start(loop.ex);
    loop.write(1);
    ibv_wr_abort(loop.ex);
    ibv_poll_cq_attr attributes{};
    EXPECT_EQ(ibv_start_poll(loop.cq, &attributes), ENOENT);
    EXPECT_FALSE(holds(loop.written(), 8, 1));

    ibv_wr_start(loop.ex);
    EXPECT_EQ(ibv_wr_complete(loop.ex), 0) << "a list of none is posted";
    ibv_wr_start(loop.ex);
    loop.write(9);
    EXPECT_EQ(ibv_wr_complete(loop.ex), 0);
    EXPECT_EQ(loop.wait(9), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(loop.written(), 8, 1));
}

TEST_P(VerbsExtended, NextPollGivesOneCompletionAfterTheOther) {
    for (const std::uint32_t flags : {0, int(IBV_CREATE_CQ_ATTR_SINGLE_THREADED)}) {
        Loop loop(flags);
        ibv_wr_start(loop.ex);
        for (std::uint64_t id = 1; id <= 3; ++id) loop.write(id);
        ASSERT_EQ(ibv_wr_complete(loop.ex), 0);
        ibv_poll_cq_attr attributes{};
        attributes.comp_mask = 1;
        EXPECT_EQ(ibv_start_poll(loop.cq, &attributes), EINVAL);
        loop.start();
        EXPECT_EQ(loop.cq->wr_id, 1u);
        for (std::uint64_t id = 2; id <= 3; ++id) {
            ASSERT_TRUE(eventually([&] { return ibv_next_poll(loop.cq) == 0; }));
            EXPECT_EQ(loop.cq->wr_id, id);
            EXPECT_EQ(loop.cq->status, IBV_WC_SUCCESS);
            EXPECT_EQ(ibv_wc_read_opcode(loop.cq), IBV_WC_RDMA_WRITE);
        }
        EXPECT_EQ(ibv_next_poll(loop.cq), ENOENT);
        ibv_end_poll(loop.cq);
        // ibv_poll_cq works on the same queue.
        ibv_wr_start(loop.ex);
        loop.write(4);
        ASSERT_EQ(ibv_wr_complete(loop.ex), 0);
        ibv_wc wc;
        ASSERT_TRUE(eventually([&] { return ibv_poll_cq(ibv_cq_ex_to_cq(loop.cq), 1, &wc) == 1; }));
        EXPECT_EQ(wc.wr_id, 4u);
    }
}

TEST_P(VerbsExtended, WindowsAreBoundAndInvalidatedByBuiltSends) {
    Loop loop;
    ibv_mw* const window = ibv_alloc_mw(loop.host.pd, IBV_MW_TYPE_2);
    ASSERT_TRUE(window);
    const auto bind = [&](std::uint64_t id) {
        window->rkey = ibv_inc_rkey(window->rkey);
        const ibv_mw_bind_info info = {loop.host.mr, loop.host.address(kWritten), 64,
                                       IBV_ACCESS_REMOTE_WRITE};
        loop.number(id);
        ibv_wr_bind_mw(loop.ex, window, window->rkey, &info);
    };
    fill(loop.host.buffer.data(), 8, 5);
    ibv_wr_start(loop.ex);
    bind(1);
    loop.number(2);
    ibv_wr_rdma_write(loop.ex, window->rkey, loop.host.address(kWritten));
    ibv_wr_set_sge(loop.ex, loop.host.mr->lkey, loop.host.address(), 8);
    loop.number(3);
    ibv_wr_local_inv(loop.ex, window->rkey);
    ASSERT_EQ(ibv_wr_complete(loop.ex), 0);
    for (const std::uint64_t id : {1, 2, 3}) EXPECT_EQ(loop.wait(id), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(loop.written(), 8, 5));

    ASSERT_EQ(loop.qp->post_receive(10, {loop.host.sge(256, 64)}), 0);
    ibv_wr_start(loop.ex);
    bind(4);
    loop.number(5, 0);
    ibv_wr_send_inv(loop.ex, window->rkey);
    ibv_wr_set_sge(loop.ex, loop.host.mr->lkey, loop.host.address(), 8);
    ASSERT_EQ(ibv_wr_complete(loop.ex), 0);
    EXPECT_EQ(loop.wait(4), IBV_WC_SUCCESS);
    loop.start();
    EXPECT_EQ(loop.cq->wr_id, 10u);
    EXPECT_EQ(ibv_wc_read_wc_flags(loop.cq), static_cast<unsigned>(IBV_WC_WITH_INV));
    EXPECT_EQ(ibv_wc_read_invalidated_rkey(loop.cq), window->rkey);
    ibv_end_poll(loop.cq);

    ibv_mw* const other = ibv_alloc_mw(loop.host.pd, IBV_MW_TYPE_1);
    const ibv_mw_bind_info info = {loop.host.mr, loop.host.address(), 8, 0};
    ibv_wr_start(loop.ex);
    loop.number(6);
    ibv_wr_bind_mw(loop.ex, other, ibv_inc_rkey(other->rkey), &info);
    EXPECT_EQ(ibv_wr_complete(loop.ex), EINVAL);
    EXPECT_EQ(ibv_dealloc_mw(other), 0);
    loop.qp.reset();
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_P(VerbsExtended, ThreadsThatBuildAndPollAtTheSameTimeDisturbNobody) {
    Loop loop;
    constexpr int kThreads = 4;
    const int rounds = scaled(200);
    std::vector<Thread> threads;
    std::atomic<int> failures{0};
    std::atomic<int> seen{0};
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < rounds; ++i) {
                ibv_wr_start(loop.ex);
                loop.write(100 + t);
                loop.write(200 + t);
                failures += ibv_wr_complete(loop.ex) != 0;
                // Polls as many completions as it has posted, its own or another thread's.
                for (int taken = 0; taken < 2;) {
                    ibv_poll_cq_attr attributes{};
                    if (ibv_start_poll(loop.cq, &attributes) != 0) continue;
                    failures += loop.cq->status != IBV_WC_SUCCESS;
                    failures += ibv_wc_read_opcode(loop.cq) != IBV_WC_RDMA_WRITE;
                    ibv_end_poll(loop.cq);
                    ++taken;
                    ++seen;
                }
            }
        });
    }
    for (Thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(seen, kThreads * rounds * 2);
}

TEST_P(VerbsExtended, WhatTheDeviceLacksIsRefusedWhenAQueueIsMade) {
    Host host;
    for (const std::uint64_t flag :
         {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
        errno = 0;
        EXPECT_EQ(make_cq(host, flag), nullptr);
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
    errno = 0;
    EXPECT_EQ(make_cq(host, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.comp_mask = 1u << 31;
    EXPECT_EQ(ibv_create_cq_ex(host.context, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attributes.comp_mask = 0;
    for (const std::uint32_t cqe : {0u, 0x80000000u, 0xffffffffu}) {
        attributes.cqe = cqe;
        EXPECT_EQ(ibv_create_cq_ex(host.context, &attributes), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    attributes.cqe = 16;
    attributes.comp_vector = 1;
    EXPECT_EQ(ibv_create_cq_ex(host.context, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_P(VerbsExtended, WhatTheDeviceLacksIsRefusedWhenAQueuePairIsMade) {
    Host host;
    const auto refusal = [&](const ibv_qp_init_attr_ex& attributes) {
        ibv_qp_init_attr_ex copy = attributes;
        errno = 0;
        EXPECT_EQ(ibv_create_qp_ex(host.context, &copy), nullptr);
        return errno;
    };
    ibv_qp_init_attr_ex asked = wishes(host, host.cq);
    asked.send_ops_flags = IBV_QP_EX_WITH_TSO;
    EXPECT_EQ(refusal(asked), EOPNOTSUPP);
    asked.send_ops_flags = std::uint64_t{1} << 40;
    EXPECT_EQ(refusal(asked), EOPNOTSUPP);
    asked = wishes(host, host.cq);
    asked.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
    asked.create_flags = IBV_QP_CREATE_SCATTER_FCS;
    EXPECT_EQ(refusal(asked), EOPNOTSUPP);
    asked = wishes(host, host.cq);
    asked.comp_mask &= ~static_cast<std::uint32_t>(IBV_QP_INIT_ATTR_PD);
    EXPECT_EQ(refusal(asked), EINVAL);
    asked = wishes(host, host.cq);
    asked.qp_type = IBV_QPT_XRC_RECV;
    EXPECT_EQ(refusal(asked), EOPNOTSUPP) << "it sends nothing";

    asked = wishes(host, host.cq);
    asked.comp_mask = IBV_QP_INIT_ATTR_PD;
    ibv_qp* const plain = ibv_create_qp_ex(host.context, &asked);
    ASSERT_TRUE(plain);
    EXPECT_EQ(ibv_qp_to_qp_ex(plain), nullptr) << "no send operations were asked for";
    EXPECT_EQ(ibv_destroy_qp(plain), 0);
}

}  // namespace
}  // namespace test
