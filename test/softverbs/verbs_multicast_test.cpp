// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Multicast groups of datagram queue pairs: who gets a copy of a message, and what becomes of a
/// group whose members leave or die.
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "providers/soft/softverbs/fabric/process.hpp"
#include "test/softverbs/datagram_pair.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

/// Set before anything asks how many there are.
const bool kAreSet =
    setenv("SOFTVERBS_DEVICES", "2", 1) == 0 && setenv("SOFTVERBS_PORTS", "2", 1) == 0;

class VerbsMulticast : public testing::Test {
  protected:
    VerbsMulticast() { require(kAreSet, "the settings are set"); }
    TemporaryFabric fabric_;
};

constexpr std::uint32_t kGroupQp = 0xffffff;
constexpr std::size_t kStride = 8192;

struct Group {
    union ibv_gid gid {};
    std::uint16_t lid = 0xc123;

    explicit Group(unsigned number = 1) {
        gid.raw[0] = 0xff;
        gid.raw[1] = 0x12;
        gid.raw[14] = static_cast<std::uint8_t>(number >> 8);
        gid.raw[15] = static_cast<std::uint8_t>(number);
    }
    int attach(ibv_qp* qp) const { return ibv_attach_mcast(qp, &gid, lid); }
    int detach(ibv_qp* qp) const { return ibv_detach_mcast(qp, &gid, lid); }
    ibv_ah* handle(Host& host, Datagrams& qp) const {
        ibv_ah_attr attributes{};
        attributes.port_num = host.options.port;
        attributes.dlid = lid;
        attributes.is_global = 1;
        attributes.grh.dgid = gid;
        attributes.grh.hop_limit = 5;
        return qp.keep(ibv_create_ah(host.pd, &attributes));
    }
};

/// A queue pair with receives that begin at kStride, 2 * kStride and so on.
struct Station {
    explicit Station(Options options = {}, std::uint32_t receives = 1, std::uint32_t key = kKey)
        : host(options), qp(host, key) {
        for (std::uint32_t i = 1; i <= receives; ++i) post(i);
    }
    ~Station() {
        for (const Group& group : joined) group.detach(qp.get());
    }
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

    void post(std::uint32_t id) {
        require(qp.receive(id, {host.sge(id * kStride, kHeader + kMtu)}) == 0, "a receive");
    }
    void join(const Group& group) {
        require(group.attach(qp.get()) == 0, "attached");
        joined.push_back(group);
    }
    void leave(const Group& group) {
        require(group.detach(qp.get()) == 0, "detached");
        std::erase_if(joined,
                      [&](const Group& one) { return group.gid.raw[15] == one.gid.raw[15]; });
    }
    /// Sends so many bytes, whose values follow from `seed`, and waits for the send's completion.
    void send(ibv_ah* by, std::uint32_t size, unsigned seed, Datagrams::Message message = {}) {
        fill(host.buffer.data(), size, seed);
        message.by = by;
        if (message.to == 0) message.to = kGroupQp;
        require(qp.send(77, {host.sge(0, size)}, message) == 0, "posted");
        const ibv_wc wc = host.wait();
        require(wc.opcode == IBV_WC_SEND && wc.wr_id == 77 && wc.status == IBV_WC_SUCCESS, "sent");
    }
    /// Receives a message from the sender to the group, at this station's oldest receive.
    void expect(const Group& group, std::uint32_t sender, std::uint32_t size, unsigned seed) {
        const ibv_wc wc = host.wait();
        require(wc.opcode == IBV_WC_RECV && wc.status == IBV_WC_SUCCESS, "received");
        require(wc.byte_len == kHeader + size && wc.src_qp == sender, "how much, and from whom");
        require(wc.qp_num == qp.number() && wc.slid == host.port.lid, "for whom, and from where");
        require((wc.wc_flags & IBV_WC_GRH) != 0, "with a route header");
        const std::uint8_t* const place = &host.buffer[wc.wr_id * kStride];
        ibv_grh header;
        std::memcpy(&header, place, sizeof header);
        require(std::memcmp(&header.dgid, &group.gid, 16) == 0, "to the group");
        require(std::memcmp(&header.sgid, &host.gid, 16) == 0, "from the sender's port");
        require(header.hop_limit == 5, "the hop limit");
        require(holds(place + kHeader, size, seed), "the bytes");
    }

