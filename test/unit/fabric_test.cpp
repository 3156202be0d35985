// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fabric of the software device: processes that find each other, talk, and die.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "providers/soft/fabric/handshake.hpp"
#include "providers/soft/fabric/process.hpp"
#include "test/support/process.hpp"

using namespace softverbs;
using test::captured_stderr;
using test::Channel;
using test::Child;
using test::eventually;
using test::require;
using test::TemporaryFabric;

namespace {

/// Any port space.
constexpr std::uint32_t kPortSpace = 0x106;
constexpr std::size_t kArenaSize = 64 * 1024;

/// A member with an arena of its own, as the device makes one.
class Member {
  public:
    using Setup = std::function<void(Process&)>;
    explicit Member(const Setup& setup = {}, unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW,
                    std::size_t claimed = kArenaSize)
        : arena_(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        if (ftruncate(arena_.get(), kArenaSize) != 0) return;
        fcntl(arena_.get(), F_ADD_SEALS, seals);
        base_ = static_cast<std::byte*>(
            mmap(nullptr, kArenaSize, PROT_READ | PROT_WRITE, MAP_SHARED, arena_.get(), 0));
        auto joined = Process::join([&](Process& process) -> Result<PublishedArena> {
            if (setup) setup(process);
            return PublishedArena{arena_.get(), base_, claimed};
        });
        if (joined)
            process_ = *joined;
        else
            error_ = joined.error();
    }
    ~Member() {
        if (process_) Process::leave();
        munmap(base_, kArenaSize);
    }
    Process* operator->() { return process_; }
    explicit operator bool() const { return process_ != nullptr; }
    int error() const { return error_; }
    std::byte* arena() { return base_; }
    std::uint32_t number() {
        auto block = process_->take_block();
        require(block.has_value(), "a block is had");
        return *block << 8 | 5;
    }

  private:
    UniqueFd arena_;
    std::byte* base_ = nullptr;
    Process* process_ = nullptr;
    int error_ = 0;
};

Deadline soon() {
    return Clock::now() + test::kDeadline;
}

/// Replies with the body it got, turned round, and with the descriptors.
void answer_reversed(Process& process) {
    process.handle(MessageType::kAgentCopy,
                   [](const std::shared_ptr<Peer>& peer, Message& message) {
                       std::vector<std::byte> body(message.body.rbegin(), message.body.rend());
                       std::vector<int> fds;
                       for (const UniqueFd& fd : message.fds) fds.push_back(fd.get());
                       require(peer->reply(message, body, fds).has_value(), "the reply is sent");
                   });
}

std::vector<std::byte> bytes(const std::string& text) {
    std::vector<std::byte> result(text.size());
    std::memcpy(result.data(), text.data(), text.size());
    return result;
}

/// A child that joins, tells a QP number of its own, and waits to be released.
void member_child(Channel& channel) {
    Member member(answer_reversed);
    require(bool(member), "the child joins");
    std::memcpy(member.arena(), "child", 6);
    channel.send(member.number());
    channel.meet();
}

std::vector<std::string> sockets_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (entry.is_socket()) names.push_back(entry.path().filename());
    return names;
}

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

// -- the directory
// ---------------------------------------------------------------------------------

/// Where SOFTVERBS_FABRIC points during one test.
void use_fabric(const std::string& path) {
    setenv("SOFTVERBS_FABRIC", path.c_str(), 1);
}

