// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared heap's table of addresses, compared with a model that has an entry for each page.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <random>

#include "providers/soft/softverbs/heap/areas.hpp"

namespace softverbs::heap {
namespace {

constexpr std::uint64_t kPages = 64;
using Model = std::array<int, kPages>;  // 0: free, else the area's protection + 1

Area area_of(std::uint64_t begin, std::uint64_t end, int protection) {
    return {
        begin, end, Kind::kFile, static_cast<std::uint8_t>(protection), true, Inheritance::kCopied};
}

void expect_same(const Areas& areas, const Model& model) {
    for (std::uint64_t page = 0; page < kPages; ++page) {
        Area found;
        const int seen = areas.find(page, page + 1, found) ? found.protection + 1 : 0;
        ASSERT_EQ(seen, model[page]) << "page " << page;
    }
    for (std::size_t i = 1; i < areas.count(); ++i) {
        ASSERT_LE(areas[i - 1].end, areas[i].begin);
        ASSERT_FALSE(areas[i - 1].end == areas[i].begin && areas[i - 1].is_alike(areas[i]));
    }
}

TEST(HeapAreas, PutsAndClearsInAnyOrderLeaveWhatAByteForEachPageSays) {
    Areas areas;
    ASSERT_TRUE(areas.open());
    Model model = {};
    std::minstd_rand random(1);  // NOLINT: the same in each run
    for (int turn = 0; turn < 5000; ++turn) {
        const std::uint64_t begin = random() % kPages;
        const std::uint64_t end = begin + 1 + random() % (kPages - begin);
        const int protection = static_cast<int>(random() % 3) - 1;
        if (protection < 0)
            areas.clear(begin, end);
        else
            areas.put(area_of(begin, end, protection));
        for (std::uint64_t page = begin; page < end; ++page) model[page] = protection + 1;
        expect_same(areas, model);
        if (HasFatalFailure()) return;
    }
}

TEST(HeapAreas, AGapIsTheFirstThatIsFreeLongEnoughAndAligned) {
    Areas areas;
    ASSERT_TRUE(areas.open());
    areas.put(area_of(8, 10, 1));
    areas.put(area_of(20, 24, 1));
    EXPECT_EQ(areas.find_gap(8, kPages, 4, 1), 10u);
    EXPECT_EQ(areas.find_gap(8, kPages, 4, 8), 16u);
    EXPECT_EQ(areas.find_gap(8, kPages, 11, 1), 24u);
    EXPECT_EQ(areas.find_gap(9, kPages, 40, 8), 24u);
    EXPECT_EQ(areas.find_gap(9, kPages, 41, 1), 0u);
    EXPECT_TRUE(areas.is_free(10, 20));
    EXPECT_FALSE(areas.is_free(10, 21));
    Area found;
    ASSERT_TRUE(areas.find(22, 23, found));
    EXPECT_EQ(found.begin, 22u);
    EXPECT_EQ(found.end, 23u);
    EXPECT_FALSE(areas.find(10, 23, found));
}

}  // namespace
}  // namespace softverbs::heap