    Host host;
    Datagrams qp;
    std::vector<Group> joined;
};

softverbs::MulticastGroup key_of(const Group& group) {
    softverbs::MulticastGroup key{{}, group.lid};
    std::memcpy(&key.mgid, &group.gid, sizeof key.mgid);
    return key;
}

/// The number of queue pairs in the group, as the fabric's index has it.
std::size_t members_of(const Group& group) {
    return softverbs::Process::current()->index().attached_to(key_of(group)).qp_nums.size();
}

constexpr std::uint32_t kSizes[] = {0, 1, 176, 177, kMtu};

/// Joins the group and receives messages of all sizes, the first of them perhaps several times.
void receive_all_sizes(Channel& channel) {
    Station station({}, 64);
    const Group group;
    station.join(group);
    const auto sender = channel.receive<std::uint32_t>();
    channel.send('j');
    require(station.host.wait().byte_len == kHeader, "the sender has found us");
    channel.send('f');
    channel.receive<char>();
    for (ibv_wc wc; ibv_poll_cq(station.host.cq, 1, &wc) == 1;)
        require(wc.byte_len == kHeader, "once more");
    channel.send('c');
    for (const std::uint32_t size : kSizes) station.expect(group, sender, size, size + 1);
    channel.send('r');
    channel.receive<char>();
    require(station.host.is_empty(), "one copy of each");
}

TEST_F(VerbsMulticast, SixteenProcessesEachGetACopyOfEachMessage) {
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(16);
    for (int i = 0; i < 16; ++i) children.push_back(std::make_unique<Child>(receive_all_sizes));
    Station sender;
    for (const auto& child : children) child->channel().send(sender.qp.number());
    for (const auto& child : children) child->channel().receive<char>();
    ibv_ah* const by = Group().handle(sender.host, sender.qp);
    // A message does not wait for ever until all members have been found.
    EXPECT_TRUE(eventually([&] {
        sender.send(by, 0, 0);
        return std::all_of(children.begin(), children.end(), [](const auto& child) {
            return is_readable(child->channel().input(), 100ms);
        });
    }));
    for (const auto& child : children) {
        child->channel().receive<char>();
        child->channel().send('g');
        child->channel().receive<char>();
    }
    for (const std::uint32_t size : kSizes) sender.send(by, size, size + 1);
    for (const auto& child : children) child->channel().receive<char>();
    EXPECT_TRUE(sender.host.is_empty()) << "it completes once, and is no member itself";
    for (const auto& child : children) {
        child->channel().send('e');
        EXPECT_EQ(child->wait(), 0);
    }
    EXPECT_EQ(members_of(Group()), 0u);
}

TEST_F(VerbsMulticast, TheSenderAndOthersAtItsPortGetTheirCopiesIfTheyAreMembers) {
    const Group group;
    Station sender, neighbour, stranger;
    sender.join(group);
    neighbour.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    fill(sender.host.buffer.data(), 100, 9);
    ASSERT_EQ(sender.qp.send(77, {sender.host.sge(0, 100)}, {.to = kGroupQp, .by = by}), 0);
    const ibv_wc first = sender.host.wait(), second = sender.host.wait();
    const ibv_wc& got = first.opcode == IBV_WC_RECV ? first : second;
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.src_qp, sender.qp.number());
    EXPECT_TRUE(holds(&sender.host.buffer[kStride + kHeader], 100, 9));
    EXPECT_TRUE(sender.host.is_empty());
    neighbour.expect(group, sender.qp.number(), 100, 9);
    EXPECT_TRUE(stranger.host.is_empty());
}

