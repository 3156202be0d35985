// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Datagram queue pairs whose peers die, stop, or never existed.
#include <signal.h>
#include <sys/syscall.h>

#include <random>
#include <set>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "test/softverbs/datagram_pair.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

class VerbsDatagramDeath : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

constexpr std::size_t kStride = 8192;

/// The queue pair number and LID of a multicast group.
constexpr std::uint32_t kGroupQp = 0xffffff;
constexpr std::uint16_t kGroupLid = 0xc001;
union ibv_gid group_gid() {
    union ibv_gid gid {};
    gid.raw[0] = 0xff;
    return gid;
}

ibv_ah* group_handle(Host& host, Datagrams& qp) {
    ibv_ah_attr attributes{};
    attributes.port_num = 1;
    attributes.dlid = kGroupLid;
    attributes.is_global = 1;
    attributes.grh.dgid = group_gid();
    return qp.keep(ibv_create_ah(host.pd, &attributes));
}

/// Sends until it is killed, to a queue pair or to the group.
void flood(Channel& channel) {
    Host host;
    Datagrams qp(host);
    const auto to = channel.receive<std::uint32_t>();
    ibv_ah* const by = to == kGroupQp ? group_handle(host, qp) : qp.handle(true);
    channel.send('s');
    for (;;) {
        require(qp.send(1, {host.sge(0, kMtu)}, {.to = to, .by = by}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    }
}

/// Sends numbered messages and repeats each until it is answered, because a datagram is lost while
/// the flood has consumed all receives.
void ask(Channel& channel) {
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    const auto to = channel.receive<std::uint32_t>();
    qp.receive(0, {host.sge(kStride, 256)});
    for (;;) {
        const auto number = channel.receive<std::uint32_t>();
        bool answered = false;
        const bool in_time = eventually([&] {
            const int posted =
                qp.send(1, {host.sge(0, 8)},
                        {.to = to, .by = by, .opcode = IBV_WR_SEND_WITH_IMM, .immediate = number});
            require(posted == 0, "asked");
            for (ibv_wc wc = host.wait(); wc.opcode == IBV_WC_RECV; wc = host.wait()) {
                answered = answered || wc.imm_data == number;
                qp.receive(0, {host.sge(kStride, 256)});
            }
            return answered;
        });
        require(in_time, "an answer comes");
        channel.send(number);
    }
}

Options with_receives(bool shared) {
    Options options;
    options.shared_receives = shared;
    return options;
}

/// Polls receives, answers messages that have immediate data, and posts each receive again.
class Server {
  public:
    explicit Server(bool shared = false) : host_(with_receives(shared)) {
        for (std::uint32_t i = 0; i < 64; ++i) post(i);
        by_ = qp_.handle();
    }
    ~Server() {
        const union ibv_gid gid = group_gid();
        ibv_detach_mcast(qp_.get(), &gid, kGroupLid);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    void join_group() {
        const union ibv_gid gid = group_gid();
        require(ibv_attach_mcast(qp_.get(), &gid, kGroupLid) == 0, "attached");
    }
    std::uint32_t number() const { return qp_.number(); }
    std::uint32_t floods() const { return floods_; }
    void serve() {
        ibv_wc wc;
        if (ibv_poll_cq(host_.cq, 1, &wc) != 1) return;
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        if (wc.opcode == IBV_WC_SEND) return;
        expect_receive(wc.wr_id);
        post(wc.wr_id);
        if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0) {
            ++floods_;
            return;
        }
        ASSERT_EQ(qp_.send(1, {host_.sge(0, 8)},
                           {.to = wc.src_qp,
                            .by = by_,
                            .opcode = IBV_WR_SEND_WITH_IMM,
                            .immediate = wc.imm_data}),
                  0);
    }

  private:
    /// Checks the order of receives, except for shared ones: one that a dead sender had claimed
    /// comes again last.
    void expect_receive(std::uint64_t id) {
        ASSERT_EQ(posted_.erase(id), 1u) << "each receive completes once";
        if (host_.srq) return;
        ASSERT_EQ(id, next_++ % 64) << "receives complete in order, none is left out";
    }
    void post(std::uint64_t id) {
        posted_.insert(id);
        ASSERT_EQ(qp_.receive(id, {host_.sge(id * kStride, kHeader + kMtu)}), 0);
    }
    Host host_;
    Datagrams qp_{host_};
    ibv_ah* by_ = nullptr;
    std::uint32_t floods_ = 0;
    std::uint64_t next_ = 0;
    std::set<std::uint64_t> posted_;
};

TEST_F(VerbsDatagramDeath, SendersThatAreKilledLeaveTheReceiverToTheOthers) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    std::mt19937 random(20);
    Child asker(ask);
    Server server;
    asker.channel().send(server.number());
    for (int round = 0; round < scaled(20); ++round) {
        Child victim(flood);
        victim.channel().send(server.number());
        victim.channel().receive<char>();
        const std::uint32_t enough = server.floods() + random() % 200;
        ASSERT_TRUE(eventually([&] {
            for (int i = 0; i < 256; ++i) server.serve();
            return server.floods() >= enough;
        }));
        victim.kill();
        asker.channel().send(std::uint32_t(round));
        ASSERT_TRUE(eventually([&] {
            for (int i = 0; i < 256; ++i) server.serve();
            return is_readable(asker.channel().input(), 0s);
        })) << "round "
            << round;
        ASSERT_EQ(asker.channel().receive<std::uint32_t>(), std::uint32_t(round));
        EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    }
}

FaultPoint deadly_point;
int passes_left;

void die_there(FaultPoint point) {
    if (point == deadly_point && --passes_left == 0)
        syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

/// Kills a sender at each of the points, in the middle of its traffic; others must still be served.
void expect_survival(bool shared, const std::vector<FaultPoint>& points, bool by_group = false) {
    Child asker(ask);
    Server server(shared);
    if (by_group) server.join_group();
    asker.channel().send(server.number());
    std::uint32_t round = 0;
    for (const FaultPoint point : points) {
        Child victim([&](Channel& channel) {
            deadly_point = point;
            passes_left = 7;
            softverbs::at_fault_point = die_there;
            flood(channel);
        });
        victim.channel().send(by_group ? kGroupQp : server.number());
        victim.channel().receive<char>();
        int status = -1;
        ASSERT_TRUE(eventually([&] {
            server.serve();
            status = victim.wait(0s);
            return status != -1;
        })) << "point "
            << static_cast<unsigned>(point);
        EXPECT_EQ(status, 128 + SIGKILL);
        asker.channel().send(++round);
        ASSERT_TRUE(eventually([&] {
            for (int i = 0; i < 256; ++i) server.serve();
            return is_readable(asker.channel().input(), 0s);
        })) << "point "
            << static_cast<unsigned>(point);
        ASSERT_EQ(asker.channel().receive<std::uint32_t>(), round);
    }
}

const std::vector<FaultPoint> kStores = {
    FaultPoint::kTransferMarked,    FaultPoint::kPayloadPlaced,
    FaultPoint::kCompletionClaimed, FaultPoint::kTailMoved,
    FaultPoint::kReceiveConsumed,   FaultPoint::kCompletionHalfWritten,
    FaultPoint::kCompletionWritten, FaultPoint::kCompletionPublished,
    FaultPoint::kTransferEnded};

TEST_F(VerbsDatagramDeath, ASenderThatDiesAtAnyOfItsStoresLeavesTheReceiverToTheOthers) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    expect_survival(false, kStores);
}

TEST_F(VerbsDatagramDeath, ASenderToAGroupThatDiesLeavesTheMembersToTheOthers) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    expect_survival(false, kStores, true);
}

