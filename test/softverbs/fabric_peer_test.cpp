// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Peers, well-behaved and misbehaving.

#include "test/softverbs/fabric_fixture.hpp"

namespace {

/// A child that joins with an arena that lacks a seal or is shorter than it claims.
std::function<void(Channel&)> bad_member(unsigned seals, std::size_t claimed) {
    return [=](Channel& channel) {
        Member bad({}, seals, claimed);
        channel.send(bad.number());
        channel.meet();
    };
}

TEST(FabricPeer, WithAnArenaThatCouldShrinkIsRefused) {
    TemporaryFabric fabric;
    Child unsealed(bad_member(F_SEAL_GROW, kArenaSize));
    Child too_short(bad_member(F_SEAL_SHRINK, 2 * kArenaSize));
    Member good;
    for (Child* child : {&unsealed, &too_short}) {
        const auto number = child->channel().receive<std::uint32_t>();
        int error = 0;
        const std::string told =
            captured_stderr([&] { error = good->peer_of_qpn(number, soon()).error(); });
        EXPECT_EQ(error, EPROTO);
        EXPECT_NE(told.find("DAT307"), std::string::npos) << told;
        child->channel().meet();
        EXPECT_EQ(child->wait(), 0);
    }
}

/// Each connection looks its peer up by QP number, and the index has one lock for the whole
/// machine.
TEST(FabricPeer, IsFoundByTheNumbersOfABlockWithTheIndexAskedOnce) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    Member member;
    const auto first = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(first);
    std::filesystem::resize_file(fabric.path() + "/index", 0);  // now it lists nobody
    const auto second = member->peer_of_qpn(number ^ 1, soon());
    ASSERT_TRUE(second);
    EXPECT_EQ(*first, *second);
    child.kill();
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return !member->peer_of_qpn(number, soon()); }))
        << "its death ends what is known of it";
}

constexpr int kJoins = 1000;

/// Joins again and again, and connects to the member of the number that it receives.
void connecting_child(Channel& channel) {
    const auto number = channel.receive<std::uint32_t>();
    for (int i = 0; i < test::scaled(kJoins); ++i) {
        Member member;
        channel.send(member.number());
        require(member->peer_of_qpn(number, soon()).has_value(), "the parent is found");
        channel.meet();
    }
}

/// A thread may find the peer while the service thread is still taking over its link.
TEST(FabricPeer, CanBeSentToAsSoonAsItIsFound) {
    TemporaryFabric fabric;
    Child child(connecting_child);
    Member member;
    child.channel().send(member.number());
    for (int i = 0; i < test::scaled(kJoins); ++i) {
        const auto number = child.channel().receive<std::uint32_t>();
        const Deadline end = soon();
        auto found = member->peer_of_qpn(number, Clock::now());
        while (!found && Clock::now() < end) found = member->peer_of_qpn(number, Clock::now());
        ASSERT_TRUE(found);
        EXPECT_TRUE((*found)->send(MessageType::kAgentCopy, {}));
        child.channel().meet();
    }
    EXPECT_EQ(child.wait(), 0);
}

TEST(FabricPeer, ThatSendsGarbageLosesItsLinkAndHurtsNobody) {
    TemporaryFabric fabric;
    Member member;
    std::srand(2);
    const std::string told = captured_stderr([&] {
        for (int round = 0; round < test::scaled(100); ++round) {
            UniqueFd link = raw_link(fabric.path());
            std::vector<std::byte> noise(1 + std::rand() % 300);
            for (auto& byte : noise) byte = static_cast<std::byte>(std::rand());
            if (round % 3 == 0) {  // begin with a valid header
                noise.resize(sizeof(MessageHeader) + round);
                const MessageHeader header = {1, 0, static_cast<std::uint32_t>(round), 0};
                std::memcpy(noise.data(), &header, sizeof header);
            }
            ASSERT_GT(send(link.get(), noise.data(), noise.size(), MSG_NOSIGNAL), 0);
            std::array<std::byte, 4096> greeting;
            while (recv(link.get(), greeting.data(), greeting.size(), 0) > 0) continue;
        }
    });
    EXPECT_NE(told.find("DAT307"), std::string::npos) << told;
    EXPECT_TRUE(member->take_block());
}

