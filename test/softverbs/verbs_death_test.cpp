// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that are killed in the middle of traffic, and those that survive.

#include <cstdio>
#include <random>
#include <set>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsDeath : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsDeath);

/// Sends as fast as receives are posted, with sizes that take every path, until it is killed.
[[noreturn]] void send_for_ever(Channel& channel) {
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(channel);
    for (std::uint32_t i = 0;; ++i) {
        const std::uint32_t sizes[] = {8, 200, 3000, 70000};
        qp.send(1, {host.sge(0, sizes[i % 4])});
        qp.atomic(2, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address, peer.rkey, 1);
        for (int done = 0; done < 2; ++done) host.wait();
    }
}

/// Sends a steady stream that must not be disturbed.
void send_counted(Channel& channel, int count) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    for (int i = 0; i < count; ++i) {
        require(qp.send(1, {host.sge(0, i % 2 ? 8 : 3000)}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    }
    channel.meet();
}

TEST_P(VerbsDeath, AKilledPeerBreaksItsQueuePairWithinASecondAndLosesNoReceive) {
    std::mt19937 random(1);
    Clock::duration longest{};
    for (int moment = 0; moment < scaled(12); ++moment) {
        Child child(send_for_ever);
        Host host;
        Qp qp(host);
        std::set<std::uint64_t> posted;
        for (std::uint64_t i = 0; i < 16; ++i) {
            ASSERT_EQ(qp.post_receive(i, {host.sge(4096 + i * 80000, 80000)}), 0);
            posted.insert(i);
        }
        qp.connect(child.channel());
        const auto end = Clock::now() + std::chrono::microseconds(random() % 20000);
        for (std::uint64_t id = 16; Clock::now() < end;) {
            ibv_wc wc;
            if (ibv_poll_cq(host.cq, 1, &wc) != 1) continue;
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
            ASSERT_EQ(posted.erase(wc.wr_id), 1u);
            ASSERT_EQ(qp.post_receive(id, {host.sge(4096 + id % 16 * 80000, 80000)}), 0);
            posted.insert(id++);
        }
        child.kill();
        const auto killed = Clock::now();
        bool flushed = false;
        while (!posted.empty()) {
            const ibv_wc wc = host.wait();
            flushed = flushed || wc.status == IBV_WC_WR_FLUSH_ERR;
            ASSERT_EQ(wc.status, flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
            ASSERT_EQ(posted.erase(wc.wr_id), 1u) << "each receive completes once";
        }
        EXPECT_TRUE(eventually([&] { return qp.state() == IBV_QPS_ERR; }));
        longest = std::max(longest, Clock::now() - killed);
        EXPECT_TRUE(host.is_empty());
        qp.send(9, {host.sge(0, 8)});
        EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR);
    }
    std::printf("# at most %lld ms from the kill to the error state\n",
                static_cast<long long>(longest / 1ms));
}

TEST_P(VerbsDeath, RequestsToAKilledPeerFail) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        for (;;) pause();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    qp.send(1, {host.sge(0, 8)});  // waits for a receive
    qp.send(2, {host.sge(0, 8)});
    EXPECT_TRUE(host.is_empty());
    child.kill();
    const ibv_wc first = host.wait();
    EXPECT_EQ(first.wr_id, 1u);
    EXPECT_EQ(first.status, IBV_WC_RETRY_EXC_ERR);
    const ibv_wc second = host.wait();
    EXPECT_EQ(second.wr_id, 2u);
    EXPECT_EQ(second.status, IBV_WC_WR_FLUSH_ERR);
    qp.rdma(3, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR);
    ASSERT_TRUE(is_readable(host.context->async_fd));
    ibv_async_event event;
    ASSERT_EQ(ibv_get_async_event(host.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
    ibv_ack_async_event(&event);
}

TEST_P(VerbsDeath, APeerThatLeavesInOrderDoesNotDisturbAnIdleQueuePair) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        qp.send(1, {host.sge(0, 8)});
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    });
    Host host;
    Qp qp(host);
    qp.post_receive(1, {host.sge(0, 8)});
    qp.post_receive(2, {host.sge(0, 8)});
    qp.connect(child.channel());
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_FALSE(eventually([&] { return !host.is_empty(); }, 600ms));
    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
    qp.send(3, {host.sge(0, 8)});
    EXPECT_EQ(host.wait().status, IBV_WC_RETRY_EXC_ERR);
}

/// Kills victims one after the other while a third process continues on the same completion queue
/// and, if `shared`, on the same shared receive queue.
void survive(bool shared) {
    const int count = scaled(4000);
    Child steady([count](Channel& channel) { send_counted(channel, count); });
    std::vector<std::unique_ptr<Child>> victims;
    for (int i = 0; i < 6; ++i) victims.push_back(std::make_unique<Child>(send_for_ever));
    Options options;
    options.shared_receives = shared;
    options.cq_entries = 4096;
    options.depth = 64;
    Host host(options);
    Qp steady_qp(host);
    // The memory of the victims' receives, 100 to 115, follows that of the steady sender's.
    const auto place = [&host](std::uint64_t id) {
        return host.sge(4096 + (id < 100 ? id : id - 68) * 80000, 80000);
    };
    for (std::uint64_t i = 0; i < 32; ++i) steady_qp.post_receive(i, {place(i)});
    steady_qp.connect(steady.channel());
    std::mt19937 random(2);
    int received = 0;
    const auto take = [&](const ibv_wc& wc, Qp& other) {
        if (wc.qp_num == steady_qp.get()->qp_num) {
            require(wc.status == IBV_WC_SUCCESS, "the steady stream is not disturbed");
            ++received;
            steady_qp.post_receive(wc.wr_id, {place(wc.wr_id)});
        } else if (shared || wc.status == IBV_WC_SUCCESS) {
            other.post_receive(wc.wr_id, {place(wc.wr_id)});
        }
    };
    for (const auto& child : victims) {
        Qp qp(host);
        if (!shared) {
            for (std::uint64_t i = 100; i < 116; ++i) qp.post_receive(i, {place(i)});
        }
        qp.connect(child->channel());
        const auto end = Clock::now() + std::chrono::microseconds(random() % 10000);
        ibv_wc wc;
        while (Clock::now() < end)
            if (ibv_poll_cq(host.cq, 1, &wc) == 1) take(wc, qp);
        child->kill();
        require(eventually([&] {
                    while (ibv_poll_cq(host.cq, 1, &wc) == 1) take(wc, qp);
                    return qp.state() == IBV_QPS_ERR;
                }),
                "the victim's queue pair breaks");
    }
    while (received < count) take(host.wait(), steady_qp);
    steady.channel().meet();
    require(steady.wait() == 0, "the steady sender is content");
}

TEST_P(VerbsDeath, OthersOnTheSameCompletionQueueGoOn) {
    survive(false);
}

TEST_P(VerbsDeath, OthersOnTheSameSharedReceiveQueueGoOn) {
    survive(true);
}

}  // namespace
}  // namespace test