/// There are more rounds than receives, so they would run out if each round lost one.
TEST_F(VerbsDatagramDeath, ASharedReceiveThatADeadSenderHadTakenServesAnother) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    std::vector<FaultPoint> points(70, FaultPoint::kSharedReceiveTaken);
    points.push_back(FaultPoint::kSharedHeadMoved);
    points.insert(points.end(), kStores.begin(), kStores.end());
    expect_survival(true, points);
}

TEST_F(VerbsDatagramDeath, WhatGoesToAProcessThatWasKilledIsLost) {
    Child child([](Channel& channel) {
        Host host;
        Datagrams qp(host);
        qp.receive(1, {host.sge(0, 256)});
        channel.send(qp.number());
        require(host.wait().opcode == IBV_WC_RECV, "the first arrives");
        channel.send('r');
        channel.receive<char>();
    });
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    const auto to = child.channel().receive<std::uint32_t>();
    const auto sends = [&] {
        ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = to, .by = by}), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    };
    sends();
    child.channel().receive<char>();
    child.kill();
    for (int i = 0; i < 100; ++i) sends();
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
    for (int i = 0; i < 100; ++i) sends();
    EXPECT_EQ(qp.state(), IBV_QPS_RTS);
}

/// A process that is stopped before it has a link cannot answer; messages to others must get
/// through.
TEST_F(VerbsDatagramDeath, AStoppedProcessHoldsUpNobodyForLong) {
    const auto receive_one = [](Channel& channel) {
        Host host;
        Datagrams qp(host);
        qp.receive(1, {host.sge(0, 256)});
        channel.send(qp.number());
        require(host.wait().opcode == IBV_WC_RECV, "a message arrives");
        channel.send('r');
    };
    Child stopped(receive_one);
    Child living(receive_one);
    Host host;
    Datagrams qp(host);
    ibv_ah* const by = qp.handle();
    const auto silent = stopped.channel().receive<std::uint32_t>();
    const auto other = living.channel().receive<std::uint32_t>();
    stopped.kill(SIGSTOP);
    ASSERT_EQ(qp.send(1, {host.sge(0, 8)}, {.to = silent, .by = by}), 0);
    ASSERT_EQ(qp.send(2, {host.sge(0, 8)}, {.to = other, .by = by}), 0);
    EXPECT_EQ(host.wait().wr_id, 1u);
    EXPECT_EQ(host.wait().wr_id, 2u);
    living.channel().receive<char>();
    EXPECT_EQ(living.wait(), 0);
    stopped.kill(SIGCONT);
    // The process is found once it continues.
    EXPECT_TRUE(eventually([&] {
        const int posted = qp.send(3, {host.sge(0, 8)}, {.to = silent, .by = by});
        return posted == 0 && host.wait().wr_id == 3 && is_readable(stopped.channel().input(), 0s);
    }));
    EXPECT_EQ(stopped.wait(), 0);
}

}  // namespace
}  // namespace test