TEST_F(VerbsMulticast, ASenderThatBlocksItsLoopbackLeavesOutItselfOnly) {
    const Group group;
    Station neighbour;
    neighbour.join(group);
    Host host;
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = attributes.recv_cq = host.cq;
    attributes.qp_type = IBV_QPT_UD;
    attributes.cap = {4, 4, 1, 1, 0};
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attributes.pd = host.pd;
    attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
    Datagrams sender(host, ibv_create_qp_ex(host.context, &attributes));
    ASSERT_EQ(group.attach(sender.get()), 0);
    ASSERT_EQ(sender.receive(1, {host.sge(kStride, kHeader + kMtu)}), 0);
    ibv_ah* const by = group.handle(host, sender);
    fill(host.buffer.data(), 50, 3);
    ASSERT_EQ(sender.send(2, {host.sge(0, 50)}, {.to = kGroupQp, .by = by}), 0);
    EXPECT_EQ(host.wait().opcode, IBV_WC_SEND);
    EXPECT_TRUE(host.is_empty());
    neighbour.expect(group, sender.number(), 50, 3);
    // It still receives what others send.
    neighbour.post(1);
    fill(neighbour.host.buffer.data(), 20, 4);
    ASSERT_EQ(neighbour.qp.send(1, {neighbour.host.sge(0, 20)},
                                {.to = kGroupQp, .by = group.handle(neighbour.host, neighbour.qp)}),
              0);
    EXPECT_EQ(host.wait().opcode, IBV_WC_RECV);
    EXPECT_EQ(group.detach(sender.get()), 0);
}

TEST_F(VerbsMulticast, OnlyMembersWhoseKeyFitsGetACopy) {
    constexpr std::uint32_t kOther = 0x22222222;
    const Group group;
    Station sender({}, 0, kOther), one, other({}, 1, kOther);
    one.join(group);
    other.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    sender.send(by, 8, 1, {.key = kKey});
    one.expect(group, sender.qp.number(), 8, 1);
    EXPECT_TRUE(other.host.is_empty());
    sender.send(by, 8, 2, {.key = 0x80000000});  // the sender's own
    other.expect(group, sender.qp.number(), 8, 2);
    EXPECT_TRUE(one.host.is_empty());
}

/// More groups than a sender remembers.
TEST_F(VerbsMulticast, AQueuePairMayBeInManyGroups) {
    constexpr unsigned kGroups = 40;
    Options options;
    options.buffer = (2 * kGroups + 1) * kStride;
    Station sender, member(options, 2 * kGroups);
    for (unsigned i = 0; i < kGroups; ++i) member.join(Group(i + 1));
    for (unsigned i = 0; i < 2 * kGroups; ++i) {
        const Group group(i % kGroups + 1);
        sender.send(group.handle(sender.host, sender.qp), 16, i);
        member.expect(group, sender.qp.number(), 16, i);
    }
}

TEST_F(VerbsMulticast, AGroupIsAGidAndALidAndItsMessagesGoToOneNumber) {
    const Group group;
    Station sender, member;
    member.join(group);
    Group other_lid;
    other_lid.lid = 0xc124;
    sender.send(Group(2).handle(sender.host, sender.qp), 8, 1);
    sender.send(other_lid.handle(sender.host, sender.qp), 8, 2);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    sender.send(by, 8, 3, {.to = member.qp.number()});
    sender.send(sender.qp.handle_to(member.host, true), 8, 4);
    EXPECT_TRUE(member.host.is_empty());
    sender.send(by, 8, 5);
    member.expect(group, sender.qp.number(), 8, 5);
}

TEST_F(VerbsMulticast, ADetachedQueuePairGetsNothingMore) {
    const Group group, other(2);
    Station sender, member({}, 2);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    member.join(group);
    EXPECT_EQ(group.attach(member.qp.get()), 0) << "attaching twice is harmless";
    EXPECT_EQ(members_of(group), 1u);
    sender.send(by, 8, 1);
    member.expect(group, sender.qp.number(), 8, 1);
    EXPECT_EQ(other.detach(member.qp.get()), EINVAL);
    EXPECT_EQ(group.detach(sender.qp.get()), EINVAL);
    member.leave(group);
    EXPECT_EQ(group.detach(member.qp.get()), EINVAL);
    sender.send(by, 8, 2);
    EXPECT_TRUE(member.host.is_empty());
    member.join(group);
    sender.send(by, 8, 3);
    member.expect(group, sender.qp.number(), 8, 3);
}

