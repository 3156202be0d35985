// SPDX-License-Identifier: BSD-2-Clause
// How requests and disconnects are let out a few at a time.
#include "providers/ucm/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "test/support/process.hpp"

namespace {

using dapl::connection_lock;
using dapl::ucm::Pace;
using support::MutexLock;

constexpr std::size_t kAtOnce = 64;

struct Opener final : Pace::Opener {
    void open() override { ++opened; }
    int opened = 0;
};

class PaceTest : public testing::Test {
  protected:
    void TearDown() override {
        const MutexLock guard(connection_lock);
        pace.stop();
    }
    std::size_t opened() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            openers, [](const Opener& opener) { return opener.opened == 1; }));
    }
    void enter(std::size_t count) REQUIRES(connection_lock) {
        for (std::size_t i = 0; i < count; ++i) pace.enter(openers.emplace_back());
    }

    dapl::cm::LoopHold running{**dapl::cm::EventLoop::acquire()};
    Pace pace{running.loop()};
    std::deque<Opener> openers;
};

TEST_F(PaceTest, of_a_burst_some_open_at_once_one_more_with_each_answer_and_all_in_time) {
    {
        const MutexLock guard(connection_lock);  // no tick while this thread has it
        enter(1000);
        EXPECT_EQ(opened(), kAtOnce);
        pace.leave(openers[0]);
        EXPECT_EQ(opened(), kAtOnce + 1);
        pace.leave(openers[0]);
        EXPECT_EQ(opened(), kAtOnce + 1) << "an answer counts once";
        pace.leave(openers[999]);
    }
    EXPECT_TRUE(test::eventually([&] {
        const MutexLock guard(connection_lock);
        return opened() == 999;
    }));
    const MutexLock guard(connection_lock);
    EXPECT_EQ(openers[999].opened, 0) << "who has left does not open";
}

TEST_F(PaceTest, those_written_off_after_a_tick_without_answer_no_longer_count) {
    {
        const MutexLock guard(connection_lock);
        enter(kAtOnce + 1);
    }
    ASSERT_TRUE(test::eventually([&] {
        const MutexLock guard(connection_lock);
        return opened() == kAtOnce + 1;
    }));
    const MutexLock guard(connection_lock);
    enter(2 * kAtOnce);
    const std::size_t before = opened();
    EXPECT_EQ(before, 2 * kAtOnce);
    pace.leave(openers[0]);
    EXPECT_EQ(opened(), before) << "a late answer makes no room";
    pace.leave(openers[kAtOnce]);
    EXPECT_EQ(opened(), before + 1);
}

}  // namespace