/// Opens a link with a valid greeting and a real arena, so that the member treats what follows as a
/// peer's.
/// @param wanted the member that is to be reached; 0: not said.
UniqueFd greeted_link(const std::string& path, Process& member, MemberId wanted = 0) {
    UniqueFd link = raw_link(path);
    static UniqueFd arena(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(ftruncate(arena.get(), kArenaSize) == 0, "an arena");
    fcntl(arena.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    Hello hello = {kFabricVersion, 9, 77, member.fabric_hash(), kArenaSize, 0};
    hello.wanted = wanted;
    const MessageHeader header = {1, 0, sizeof hello, 0};
    static UniqueFd doorbell(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int fds[] = {arena.get(), doorbell.get()};
    require(send_record(link.get(), record_of(header, bytes_of(hello)), fds) == 0, "a greeting");
    return link;
}

/// Until the other end closes it, or has seen that we have.
void read_to_the_end(UniqueFd& link) {
    shutdown(link.get(), SHUT_WR);
    std::array<std::byte, 4096> ignored;
    while (recv(link.get(), ignored.data(), ignored.size(), 0) > 0) continue;
}

TEST(FabricPeer, ThatSendsAMalformedRecordLosesItsLinkWithOneMessage) {
    TemporaryFabric fabric;
    Member member;
    const MessageHeader bad[] = {
        {99, 0, 0, 0},                                                        // unknown type
        {static_cast<std::uint16_t>(MessageType::kConnectRequest), 7, 0, 0},  // bad flag
        {static_cast<std::uint16_t>(MessageType::kConnectRequest), 0, 5, 0},  // wrong length
        {1, 0, 0, 0},                                                         // a second greeting
    };
    for (const MessageHeader& header : bad) {
        const std::string told = captured_stderr([&] {
            UniqueFd link = greeted_link(fabric.path(), *Process::current());
            ASSERT_EQ(send_record(link.get(), record_of(header, {}), {}), 0);
            std::array<std::byte, 4096> greeting;
            while (recv(link.get(), greeting.data(), greeting.size(), 0) > 0) continue;
        });
        EXPECT_EQ(told.find("DAT307"), told.rfind("DAT307")) << told;
        EXPECT_NE(told.find("DAT307"), std::string::npos);
    }
}

/// Whoever looks for a process that has ended may reach the next one in its slot. Its links count
/// neither as the peer's nor, when they are closed, as the peer's end.
TEST(FabricPeer, ThatWantedAnEarlierMemberOfTheSlotHasNoLinkYet) {
    TemporaryFabric fabric;
    Member member;
    const MemberId self = member->member();
    const std::string told = captured_stderr([&] {
        UniqueFd stale[] = {greeted_link(fabric.path(), *Process::current(), self + 1),
                            greeted_link(fabric.path(), *Process::current(), self + 1)};
        UniqueFd link = greeted_link(fabric.path(), *Process::current(), self);
        ASSERT_EQ(send_record(link.get(), record_of({99, 0, 0, 0}, {}), {}), 0);
        read_to_the_end(link);
        for (UniqueFd& other : stale) read_to_the_end(other);
    });
    EXPECT_NE(told.find("a malformed record"), std::string::npos)
        << "only a peer's link is read: " << told;
    EXPECT_EQ(told.find("DAT307"), told.rfind("DAT307")) << told;
}

TEST(FabricPeer, OfAnotherVersionIsRefusedWithAMessage) {
    TemporaryFabric fabric;
    Member member;
    const std::string told = captured_stderr([&] {
        UniqueFd link = raw_link(fabric.path());
        const Hello hello = {kFabricVersion + 1, 9, 77, member->fabric_hash(), kArenaSize, 0};
        const MessageHeader header = {1, 0, sizeof hello, 0};
        ASSERT_EQ(send_record(link.get(), record_of(header, bytes_of(hello)), {}), 0);
        std::array<std::byte, 4096> greeting;
        while (recv(link.get(), greeting.data(), greeting.size(), 0) > 0) continue;
    });
    EXPECT_NE(told.find("DAT305"), std::string::npos) << told;
}

TEST(FabricPeer, ThatIsStoppedDoesNotBlockTheServiceThread) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    Child other(member_child);
    const auto other_number = other.channel().receive<std::uint32_t>();
    Member member;
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer);
    child.kill(SIGSTOP);
    // More than the socket's buffer holds: the rest waits in our own queue, up to its limit.
    const std::vector<std::byte> body(kMaxMessageBody);
    Result<void> sent;
    int count = 0;
    while ((sent = (*peer)->send(MessageType::kWakeChannel, body)) && count < 10'000) ++count;
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error(), ENOBUFS);
    EXPECT_TRUE(member->peer_of_qpn(other_number, soon())) << "others are served meanwhile";
    const Deadline close_by = Clock::now() + std::chrono::milliseconds(50);
    EXPECT_EQ((*peer)->request(MessageType::kAgentCopy, {}, close_by).error(), ETIMEDOUT);
    child.kill(SIGCONT);
    EXPECT_TRUE(eventually([&] {
        return (*peer)->request(MessageType::kAgentCopy, bytes("ab"), soon()).has_value();
    })) << "it goes on when the peer does";
    other.channel().meet();
    child.channel().meet();
}

TEST(FabricPeer, OnTheSelfLinkRequestsAreAnsweredToo) {
    TemporaryFabric fabric;
    Member member(answer_reversed);
    const auto number = member.number();
    auto self = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(self);
    EXPECT_TRUE((*self)->is_self());
    EXPECT_EQ((*self)->arena(), member.arena());
    auto reply = (*self)->request(MessageType::kAgentCopy, bytes("abc"), soon());
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, bytes("cba"));
}