TEST_F(VerbsMulticast, WhatIsNoGroupOrNoDatagramQueuePairIsRefused) {
    Station station;
    Group unicast;
    unicast.gid = station.host.gid;
    EXPECT_EQ(unicast.attach(station.qp.get()), EINVAL);
    for (const std::uint16_t lid : {0, 0xbfff, 0xffff}) {
        Group group;
        group.lid = lid;
        EXPECT_EQ(group.attach(station.qp.get()), EINVAL) << lid;
    }
    Qp connected(station.host);
    EXPECT_EQ(Group().attach(connected.get()), EINVAL);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(VerbsMulticast, AMemberIsNotDestroyed) {
    const Group group;
    Host host;
    Datagrams qp(host);
    ASSERT_EQ(group.attach(qp.get()), 0);
    EXPECT_EQ(qp.destroy(), EBUSY);
    EXPECT_EQ(qp.state(), IBV_QPS_RTS) << "it is as it was";
    EXPECT_EQ(group.detach(qp.get()), 0);
    EXPECT_EQ(qp.destroy(), 0);
}

TEST_F(VerbsMulticast, AMemberWithoutAReceiveLosesTheMessageAloneAndSilently) {
    const Group group;
    Station sender, ready({}, 2), busy({}, 0);
    ready.join(group);
    busy.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    sender.send(by, 8, 1);
    busy.post(1);
    sender.send(by, 8, 2);
    ready.expect(group, sender.qp.number(), 8, 1);
    ready.expect(group, sender.qp.number(), 8, 2);
    busy.expect(group, sender.qp.number(), 8, 2);
    EXPECT_EQ(busy.qp.state(), IBV_QPS_RTS);
}

TEST_F(VerbsMulticast, SharedReceivesServeGroups) {
    Options options;
    options.shared_receives = true;
    const Group group;
    Station sender, member(options, 2);
    Datagrams second(member.host);
    member.join(group);
    ASSERT_EQ(group.attach(second.get()), 0);
    sender.send(group.handle(sender.host, sender.qp), 300, 6);
    for (int i = 0; i < 2; ++i) {
        const ibv_wc wc = member.host.wait();
        EXPECT_EQ(wc.byte_len, kHeader + 300);
        EXPECT_TRUE(holds(&member.host.buffer[wc.wr_id * kStride + kHeader], 300, 6));
    }
    EXPECT_EQ(group.detach(second.get()), 0);
}

TEST_F(VerbsMulticast, AGroupSpansDevicesAndPorts) {
    const auto at = [](int device, std::uint8_t port) {
        Options options;
        options.device = device;
        options.port = port;
        return options;
    };
    const Group group;
    Station sender(at(1, 2)), same(at(1, 2)), other_port(at(1, 1)), other_device(at(0, 1));
    for (Station* member : {&same, &other_port, &other_device}) member->join(group);
    sender.send(group.handle(sender.host, sender.qp), 33, 2);
    same.expect(group, sender.qp.number(), 33, 2);
    for (Station* member : {&other_port, &other_device}) {
        const ibv_wc wc = member->host.wait();
        EXPECT_EQ(wc.byte_len, kHeader + 33);
        EXPECT_EQ(wc.slid, sender.host.port.lid);
        EXPECT_TRUE(holds(&member->host.buffer[kStride + kHeader], 33, 2));
    }
}

/// The first messages wait until their destinations have been found.
TEST_F(VerbsMulticast, QueuedMessagesToGroupsAndQueuePairsKeepTheirOrder) {
    constexpr std::uint32_t kMessages = 40;
    const Group group;
    Station sender, member({}, kMessages);
    member.join(group);
    ibv_ah* const to_group = group.handle(sender.host, sender.qp);
    ibv_ah* const to_one = sender.qp.handle_to(member.host, true);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        Datagrams::Message message{.to = member.qp.number(), .by = to_one};
        if (i % 3 != 0) message.to = kGroupQp, message.by = to_group;
        message.opcode = IBV_WR_SEND_WITH_IMM;
        message.immediate = i;
        message.flags |= IBV_SEND_INLINE;
        ASSERT_EQ(sender.qp.send(i, {sender.host.sge(0, 8)}, message), 0);
    }
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        EXPECT_EQ(sender.host.wait().wr_id, i);
        EXPECT_EQ(member.host.wait().imm_data, i);
    }
}

