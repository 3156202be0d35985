// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Members that die, leave and fork, and what they leave behind.
#include "test/softverbs/fabric_fixture.hpp"

namespace {

TEST(FabricDeath, OfAPeerIsSeenAtOnceAndClearedUp) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    std::atomic<int> deaths{0};
    Member member([&](Process& process) {
        process.on_peer_death([&](const std::shared_ptr<Peer>&) { ++deaths; });
    });
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer);
    EXPECT_EQ(sockets_in(fabric.path()).size(), 2u);
    child.kill();
    EXPECT_TRUE(eventually([&] { return deaths == 1; }));
    EXPECT_FALSE((*peer)->alive());
    EXPECT_EQ((*peer)->send(MessageType::kAgentCopy, {}).error(), ENOTCONN);
    EXPECT_STREQ(reinterpret_cast<char*>((*peer)->arena()), "child") << "the arena stays mapped";
    child.wait();
    EXPECT_TRUE(eventually([&] { return sockets_in(fabric.path()).size() == 1; }));
    EXPECT_TRUE(eventually([&] { return member->peer_of_qpn(number, soon()).error() == ENOENT; }));
}

TEST(FabricDeath, WhatAKilledProcessLeftIsClearedByWhoStumblesOnIt) {
    TemporaryFabric fabric;
    Member member;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    child.kill();
    child.wait();
    EXPECT_EQ(sockets_in(fabric.path()).size(), 2u);
    EXPECT_EQ(member->peer_of_qpn(number, soon()).error(), ECONNREFUSED);
    EXPECT_EQ(sockets_in(fabric.path()).size(), 1u);
    EXPECT_EQ(member->peer_of_qpn(number, soon()).error(), ENOENT);
}

TEST(FabricDeath, WhatAKilledProcessLeftIsClearedByTheNextThatJoins) {
    TemporaryFabric fabric;
    std::uint32_t number;
    {
        Child child(member_child);
        number = child.channel().receive<std::uint32_t>();
        child.kill();
        child.wait();
    }
    EXPECT_EQ(sockets_in(fabric.path()).size(), 1u);
    Member member;
    ASSERT_TRUE(member);
    EXPECT_EQ(sockets_in(fabric.path()).size(), 1u) << "its own";
    EXPECT_EQ(member->peer_of_qpn(number, soon()).error(), ENOENT);
}

TEST(FabricDeath, LeavingLeavesNoSocketAndNoThread) {
    TemporaryFabric fabric;
    const auto threads = [] {
        int count = 0;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
            count += !task.path().empty();
        return count;
    };
    const int before = threads();
    {
        Member member;
        EXPECT_EQ(threads(), before + 1);
        EXPECT_EQ(sockets_in(fabric.path()).size(), 1u);
    }
    // /proc may list a joined thread for a moment longer.
    EXPECT_TRUE(eventually([&] { return threads() == before; }));
    EXPECT_TRUE(sockets_in(fabric.path()).empty());
}

TEST(FabricDeath, IsSeenAlthoughAForkedChildKeepsTheSocketsOpen) {
    TemporaryFabric fabric;
    Child child([](Channel& channel) {
        Member member;
        const auto number = member.number();
        channel.receive<char>();  // the link exists by now: the fork inherits it
        const pid_t heir = fork();
        if (heir == 0) {
            alarm(600);  // in case nobody kills it
            pause();
            _exit(0);
        }
        channel.send(number);
        channel.send(heir);
        pause();
    });
    Member member;
    child.channel().send('x');
    const auto number = child.channel().receive<std::uint32_t>();
    const auto heir = child.channel().receive<pid_t>();
    auto peer = member->peer_of_qpn(number, soon());
    EXPECT_TRUE(peer);
    child.kill();
    EXPECT_TRUE(!peer || eventually([&] { return !(*peer)->alive(); }));
    EXPECT_EQ(kill(heir, SIGKILL), 0);
}

TEST(FabricDeath, AForkedChildIsAMemberOfItsOwnAndLeavesTheParentAlone) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "threads after a fork confuse the sanitizer";
    TemporaryFabric fabric;
    Member parent(answer_reversed);
    const auto number = parent.number();
    Child child([&](Channel&) {
        require(Process::current() == nullptr, "the parent's membership is not the child's");
        Member own;
        require(bool(own), "the child joins");
        auto peer = own->peer_of_qpn(number, soon());
        require(peer.has_value() && (*peer)->pid() == getppid(), "the parent is a peer");
        auto reply = (*peer)->request(MessageType::kAgentCopy, bytes("ab"), soon());
        require(reply.has_value() && reply->body == bytes("ba"), "the parent answers");
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(sockets_in(fabric.path()).size(), 1u);
    EXPECT_EQ(*parent->peer_of_qpn(number, soon()), parent->self());
}

}  // namespace
