// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared table: what it counts, and the file that contains it.
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "test/broker/registration_fixture.hpp"

namespace registration {
namespace {

TEST(RegistrationTable, GivesAsManyEntriesAsThereAreAndNoMore) {
    Place place;
    auto broker = place.join(terms(3));
    for (int i = 0; i < 3; ++i) take(*broker);
    EXPECT_EQ(broker->try_take({}).error(), Refusal::kTimedOut);
    EXPECT_EQ(broker->status().entries, 3u);
}

TEST(RegistrationTable, CountsTheEntriesOfAllProcesses) {
    Place place;
    auto ours = place.join(terms(3));
    take(*ours);
    Child child([&](Channel& channel) {
        auto theirs = place.join(terms(100));
        test::require(theirs->terms().entries == 3, "the first one's terms hold");
        take(*theirs);
        take(*theirs);
        test::require(!theirs->try_take({}), "a fourth of three");
        channel.meet();
        channel.meet();
    });
    child.channel().meet();
    EXPECT_EQ(ours->status().entries, 3u);
    EXPECT_FALSE(ours->try_take({}));
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(ours->status().entries, 1u) << "who leaves gives everything back";
}

TEST(RegistrationTable, CountsBytes) {
    Place place;
    Terms limited = terms(10);
    limited.bytes = 10000;
    auto broker = place.join(limited);
    const SlotId slot = take(*broker, Class::kRdma, 6000);
    EXPECT_EQ(broker->try_take({Class::kRdma, 4001}).error(), Refusal::kTimedOut);
    EXPECT_EQ(broker->try_take({Class::kRdma, 10001}).error(), Refusal::kImpossible);
    EXPECT_TRUE(broker->try_take({Class::kRdma, 4000}));
    broker->release(slot);
    EXPECT_EQ(broker->status().bytes, 4000u);
}

TEST(RegistrationTable, ReleaseTwiceOrOfAnothersSlotChangesNothing) {
    Place place;
    auto one = place.join(terms(4)), two = place.join(terms(4));
    const SlotId slot = take(*one), other = take(*one);
    one->release(slot);
    one->release(slot);
    two->release(other);
    one->release({other.index, other.generation + 1});
    one->release({1u << 30, 1});
    EXPECT_EQ(one->status().entries, 1u);
}

TEST(RegistrationTable, AReusedSlotHasAnotherGeneration) {
    Place place;
    auto broker = place.join(terms(1));
    const SlotId first = take(*broker);
    broker->release(first);
    SlotId again = take(*broker);
    while (again.index != first.index) {
        broker->release(again);
        again = take(*broker);
    }
    EXPECT_NE(again.generation, first.generation);
}

TEST(RegistrationTable, TheFileIsItsUsersAlone) {
    Place place;
    auto broker = place.join(terms(1));
    struct stat status = {};
    ASSERT_EQ(stat(place.file().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    EXPECT_EQ(status.st_uid, geteuid());
}

TEST(RegistrationTable, TheLastOneRemovesTheFileAndTheNextLaysDownNewTerms) {
    Place place;
    {
        auto one = place.join(terms(1));
        { auto two = place.join(terms(1)); }
        EXPECT_TRUE(std::filesystem::exists(place.file()));
    }
    EXPECT_TRUE(std::filesystem::is_empty(place.path()));
    EXPECT_EQ(place.join(terms(7))->terms().entries, 7u);
}

TEST(RegistrationTable, WhatDeadProcessesLeftIsReplacedByTheNext) {
    Place place;
    Child child([&](Channel& channel) {
        auto broker = place.join(terms(2));
        take(*broker);
        channel.meet();
        channel.meet();
    });
    child.channel().meet();
    child.kill();
    child.wait();
    auto broker = place.join(terms(9));
    EXPECT_EQ(broker->terms().entries, 9u);
    EXPECT_EQ(broker->status().entries, 0u);
}

TEST(RegistrationTable, WhoLooksIsNoMember) {
    Place place;
    EXPECT_FALSE(look(place.path(), kAdapter));
    EXPECT_TRUE(tables(place.path()).empty());
    auto broker = place.join(terms(5, "clock"), 3);
    const SlotId slot = take(*broker, Class::kMessaging, 100);
    EXPECT_EQ(tables(place.path()), std::vector<std::string>{kAdapter});
    auto status = look(place.path(), kAdapter);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->adapter, kAdapter);
    EXPECT_EQ(status->policy, "clock");
    EXPECT_EQ(status->terms.entries, 5u);
    ASSERT_EQ(status->processes.size(), 1u);
    EXPECT_EQ(status->processes[0].pid, getpid());
    EXPECT_EQ(status->processes[0].share, 3u);
    EXPECT_EQ(status->processes[0].entries, 1u);
    ASSERT_EQ(status->slots.size(), 1u);
    EXPECT_EQ(status->slots[0].slot, slot.index);
    EXPECT_EQ(status->slots[0].kind, Class::kMessaging);
    EXPECT_EQ(status->slots[0].state, SlotState::kActive);
}

/// Checks that join() refuses the table's file, and the reason that it reports.
void expect_refused(const Place& place, const std::string& why) {
    bool joined = false;
    const std::string told = test::captured_stderr(
        [&] { joined = Broker::join(place.path(), kAdapter, terms(1), {}).has_value(); });
    EXPECT_FALSE(joined);
    EXPECT_NE(told.find("DAT110"), std::string::npos) << told;
    EXPECT_NE(told.find(why), std::string::npos) << told;
}

TEST(RegistrationTable, AFileThatOthersMayReadIsRefused) {
    Place place;
    auto broker = place.join(terms(1));
    chmod(place.file().c_str(), 0644);
    expect_refused(place, "other users have access to it");
}

TEST(RegistrationTable, ALinkAPipeAndADirectoryAreRefused) {
    Place place;
    symlink("/etc/passwd", place.file().c_str());
    expect_refused(place, "registrations-adapter0");
    unlink(place.file().c_str());
    mkfifo(place.file().c_str(), 0600);
    expect_refused(place, "it is not a regular file");
    unlink(place.file().c_str());
    mkdir(place.file().c_str(), 0700);
    expect_refused(place, "registrations-adapter0");
}

TEST(RegistrationTable, ADirectoryThatOthersMayEnterIsRefused) {
    Place place;
    chmod(place.path().c_str(), 0755);
    expect_refused(place, "other users have access to it");
}

TEST(RegistrationTable, AnAdaptersNameLeadsNowhereElse) {
    Place place;
    for (const std::string name : {"", "a/b", "../x", "a b", "x\n"}) {
        bool joined = true;
        const std::string told = test::captured_stderr(
            [&] { joined = Broker::join(place.path(), name, terms(1), {}).has_value(); });
        EXPECT_FALSE(joined) << name;
        EXPECT_NE(told.find("DAT110"), std::string::npos) << told;
    }
}

TEST(RegistrationTable, AFileThatIsInUseAndCutShortOrOfAnotherReleaseIsRefused) {
    Place place;
    auto broker = place.join(terms(1));
    const auto patch = [&](off_t at, std::uint32_t value) {
        const int file = open(place.file().c_str(), O_RDWR);
        EXPECT_EQ(pwrite(file, &value, sizeof value, at), 4);
        close(file);
    };
    patch(8, 77);  // Header::version
    expect_refused(place, "another release");
    patch(0, 77);  // Header::magic
    expect_refused(place, "it is not a registration table");
    std::filesystem::resize_file(place.file(), 100);
    expect_refused(place, "it is truncated");
    broker->abandon();
}

TEST(RegistrationTable, AChildOfAForkIsNoMemberAndTakesNothingWithIt) {
    Place place;
    auto broker = place.join(terms(2));
    const SlotId slot = take(*broker);
    Child child([&](Channel&) {
        test::require(broker->try_take({}).error() == Refusal::kBroken, "no entry for a child");
        test::require(!broker->next() && !broker->accept(slot), "no answers of a child");
        broker->release(slot);
        broker.reset();
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(broker->status().entries, 1u);
    EXPECT_TRUE(std::filesystem::exists(place.file()));
}

}  // namespace
}  // namespace registration