TEST_F(VerbsMulticast, AProcessThatJoinsLaterGetsWhatIsSentLater) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    const Group group;
    Station sender;
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    sender.send(by, 8, 0);
    for (unsigned round = 1; round <= 3; ++round) {
        Child child([&](Channel& channel) {
            Station member;
            const auto from = channel.receive<std::uint32_t>();
            member.join(group);
            channel.send('j');
            member.expect(group, from, 8, round);
        });
        child.channel().send(sender.qp.number());
        child.channel().receive<char>();
        sender.send(by, 8, round);
        EXPECT_EQ(child.wait(), 0);
        EXPECT_EQ(members_of(group), 0u) << "it has left";
        sender.send(by, 8, 99);
    }
}

void stay(Channel& channel, const Group& group) {
    Station member({}, 8);
    member.join(group);
    channel.send('j');
    channel.receive<char>();
}

TEST_F(VerbsMulticast, AMemberThatIsKilledLeavesItsGroups) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    const Group group;
    Station sender, living;
    living.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    const auto reaches_the_living = [&](unsigned seed) {
        sender.send(by, 8, seed);
        living.expect(group, sender.qp.number(), 8, seed);
        living.post(1);
    };
    for (unsigned round = 0; round < 5; ++round) {
        Child victim([&](Channel& channel) { stay(channel, group); });
        victim.channel().receive<char>();
        EXPECT_EQ(members_of(group), 2u);
        if (round % 2 != 0) reaches_the_living(1);
        victim.kill();
        for (unsigned i = 0; i < 20; ++i) reaches_the_living(i);
        EXPECT_EQ(victim.wait(), 128 + SIGKILL);
        EXPECT_TRUE(eventually([&] {
            reaches_the_living(round);
            return members_of(group) == 1;
        }));
    }
}

TEST_F(VerbsMulticast, AProcessThatExitsWithItsQueuePairsLeavesItsGroups) {
    const Group group;
    Child child([&](Channel& channel) {
        static Station* const left = new Station;
        left->join(group);
        channel.send('j');
        channel.receive<char>();
        std::exit(0);
    });
    child.channel().receive<char>();
    Station sender;
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    sender.send(by, 8, 1);
    EXPECT_EQ(members_of(group), 1u);
    child.channel().send('e');
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(members_of(group), 0u);
    sender.send(by, 8, 2);
}

/// A stopped process that the sender is not linked with yet delays the first message only.
TEST_F(VerbsMulticast, AStoppedMemberHoldsUpNobodyForLong) {
    const Group group;
    Child stopped([&](Channel& channel) { stay(channel, group); });
    stopped.channel().receive<char>();
    Station sender, living({}, 8);
    living.join(group);
    stopped.kill(SIGSTOP);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    for (unsigned i = 0; i < 4; ++i) {
        sender.send(by, 8, i);
        living.expect(group, sender.qp.number(), 8, i);
    }
    stopped.kill(SIGCONT);
    stopped.channel().send('e');
    EXPECT_EQ(stopped.wait(), 0);
}