TEST(FabricPeer, RingsTheDoorbell) {
    TemporaryFabric fabric;
    Child child([&](Channel& channel) {
        const auto number = channel.receive<std::uint32_t>();
        Member own;
        auto peer = own->peer_of_qpn(number, soon());
        require(peer.has_value(), "the parent is found");
        (*peer)->ring_doorbell();
    });
    std::atomic<int> rings{0};
    Member member([&](Process& process) { process.on_doorbell([&] { ++rings; }); });
    child.channel().send(member.number());
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(eventually([&] { return rings > 0; }));
}

TEST(FabricPeer, IsOneWhenBothSidesConnectAtOnce) {
    for (int round = 0; round < test::scaled(20); ++round) {
        TemporaryFabric fabric;
        const auto body = [](Channel& channel) {
            Member member(answer_reversed);
            channel.send(member.number());
            const auto other = channel.receive<std::uint32_t>();
            auto peer = member->peer_of_qpn(other, soon());
            require(peer.has_value(), "the other is found");
            for (int i = 0; i < 3; ++i) {
                auto reply = (*peer)->request(MessageType::kAgentCopy, bytes("ab"), soon());
                require(reply.has_value() && reply->body == bytes("ba"), "it answers");
            }
            require(*member->peer_of_qpn(other, soon()) == *peer, "one Peer");
            channel.meet();
        };
        Child left(body), right(body);
        const auto left_number = left.channel().receive<std::uint32_t>();
        const auto right_number = right.channel().receive<std::uint32_t>();
        left.channel().send(right_number);
        right.channel().send(left_number);
        left.channel().receive<char>();
        right.channel().receive<char>();
        left.channel().send('g');
        right.channel().send('g');
        ASSERT_EQ(left.wait(), 0);
        ASSERT_EQ(right.wait(), 0);
    }
}

}  // namespace