TEST(FabricDirectory, IsMadePrivate) {
    TemporaryFabric parent;
    use_fabric(parent.path() + "/new");
    Member member;
    ASSERT_TRUE(member);
    struct stat status;
    ASSERT_EQ(stat((parent.path() + "/new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
}

TEST(FabricDirectory, IsRefusedWhenOthersMayEnterIt) {
    TemporaryFabric fabric;
    for (const mode_t mode : {0710, 0701, 0777, 0720}) {
        ASSERT_EQ(chmod(fabric.path().c_str(), mode), 0);
        int error = 0;
        const std::string told = captured_stderr([&] { error = Member().error(); });
        EXPECT_EQ(error, EACCES) << std::oct << mode;
        EXPECT_NE(told.find("DAT301"), std::string::npos) << told;
    }
}

TEST(FabricDirectory, IsRefusedWhenItIsALinkOrAFile) {
    TemporaryFabric fabric;
    std::filesystem::create_directory(fabric.path() + "/real");
    std::filesystem::create_symlink("real", fabric.path() + "/link");
    std::ofstream(fabric.path() + "/file") << "x";
    for (const char* name : {"/link", "/file"}) {
        use_fabric(fabric.path() + name);
        int error = 0;
        const std::string told = captured_stderr([&] { error = Member().error(); });
        EXPECT_EQ(error, EACCES) << name;
        EXPECT_NE(told.find(fabric.path() + name), std::string::npos) << told;
    }
}

TEST(FabricDirectory, IsRefusedWhenItBelongsToAnother) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
    TemporaryFabric fabric;
    ASSERT_EQ(chown(fabric.path().c_str(), 65534, 65534), 0);
    int error = 0;
    const std::string told = captured_stderr([&] { error = Member().error(); });
    EXPECT_EQ(error, EACCES);
    EXPECT_NE(told.find("65534"), std::string::npos) << told;
}

TEST(FabricDirectory, MayHaveALongerPathThanASocketName) {
    TemporaryFabric parent;
    std::string path = parent.path();
    for (int i = 0; i < 4; ++i) {
        path += "/" + std::string(100, 'x');
        mkdir(path.c_str(), 0700);
    }
    use_fabric(path);
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    Member member;
    ASSERT_TRUE(member);
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer) << strerror(peer.error());
    child.channel().meet();
}

TEST(FabricDirectory, AnotherUserCannotUseIt) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    TemporaryFabric fabric;
    Member member;
    const std::string socket = fabric.path() + "/" + sockets_in(fabric.path()).at(0);
    Child stranger([&](Channel&) {
        require(setgid(65534) == 0 && setuid(65534) == 0, "another user");
        int error = 0;
        captured_stderr([&] { error = Member().error(); });
        require(error == EACCES, "the fabric is refused");
        UniqueFd link(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
        sockaddr_un where = {};
        where.sun_family = AF_UNIX;
        strncpy(where.sun_path, socket.c_str(), sizeof where.sun_path - 1);
        require(connect(link.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) != 0,
                "the socket cannot be reached");
    });
    EXPECT_EQ(stranger.wait(), 0);
}

/// A link to the member's socket, for the tests that misbehave on it.
UniqueFd raw_link(const std::string& fabric) {
    UniqueFd link(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un where = {};
    where.sun_family = AF_UNIX;
    strncpy(where.sun_path, (fabric + "/" + sockets_in(fabric).at(0)).c_str(),
            sizeof where.sun_path - 1);
    require(connect(link.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0, "a link");
    return link;
}

TEST(FabricDirectory, AStrangerWhoGetsThroughIsTurnedAway) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    TemporaryFabric fabric;
    Member member;
    // As if the directory's mode had been loosened by hand while members run.
    const std::string name = fabric.path() + "/" + sockets_in(fabric.path()).at(0);
    ASSERT_EQ(chmod(fabric.path().c_str(), 0711), 0);
    ASSERT_EQ(chmod(name.c_str(), 0777), 0);
    const std::string told = captured_stderr([&] {
        Child stranger([&](Channel&) {
            UniqueFd link(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
            require(setgid(65534) == 0 && setuid(65534) == 0, "another user");
            sockaddr_un where = {};
            where.sun_family = AF_UNIX;
            strncpy(where.sun_path, name.c_str(), sizeof where.sun_path - 1);
            require(connect(link.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) == 0,
                    "");
            char byte;
            require(recv(link.get(), &byte, 1, 0) == 0, "the link ends without a greeting");
        });
        EXPECT_EQ(stranger.wait(), 0);
    });
    EXPECT_NE(told.find("DAT306"), std::string::npos) << told;
}

// -- the index
// -------------------------------------------------------------------------------------

TEST(FabricIndex, AFreedBlockIsHandedOutAgainLast) {
    TemporaryFabric fabric;
    auto directory = Directory::open(fabric.path());
    ASSERT_TRUE(directory);
    auto keeper = Index::join(**directory, {});
    ASSERT_TRUE(keeper);
    std::vector<std::uint32_t> early;
    {
        auto leaver = Index::join(**directory, {});
        ASSERT_TRUE(leaver);
        for (int i = 0; i < 3; ++i) early.push_back(*(*leaver)->take_block());
    }
    std::uint32_t last = 0;
    for (std::uint32_t block = 4; block < 65536; ++block) {
        auto taken = (*keeper)->take_block();
        ASSERT_TRUE(taken);
        ASSERT_EQ(*taken, block) << "fresh ones first";
        last = *taken;
    }
    EXPECT_EQ(last, 65535u);
    for (const std::uint32_t block : early) EXPECT_EQ(*(*keeper)->take_block(), block);
    EXPECT_EQ((*keeper)->take_block().error(), ENOSPC);
}

TEST(FabricIndex, GarbageIsReplacedWhenNobodyLivesByIt) {
    TemporaryFabric fabric;
    std::ofstream(fabric.path() + "/index") << std::string(200'000, '\xff');
    std::ofstream(fabric.path() + "/member-7") << "";
    Member member;
    ASSERT_TRUE(member);
    EXPECT_TRUE(member->take_block());
    EXPECT_FALSE(std::filesystem::exists(fabric.path() + "/member-7"));
}

TEST(FabricIndex, GarbageUnderALivingMemberIsRefusedWithAMessage) {
    TemporaryFabric fabric;
    Child child(member_child);
    const auto number = child.channel().receive<std::uint32_t>();
    const int file = open((fabric.path() + "/index").c_str(), O_RDWR | O_CLOEXEC);
    const std::string garbage(64, '\xee');
    ASSERT_EQ(pwrite(file, garbage.data(), garbage.size(), 0), 64);
    close(file);
    int error = 0;
    const std::string told = captured_stderr([&] { error = Member().error(); });
    EXPECT_EQ(error, EIO);
    EXPECT_NE(told.find("DAT303"), std::string::npos) << told;
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_NE(number, 0u);
}

TEST(FabricIndex, AFileCutShortHurtsNobody) {
    TemporaryFabric fabric;
    Member member;
    const auto number = member.number();
    ASSERT_EQ(truncate((fabric.path() + "/index").c_str(), 0), 0);
    EXPECT_FALSE(member->peer_of_qpn(number, soon()));
    EXPECT_EQ(member->take_block().error(), EIO);
}

TEST(FabricIndex, RandomGarbageInEveryFieldHurtsNobody) {
    TemporaryFabric fabric;
    Member member;
    const auto number = member.number();
    const int file = open((fabric.path() + "/index").c_str(), O_RDWR | O_CLOEXEC);
    std::srand(1);
    for (int round = 0; round < test::scaled(200); ++round) {
        std::vector<std::uint8_t> noise(4096);
        for (auto& byte : noise) byte = static_cast<std::uint8_t>(std::rand());
        const off_t at = round % 2 ? (std::rand() % 2000) * 4096L : 48;
        ASSERT_EQ(pwrite(file, noise.data(), noise.size(), at), 4096);
        member->peer_of_qpn(number, soon());
        member->peer_of_qpn(static_cast<std::uint32_t>(std::rand()) & 0xffffff, soon());
        member->take_block();
        member->index().bind_port({kPortSpace, {}, 0});
        member->index().find_listener({kPortSpace, {}, static_cast<std::uint16_t>(std::rand())});
        member->index().is_published(in6addr_loopback);
    }
    close(file);
}

TEST(FabricIndex, AStoppedHolderOfTheLockIsReportedNotWaitedForForever) {
    if (test::scaled(1) < 2) GTEST_SKIP() << "takes ten seconds: in make check-long";
    TemporaryFabric fabric;
    Member member;
    const int file = open((fabric.path() + "/index").c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = off_t{1} << 40;
    lock.l_len = 1;
    ASSERT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
    const std::string told =
        captured_stderr([&] { EXPECT_EQ(member->take_block().error(), ETIMEDOUT); });
    EXPECT_NE(told.find("DAT304"), std::string::npos) << told;
    close(file);
}

// -- death
// -----------------------------------------------------------------------------------------

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
    EXPECT_TRUE(eventually([&] { return deaths == 1; }, std::chrono::seconds(1)));
    EXPECT_FALSE((*peer)->alive());
    EXPECT_EQ((*peer)->send(MessageType::kAgentCopy, {}).error(), ENOTCONN);
    EXPECT_STREQ(reinterpret_cast<char*>((*peer)->arena()), "child") << "the arena stays mapped";
    child.wait();
    EXPECT_TRUE(eventually([&] { return sockets_in(fabric.path()).size() == 1; }));
    EXPECT_EQ(member->peer_of_qpn(number, soon()).error(), ENOENT);
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
    // A joined thread's entry may outlive it for a moment.
    EXPECT_TRUE(eventually([&] { return threads() == before; }));
    EXPECT_TRUE(sockets_in(fabric.path()).empty());
}

TEST(FabricDeath, IsSeenAlthoughAForkedChildKeepsTheSocketsOpen) {
    TemporaryFabric fabric;
    Child child([](Channel& channel) {
        Member member;
        const auto number = member.number();
        channel.receive<char>();  // the link is there: the fork inherits it
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            usleep(3'000'000);
            _exit(0);
        }
        channel.send(number);
        pause();
    });
    Member member;
    child.channel().send('x');
    const auto number = child.channel().receive<std::uint32_t>();
    auto peer = member->peer_of_qpn(number, soon());
    ASSERT_TRUE(peer);
    child.kill();
    EXPECT_TRUE(eventually([&] { return !(*peer)->alive(); }, std::chrono::seconds(1)));
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

// -- peers that misbehave
// --------------------------------------------------------------------------

/// Joins with an arena that is not as it must be.
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

TEST(FabricPeer, ThatSendsGarbageLosesItsLinkAndHurtsNobody) {
    TemporaryFabric fabric;
    Member member;
    std::srand(2);
    const std::string told = captured_stderr([&] {
        for (int round = 0; round < test::scaled(100); ++round) {
            UniqueFd link = raw_link(fabric.path());
            std::vector<std::byte> noise(1 + std::rand() % 300);
            for (auto& byte : noise) byte = static_cast<std::byte>(std::rand());
            if (round % 3 == 0) {  // a proper header in front
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

/// Greets properly with a real arena, so that what follows is taken for a peer's.
UniqueFd greeted_link(const std::string& path, Process& member) {
    UniqueFd link = raw_link(path);
    static UniqueFd arena(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    require(ftruncate(arena.get(), kArenaSize) == 0, "an arena");
    fcntl(arena.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    const Hello hello = {kFabricVersion, 9, 77, member.fabric_hash(), kArenaSize};
    const MessageHeader header = {1, 0, sizeof hello, 0};
    const int fds[] = {arena.get(), arena.get()};
    require(send_record(link.get(), record_of(header, bytes_of(hello)), fds) == 0, "a greeting");
    return link;
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

TEST(FabricPeer, OfAnotherVersionIsRefusedWithAMessage) {
    TemporaryFabric fabric;
    Member member;
    const std::string told = captured_stderr([&] {
        UniqueFd link = raw_link(fabric.path());
        const Hello hello = {kFabricVersion + 1, 9, 77, member->fabric_hash(), kArenaSize};
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
    // More than a socket takes: the rest waits in our own queue, up to its bound.
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

// -- the service thread
// ----------------------------------------------------------------------------

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