/// Others join and leave while the sender is at work; the one that stays misses nothing.
TEST_F(VerbsMulticast, ChangesOfAGroupLoseNothingOfThoseThatStay) {
    const Group group;
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(3);
    for (int i = 0; i < 3; ++i)
        children.push_back(std::make_unique<Child>([&](Channel& channel) {
            Station member;
            while (!is_readable(channel.input(), 0s)) {
                member.join(group);
                member.leave(group);
            }
        }));
    Options options;
    options.depth = 2048;
    options.buffer = 2 * kStride;
    Station sender, member(options, 1);
    member.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    for (int i = 0; i < scaled(1000); ++i) {
        sender.send(by, 8, static_cast<unsigned>(i));
        member.expect(group, sender.qp.number(), 8, static_cast<unsigned>(i));
        member.post(1);
    }
    for (const auto& child : children) {
        child->channel().send('e');
        EXPECT_EQ(child->wait(), 0);
    }
    EXPECT_EQ(members_of(group), 1u);
}

/// Any process may write anything into the fabric's index.
TEST_F(VerbsMulticast, NumbersInAGroupThatAreNoDatagramQueuePairsAreLeftOut) {
    const Group group;
    Station sender, member({}, 2);
    Qp connected(member.host);
    ASSERT_EQ(connected.ready_to_receive(connected.address()), 0);
    ASSERT_EQ(connected.post_receive(9, {member.host.sge(0, 4096)}), 0);
    softverbs::Index& index = softverbs::Process::current()->index();
    const std::uint32_t wrong[] = {
        1, connected.get()->qp_num, member.qp.number() ^ 0x80, 0xfffffe, 0xffffff, 0xffffffff};
    for (const std::uint32_t number : wrong)
        ASSERT_TRUE(index.attach(key_of(group), number).has_value());
    member.join(group);
    ibv_ah* const by = group.handle(sender.host, sender.qp);
    for (unsigned i = 0; i < 2; ++i) {
        sender.send(by, 8, i);
        member.expect(group, sender.qp.number(), 8, i);
    }
    EXPECT_TRUE(member.host.is_empty());
    for (const std::uint32_t number : wrong) ASSERT_TRUE(index.detach(key_of(group), number));
}

TEST_F(VerbsMulticast, TheLimitsOfTheDeviceHold) {
    Station station;
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(station.host.context, &limits), 0);
    ASSERT_GT(limits.max_mcast_qp_attach, 0);
    ASSERT_EQ(limits.max_mcast_grp, limits.max_total_mcast_qp_attach);
    const auto most = static_cast<unsigned>(limits.max_total_mcast_qp_attach);
    for (unsigned i = 0; i < most; ++i) ASSERT_EQ(Group(i).attach(station.qp.get()), 0) << i;
    EXPECT_EQ(Group(most).attach(station.qp.get()), ENOMEM);
    EXPECT_EQ(Group(7).attach(station.qp.get()), 0) << "it is attached already";
    EXPECT_EQ(Group(7).detach(station.qp.get()), 0);
    EXPECT_EQ(Group(most).attach(station.qp.get()), 0);
    EXPECT_EQ(Group(most).detach(station.qp.get()), 0);
    for (unsigned i = 0; i < most; ++i)
        EXPECT_EQ(Group(i).detach(station.qp.get()), i == 7 ? EINVAL : 0);
}

TEST_F(VerbsMulticast, AGroupHasAsManyMembersAsTheDeviceSays) {
    Options options;
    options.depth = 1;
    options.sges = 1;
    Station sender;
    Host host(options);
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(host.context, &limits), 0);
    const Group group;
    std::vector<std::unique_ptr<Datagrams>> members;
    for (int i = 0; i < limits.max_mcast_qp_attach; ++i) {
        members.push_back(std::make_unique<Datagrams>(host));
        ASSERT_EQ(group.attach(members.back()->get()), 0) << i;
        ASSERT_EQ(members.back()->receive(1, {host.sge(0, 64)}), 0);
    }
    EXPECT_EQ(group.attach(sender.qp.get()), ENOMEM);
    sender.send(group.handle(sender.host, sender.qp), 8, 1);
    for (const auto& member : members) {
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(group.detach(member->get()), 0);
    }
    EXPECT_TRUE(host.is_empty());
}

}  // namespace
}  // namespace test
