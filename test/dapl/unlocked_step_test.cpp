// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Steps that the event thread takes without connection_lock.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "dapl/cm/unlocked_step.hpp"
#include "test/support/process.hpp"

namespace {

using dapl::connection_lock;
using dapl::cm::UnlockedStep;
using support::MutexLock;

TEST(UnlockedStep, other_threads_have_the_lock_while_a_step_is_taken) {
    const MutexLock guard(connection_lock);
    UnlockedStep step;
    const bool goes_on = step.run([] {
        test::Thread other([] { const MutexLock theirs(connection_lock); });
        other.join();
    });
    EXPECT_TRUE(goes_on);
}

/// Runs a step during which another thread overtakes; the step ends when that thread is about to.
/// @param overtake called by the other thread with the lock held.
/// @return what run() returns to the step's own thread.
template <class Overtake>
bool overtaken_by(UnlockedStep& step, const Overtake& overtake) {
    std::atomic<bool> is_working{false}, is_about_to{false}, is_done{false};
    test::Thread other([&] {
        while (!is_working) std::this_thread::yield();
        const MutexLock theirs(connection_lock);
        is_about_to = true;
        overtake();
        EXPECT_TRUE(is_done);
    });
    bool goes_on;
    {
        const MutexLock guard(connection_lock);
        goes_on = step.run([&] {
            is_working = true;
            while (!is_about_to) std::this_thread::yield();
            is_done = true;
        });
    }
    other.join();
    return goes_on;
}

TEST(UnlockedStep, who_overtakes_waits_for_the_step_and_its_thread_goes_no_further) {
    auto step = std::make_unique<UnlockedStep>();
    EXPECT_FALSE(overtaken_by(*step, [&]() REQUIRES(connection_lock) { step->overtake(); }));
    const MutexLock guard(connection_lock);
    EXPECT_TRUE(step->run([] {}));
    step.reset();
}

TEST(UnlockedStep, a_connection_that_ends_during_a_step_waits_for_it) {
    auto step = std::make_unique<UnlockedStep>();
    UnlockedStep& during = *step;
    EXPECT_FALSE(overtaken_by(during, [&]() REQUIRES(connection_lock) { step.reset(); }));
}

TEST(UnlockedStep, nothing_is_waited_for_between_steps) {
    const MutexLock guard(connection_lock);
    UnlockedStep step;
    step.overtake();
    EXPECT_TRUE(step.run([] {}));
    step.overtake();
}

}  // namespace
