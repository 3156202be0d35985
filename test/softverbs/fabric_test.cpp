// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that find each other and exchange messages, and the service thread.
#include <sys/epoll.h>

#include "test/softverbs/fabric_fixture.hpp"

namespace {

TEST(Fabric, AProcessFindsAnotherByAQueuePairNumberAndSeesItsArena) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    Member member;
    ASSERT_TRUE(member);
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer) << peer.error();
    EXPECT_EQ((*peer)->pid(), child.pid());
    EXPECT_EQ((*peer)->arena_size(), kArenaSize);
    EXPECT_STREQ(reinterpret_cast<char*>((*peer)->arena()), "child");
    EXPECT_EQ(*member->peer_of_qpn(number ^ 1, soon()), *peer) << "one Peer per pair";
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(eventually([&] { return !(*peer)->alive(); }));
}

TEST(Fabric, ARequestIsAnsweredWithBytesAndDescriptors) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    Member member;
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer);
    UniqueFd file(memfd_create("passed", MFD_CLOEXEC));
    const int fds[] = {file.get()};
    auto reply = (*peer)->request(MessageType::kAgentCopy, bytes("abc"), soon(), fds);
    ASSERT_TRUE(reply) << reply.error();
    EXPECT_EQ(reply->body, bytes("cba"));
    ASSERT_EQ(reply->fds.size(), 1u);
    struct stat sent, got;
    ASSERT_EQ(fstat(file.get(), &sent), 0);
    ASSERT_EQ(fstat(reply->fds[0].get(), &got), 0);
    EXPECT_EQ(sent.st_ino, got.st_ino);
    child.channel().meet();
}
TEST(FabricService, RunsTimersInOrderAndCancelsThem) {
    Service service;
    ASSERT_TRUE(service.start());
    std::atomic<int> order{0};
    const auto now = Clock::now();
    std::atomic<int> first{0}, second{0};
    const auto cancelled = service.at(now + std::chrono::milliseconds(5), [&] { order = -100; });
    service.at(now + std::chrono::milliseconds(20), [&] { second = ++order; });
    service.at(now + std::chrono::milliseconds(10), [&] { first = ++order; });
    EXPECT_TRUE(service.cancel(cancelled));
    EXPECT_FALSE(service.cancel(cancelled));
    EXPECT_TRUE(eventually([&] { return second != 0; }));
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
}

/// A handler closes another descriptor, whose number is reused at once.
TEST(FabricService, GivesNoEventOfAClosedDescriptorToTheNextOfItsNumber) {
    Service service;
    ASSERT_TRUE(service.start());
    int begin[2], first[2], second[2], next[2] = {-1, -1};
    for (int* ends : {begin, first, second}) ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    std::atomic<int> called{0};
    std::atomic<bool> replaced{false};
    const auto read_one = [](int fd) {
        char byte;
        EXPECT_EQ(read(fd, &byte, 1), 1);
    };
    const auto write_one = [](int fd) { EXPECT_EQ(write(fd, "x", 1), 1); };
    ASSERT_TRUE(service.watch(first[0], EPOLLIN, [&](std::uint32_t) {
        read_one(first[0]);
        service.unwatch(second[0]);
        EXPECT_EQ(pipe2(next, O_CLOEXEC | O_NONBLOCK), 0);
        EXPECT_EQ(dup3(next[0], second[0], O_CLOEXEC), second[0]);
        EXPECT_TRUE(service.watch(second[0], EPOLLIN, [&](std::uint32_t) { ++called; }));
        replaced = true;
    }));
    ASSERT_TRUE(service.watch(second[0], EPOLLIN, [&](std::uint32_t) { read_one(second[0]); }));
    ASSERT_TRUE(service.watch(begin[0], EPOLLIN, [&](std::uint32_t) {
        read_one(begin[0]);
        write_one(first[1]);
        write_one(second[1]);
    }));
    write_one(begin[1]);
    EXPECT_TRUE(eventually([&] { return replaced.load(); }));
    std::atomic<bool> passed{false};
    service.post([&] { passed = true; });
    EXPECT_TRUE(eventually([&] { return passed.load(); }));
    EXPECT_EQ(called, 0) << "nothing has come there";
    service.stop();
    for (const int* ends : {begin, first, second, next}) close(ends[0]), close(ends[1]);
}

TEST(FabricService, BlocksAllSignalsOnItsThread) {
    Service service;
    ASSERT_TRUE(service.start());
    std::atomic<int> blocked{-1};
    service.post([&] {
        sigset_t set;
        pthread_sigmask(SIG_SETMASK, nullptr, &set);
        blocked =
            sigismember(&set, SIGUSR1) && sigismember(&set, SIGTERM) && sigismember(&set, SIGALRM);
    });
    EXPECT_TRUE(eventually([&] { return blocked == 1; }));
}

TEST(FabricService, RunsWhatWasPostedBeforeItStops) {
    Service service;
    ASSERT_TRUE(service.start());
    int runs = 0;
    for (int i = 0; i < 100; ++i) service.post([&] { ++runs; });
    service.stop();
    EXPECT_EQ(runs, 100);
}

}  // namespace
