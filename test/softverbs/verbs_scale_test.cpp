// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Many queue pairs with few descriptors, and both ends on one processor.
#include <sched.h>
#include <sys/resource.h>

#include <cstdio>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsScale : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsScale);

constexpr int kQps = 2500;

void connect_many(Channel& channel, Host& host, std::vector<std::unique_ptr<Qp>>& qps) {
    for (int i = 0; i < kQps; ++i) qps.push_back(std::make_unique<Qp>(host));
    for (auto& qp : qps) channel.send(qp->address());
    std::vector<Address> peers(kQps);
    for (Address& peer : peers) peer = channel.receive<Address>();
    for (int i = 0; i < kQps; ++i) qps[i]->connect(peers[i]);
    channel.meet();
}

void allow_descriptors(rlim_t count) {
    const rlimit limit{count, count};
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit is set");
}

TEST_P(VerbsScale, ThousandsOfQueuePairsNeedNoDescriptorsOfTheirOwn) {
    Options options;
    options.depth = 4;
    options.sges = 1;
    options.cq_entries = 4 * kQps;
    const auto talk = [options](Channel& channel, bool sender) {
        allow_descriptors(1024);
        Host host(options);
        std::vector<std::unique_ptr<Qp>> qps;
        connect_many(channel, host, qps);
        for (int i = 0; i < kQps; ++i) {
            if (sender)
                qps[i]->send(i, {host.sge(0, 64)});
            else
                qps[i]->post_receive(i, {host.sge(0, 64)});
        }
        for (int i = 0; i < kQps; ++i)
            require(host.wait().status == IBV_WC_SUCCESS, "every queue pair works");
        channel.meet();
    };
    // The limit applies to two children; the parent relays what they send each other.
    Child first([&](Channel& channel) { talk(channel, true); });
    Child second([&](Channel& channel) { talk(channel, false); });
    for (int i = 0; i < kQps; ++i) {
        second.channel().send(first.channel().receive<Address>());
        first.channel().send(second.channel().receive<Address>());
    }
    for (int meeting = 0; meeting < 2; ++meeting) {
        first.channel().receive<char>();
        second.channel().receive<char>();
        first.channel().send('m');
        second.channel().send('m');
    }
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

void pin_to_one_processor() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    require(sched_setaffinity(0, sizeof allowed, &allowed) == 0, "pinned");
}

void ping_pong(Host& host, Qp& qp, int rounds, bool begins) {
    if (begins) qp.send(1, {host.sge(0, 64)}, 0);
    for (int received = 0; received < rounds;) {
        const ibv_wc wc = host.wait();
        require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
        if (wc.opcode != IBV_WC_RECV) continue;
        ++received;
        qp.post_receive(1, {host.sge(0, 64)});
        if (received < rounds || !begins)
            qp.send(1, {host.sge(0, 64)}, received % 32 ? 0 : IBV_SEND_SIGNALED);
    }
}

TEST_P(VerbsScale, BothEndsPollingOnOneProcessorGiveEachOtherTheirTurn) {
    const int rounds = scaled(2000);
    Child child([rounds](Channel& channel) {
        pin_to_one_processor();
        Host host;
        Qp qp(host);
        for (int i = 0; i < 8; ++i) qp.post_receive(1, {host.sge(0, 64)});
        qp.connect(channel);
        ping_pong(host, qp, rounds, false);
        channel.meet();
    });
    Child other([rounds](Channel& channel) {
        pin_to_one_processor();
        Host host;
        Qp qp(host);
        for (int i = 0; i < 8; ++i) qp.post_receive(1, {host.sge(0, 64)});
        qp.connect(channel);
        const auto begin = Clock::now();
        ping_pong(host, qp, rounds, true);
        channel.send((Clock::now() - begin) / rounds);
        channel.meet();
    });
    other.channel().send(child.channel().receive<Address>());
    child.channel().send(other.channel().receive<Address>());
    for (Child* each : {&child, &other}) each->channel().receive<char>();
    for (Child* each : {&child, &other}) each->channel().send('m');
    const auto round = other.channel().receive<Clock::duration>();
    std::printf("# %.1f us for each round trip on one processor\n",
                std::chrono::duration<double, std::micro>(round).count());
    for (Child* each : {&child, &other}) each->channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(other.wait(), 0);
}

}  // namespace
}  // namespace test
