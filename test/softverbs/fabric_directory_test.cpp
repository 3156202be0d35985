// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where a fabric lives: its directory and its index.
#include "test/softverbs/fabric_fixture.hpp"

namespace {

/// Points SOFTVERBS_FABRIC at the path for the rest of the test.
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

TEST(FabricDirectory, HasTheNextNameForAllProcessesOfAUserWhereAnotherUserHasMadeTheFirst) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    constexpr uid_t kUser = 61234;
    constexpr auto kFabric = support::PrivateDirectory::Purpose::kFabric;
    const std::string first = support::PrivateDirectory::default_path(kFabric, kUser);
    const std::string second = first + "-2";
    ASSERT_EQ(mkdir(first.c_str(), 0700), 0) << first;
    const auto join = [&](Channel& channel) {
        unsetenv("SOFTVERBS_FABRIC");
        require(setgid(kUser) == 0 && setuid(kUser) == 0, "another user");
        std::optional<Member> member;
        const std::string told = captured_stderr([&] {
            member.emplace();
            require(bool(Directory::open()), "it opens again");
        });
        require(bool(*member), "it joins");
        const auto at = told.find("DAT312");
        require(at != std::string::npos && told.find("DAT312", at + 1) == std::string::npos,
                "reported once: " + told);
        require(told.find(first) < told.find(second), "with both names: " + told);
        channel.send((*member)->fabric_hash());
        channel.meet();
    };
    {
        Child one(join);
        const auto hash = one.channel().receive<std::uint64_t>();
        Child other(join);
        EXPECT_EQ(other.channel().receive<std::uint64_t>(), hash);
        // The first name is free again, but newcomers still join the others under the second.
        EXPECT_EQ(rmdir(first.c_str()), 0);
        EXPECT_EQ(support::PrivateDirectory::default_path(kFabric, kUser), second);
        one.channel().meet();
        other.channel().meet();
        EXPECT_EQ(one.wait(), 0);
        EXPECT_EQ(other.wait(), 0);
    }
    std::filesystem::remove_all(second);
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

TEST(FabricIndex, APortThatIsChosenServesConnectionsToDifferentDestinations) {
    TemporaryFabric fabric;
    Member member;
    softverbs::Index& index = member->index();
    const auto key_to = [](std::uint16_t destination) {
        PortKey key{kPortSpace, in6addr_loopback, 0};
        if (destination != 0) key.destination = hash_of_destination(in6addr_loopback, destination);
        return key;
    };
    std::set<std::uint16_t> ports;
    while (const auto port = index.bind_port(key_to(1))) ports.insert(*port);
    EXPECT_EQ(ports.size(), 32768u);  // 32768 to 65535
    EXPECT_EQ(index.bind_port(key_to(1)).error(), EADDRNOTAVAIL);
    EXPECT_EQ(index.bind_port(key_to(0)).error(), EADDRNOTAVAIL) << "where to is not known";
    PortKey second = key_to(2);
    const auto shared = index.bind_port(second);
    ASSERT_TRUE(shared) << shared.error();
    second.port = *shared;
    const PortKey wanted{kPortSpace, in6addr_loopback, *shared};
    EXPECT_EQ(index.bind_port(wanted).error(), EADDRINUSE);
    index.release_port(second);
    EXPECT_EQ(index.bind_port(wanted).error(), EADDRINUSE) << "the first is still there";
    PortKey first = key_to(1);
    first.port = *shared;
    index.release_port(first);
    EXPECT_TRUE(index.bind_port(wanted));
    EXPECT_FALSE(index.bind_port(key_to(2)) == Result<std::uint16_t>(*shared));
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

}  // namespace
