// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tests of the helpers that all test programs share (test/support/process.hpp).
#include "test/support/process.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace test {
namespace {

TEST(Processes, WhatAThreadThrowsIsThrownAgainWhereItIsJoined) {
    std::vector<Thread> threads;
    threads.emplace_back([] { throw std::runtime_error("of the thread"); });
    threads.emplace_back([](int number) { require(number == 3, "its argument"); }, 3);
    EXPECT_THROW(threads[0].join(), std::runtime_error);
    EXPECT_NO_THROW(threads[1].join());
    const Thread joined_at_its_end([] { throw std::runtime_error("which nobody asks for"); });
}

TEST(Processes, ASettingIsWhatItWasAfterwards) {
    setenv("OPENDAT_TEST_SETTING", "before", 1);
    {
        const Setting changed("OPENDAT_TEST_SETTING", "now"), made("OPENDAT_TEST_OTHER", "now");
        EXPECT_STREQ(getenv("OPENDAT_TEST_SETTING"), "now");
        EXPECT_STREQ(getenv("OPENDAT_TEST_OTHER"), "now");
    }
    EXPECT_STREQ(getenv("OPENDAT_TEST_SETTING"), "before");
    EXPECT_EQ(getenv("OPENDAT_TEST_OTHER"), nullptr);
    unsetenv("OPENDAT_TEST_SETTING");
}

TEST(Processes, TimesAfterWhichATestGivesUpAreMultiplied) {
    const Setting scale("TEST_TIME_SCALE", "2.5");
    EXPECT_EQ(scaled(2s), 5s);
    const Setting smaller("TEST_TIME_SCALE", "0.01");
    EXPECT_EQ(scaled(2s), 2s) << "never shorter";
}

TEST(Processes, WhoMeetsBehindWorkOfManyStepsWaitsForEachStepAlone) {
    Child child([](Channel& channel) { channel.meet(); });
    child.channel().meet_after([] { return 0; });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
