// SPDX-License-Identifier: BSD-2-Clause
// How softverbs(1) shows arenas whose owners misbehave.
// Included first, since its kArenaSize is another than softverbs::kArenaSize.
#include "test/softverbs/fabric_fixture.hpp"

#include <infiniband/verbs.h>

#include <random>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "tools/softverbs/members.hpp"

namespace {

using namespace softverbs::tool;

constexpr std::uint32_t kBlock = 5;

/// An arena as large as a real one that contains only its header.
class FakeArena {
  public:
    FakeArena() : fd_(memfd_create("arena", MFD_CLOEXEC)) {
        require(ftruncate(fd_.get(), static_cast<off_t>(softverbs::kArenaSize)) == 0, "a size");
        put(offsetof(ArenaHeader, magic), kArenaMagic);
        put(offsetof(ArenaHeader, size), softverbs::kArenaSize);
        put(offsetof(ArenaHeader, qp_blocks), kBlock + 1);
    }
    template <class T>
    void put(std::uint64_t offset, const T& value) {
        require(pwrite(fd_.get(), &value, sizeof value, static_cast<off_t>(offset)) == sizeof value,
                "a write");
    }
    void put_garbage(std::uint64_t offset, std::size_t size, unsigned seed) {
        std::mt19937 random(seed);
        std::vector<std::uint32_t> words(size / 4);
        for (auto& word : words) word = random();
        require(pwrite(fd_.get(), words.data(), size, static_cast<off_t>(offset)) ==
                    static_cast<ssize_t>(size),
                "a write");
    }
    ArenaSnapshot read(const std::vector<std::uint32_t>& blocks = {kBlock}) {
        return read_arena(fd_.get(), blocks);
    }
    blkcnt_t allocated() const {
        struct stat status = {};
        fstat(fd_.get(), &status);
        return status.st_blocks;
    }

  private:
    UniqueFd fd_;
};

constexpr std::uint64_t qp_at(std::uint32_t place) {
    return kQpTable + std::uint64_t{place} * sizeof(QpEntry);
}
constexpr std::uint64_t mr_at(std::uint32_t index) {
    return kMrTable + std::uint64_t{index} * sizeof(MrEntry);
}

}  // namespace

TEST(ArenaSnapshot, ShowsWhatStandsInTheTables) {
    FakeArena arena;
    const std::uint32_t number = kBlock * kQpsPerBlock + 7;
    arena.put(qp_at(7) + offsetof(QpEntry, qp_num), number);
    arena.put(qp_at(7) + offsetof(QpEntry, readiness), Readiness::kReady);
    arena.put(qp_at(7) + offsetof(QpEntry, qp_type), std::uint32_t{IBV_QPT_RC});
    arena.put(qp_at(7) + offsetof(QpEntry, dest_qp_num), std::uint32_t{0x1234});
    const std::uint32_t far = kMaxMrs - 1;
    arena.put(mr_at(far) + offsetof(MrEntry, key), far << kKeyIndexShift | 0x321);
    arena.put(mr_at(far) + offsetof(MrEntry, address), std::uint64_t{0x10000});
    arena.put(mr_at(far) + offsetof(MrEntry, length), std::uint64_t{0x3000});
    arena.put(mr_at(far) + offsetof(MrEntry, shared_begin), std::uint64_t{0x11000});
    arena.put(mr_at(far) + offsetof(MrEntry, shared_end), std::uint64_t{0x12000});
    const ArenaSnapshot found = arena.read();
    EXPECT_EQ(found.senseless, 0u);
    ASSERT_EQ(found.queue_pairs.size(), 1u);
    EXPECT_EQ(found.queue_pairs[0].number, number);
    EXPECT_EQ(found.queue_pairs[0].type, "RC");
    EXPECT_EQ(found.queue_pairs[0].state, "ready");
    EXPECT_EQ(found.queue_pairs[0].destination, 0x1234u);
    ASSERT_EQ(found.regions.size(), 1u);
    EXPECT_EQ(found.regions[0].length, 0x3000u);
    EXPECT_EQ(found.regions[0].shared, 0x1000u);
}

TEST(ArenaSnapshot, ReadingAllocatesNothingInSomebodyElsesArena) {
    FakeArena arena;
    arena.put(mr_at(4711) + offsetof(MrEntry, key), 4711u << kKeyIndexShift | 0x321);
    const blkcnt_t before = arena.allocated();
    EXPECT_EQ(arena.read().regions.size(), 1u);
    EXPECT_EQ(arena.allocated(), before);
}

TEST(ArenaSnapshot, GarbageInEveryTableIsCountedAndNeverFollowed) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        FakeArena arena;
        arena.put_garbage(kQpTable, kQpsPerBlock * sizeof(QpEntry), seed);
        arena.put_garbage(kCqTable, 64 * sizeof(CqHeader), seed);
        arena.put_garbage(kSrqTable, 64 * sizeof(SrqHeader), seed);
        arena.put_garbage(kMrTable + (kMaxMrs - 4096) * sizeof(MrEntry), 4096 * sizeof(MrEntry),
                          seed);
        const ArenaSnapshot found = arena.read();
        EXPECT_GT(found.senseless, 4096u) << seed;
        for (const RegionInfo& region : found.regions) EXPECT_LE(region.shared, region.length);
    }
}

TEST(ArenaSnapshot, NumbersThatTheIndexGivesToAnotherAreNotShown) {
    FakeArena arena;
    arena.put(qp_at(0) + offsetof(QpEntry, qp_num), kBlock * kQpsPerBlock);
    const ArenaSnapshot found = arena.read({kBlock + 1});
    EXPECT_TRUE(found.queue_pairs.empty());
    EXPECT_EQ(found.senseless, 1u);
}

TEST(ArenaSnapshot, WhatIsNoArenaIsSaidToMakeNoSense) {
    const UniqueFd empty(memfd_create("empty", MFD_CLOEXEC));
    EXPECT_EQ(read_arena(empty.get(), {}).senseless, 1u);
    FakeArena other;
    other.put(offsetof(ArenaHeader, magic), kArenaMagic + 1);
    EXPECT_EQ(other.read().senseless, 1u);
}

TEST(AskMembers, AMemberWhoseArenaIsNoneOfOursIsShownWithoutItsObjects) {
    const TemporaryFabric fabric;
    Member member;
    ASSERT_TRUE(member);
    const auto directory = Directory::open(Directory::chosen_path());
    ASSERT_TRUE(directory.has_value());
    const auto survey = Index::look(**directory);
    ASSERT_TRUE(survey.has_value());
    const auto members = ask_members(**directory, *survey);
    ASSERT_EQ(members.size(), 1u);
    EXPECT_EQ(members[0].answer, Answer::kShown);
    EXPECT_EQ(members[0].pid, getpid());
    EXPECT_EQ(members[0].arena.senseless, 1u);
    // The member was not disturbed: it answers again.
    EXPECT_EQ(ask_members(**directory, *survey)[0].answer, Answer::kShown);
}
