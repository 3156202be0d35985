// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tests what other tests rely on: a child that is forked while other threads run can allocate.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

/// Allocates so many blocks of each size that the allocator needs its shared lists.
void allocate_all_sizes() {
    std::vector<void*> taken;
    for (std::size_t size = 16; size <= 64 << 10; size *= 2) {
        for (int i = 0; i < 64; ++i) taken.push_back(malloc(size));
    }
    for (void* memory : taken) free(memory);
}

TEST(QuietFork, AChildForkedBesideThreadsThatAllocateCanAllocate) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow a child made beside threads";
    for (int round = 0; round < scaled(20); ++round) {
        std::atomic<bool> started{false};
        Thread busy([&] {
            const auto end = Clock::now() + 20ms;
            do {
                allocate_all_sizes();
                started = true;
            } while (Clock::now() < end);
        });
        EXPECT_TRUE(eventually([&] { return started.load(); }));
        Child child([](Channel&) { allocate_all_sizes(); });
        EXPECT_EQ(child.wait(), 0);
        busy.join();
    }
}

}  // namespace
}  // namespace test
