// SPDX-License-Identifier: BSD-2-Clause
#include "support/thread/poll_patience.hpp"

#include <gtest/gtest.h>

namespace {

using support::PollPatience;

/// @return how many polls in vain come before a yield.
unsigned polls_until_yield(PollPatience& patience) {
    unsigned polls = 1;
    while (!patience.found_nothing()) ++polls;
    return polls;
}

/// A wait that a yield ends, in which another thread ran or did not.
unsigned wait_that_a_yield_ends(PollPatience& patience, bool somebody_ran) {
    const unsigned polls = polls_until_yield(patience);
    patience.yielded(somebody_ran);
    patience.found_something();
    return polls;
}

TEST(PollPatience, where_only_yields_end_waits_they_come_sooner_and_sooner) {
    PollPatience patience;
    EXPECT_EQ(wait_that_a_yield_ends(patience, true), PollPatience::kMostPolls);
    unsigned polls = 0;
    for (int i = 0; i < 20; ++i) polls = wait_that_a_yield_ends(patience, true);
    EXPECT_LT(polls, 10u);
}

TEST(PollPatience, a_yield_while_nobody_else_ran_makes_the_next_one_come_later) {
    PollPatience patience;
    for (int i = 0; i < 20; ++i) wait_that_a_yield_ends(patience, true);
    for (int i = 0; i < 20; ++i) wait_that_a_yield_ends(patience, false);
    EXPECT_EQ(polls_until_yield(patience), PollPatience::kMostPolls);
}

TEST(PollPatience, what_comes_between_two_yields_changes_no_later_wait) {
    PollPatience patience;
    polls_until_yield(patience);
    patience.yielded(true);
    EXPECT_FALSE(patience.found_nothing());
    patience.found_something();
    EXPECT_EQ(polls_until_yield(patience), PollPatience::kMostPolls);
}

}  // namespace
