// SPDX-License-Identifier: BSD-2-Clause
// How `softverbs explore` judges runs, leaves faults out, and tells failures apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "tools/softverbs/explore/report.hpp"
#include "tools/softverbs/explore/stacks.hpp"

namespace {

using namespace softverbs::explore;

Rules numbers(int count) {
    Rules rules;
    for (int i = 0; i < count; ++i) rules.push_back(std::to_string(i));
    return rules;
}

bool has_all(const Rules& rules, const Rules& needed) {
    return std::all_of(needed.begin(), needed.end(), [&](const std::string& rule) {
        return std::find(rules.begin(), rules.end(), rule) != rules.end();
    });
}

/// Fails with all of `needed`. @param tried counts the sets.
TryAll fails_with(const Rules& needed, std::size_t& tried) {
    return [&needed, &tried](const std::vector<Rules>& all) -> std::optional<std::size_t> {
        tried += all.size();
        for (std::size_t i = 0; i < all.size(); ++i)
            if (has_all(all[i], needed)) return i;
        return std::nullopt;
    };
}

constexpr int exited(int status) {
    return status << 8;
}

Ending ending(int wait_status, const std::string& output = {}) {
    Ending made;
    made.wait_status = wait_status;
    made.output = output;
    return made;
}

Outcome judged(const Ending& run) {
    return judge(run, ending(0, "right"), {7}, true);
}

}  // namespace

TEST(Shrink, FindsTheOneRuleThatIsNeeded) {
    for (int needed = 0; needed < 100; ++needed) {
        std::size_t tried = 0;
        const Rules wanted = {std::to_string(needed)};
        EXPECT_EQ(shrink(numbers(100), fails_with(wanted, tried)), wanted);
        EXPECT_LE(tried, 20u);
    }
}

TEST(Shrink, FindsTheRulesThatAreNeededTogetherInTheirOrder) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        Rules all = numbers(40), wanted;
        std::sample(all.begin(), all.end(), std::back_inserter(wanted), 1 + round % 5, random);
        std::size_t tried = 0;
        EXPECT_EQ(shrink(all, fails_with(wanted, tried)), wanted);
    }
}

TEST(Shrink, KeepsAllRulesIfAllAreNeeded) {
    std::size_t tried = 0;
    const Rules all = numbers(8);
    EXPECT_EQ(shrink(all, fails_with(all, tried)), all);
    EXPECT_EQ(shrink(numbers(1), fails_with(numbers(1), tried)), numbers(1));
}

TEST(Shrink, EndsWhereNothingFailsAgain) {
    std::size_t sets = 0;
    const Rules rules = shrink(numbers(16), [&](const auto& all) {
        sets += all.size();
        return std::nullopt;
    });
    EXPECT_EQ(rules, numbers(16));
    EXPECT_LE(sets, 64u);
}

TEST(Outcome, IsACrashIfASignalEndedTheCommandOrItsChild) {
    EXPECT_EQ(judged(ending(SIGSEGV)), (Outcome{Kind::kCrash, SIGSEGV}));
    EXPECT_EQ(judged(ending(exited(128 + SIGABRT))), (Outcome{Kind::kCrash, SIGABRT}));
    EXPECT_EQ(judged(ending(exited(128 + SIGTERM))), (Outcome{Kind::kStatus, 128 + SIGTERM}));
    EXPECT_EQ(to_text(judged(ending(SIGSEGV))), "crashed with SIGSEGV");
}

TEST(Outcome, IsNoFailureIfARuleKilledTheProcess) {
    Ending killed = ending(SIGKILL);
    EXPECT_TRUE(judged(killed).is_failure());
    killed.was_killed = true;
    EXPECT_FALSE(judged(killed).is_failure());
    killed.wait_status = SIGSEGV;
    EXPECT_TRUE(judged(killed).is_failure());
}

TEST(Outcome, ComparesStatusAndOutputWithTheReference) {
    EXPECT_FALSE(judged(ending(0, "right")).is_failure());
    EXPECT_EQ(judged(ending(0, "wrong")), (Outcome{Kind::kOutput, 0}));
    EXPECT_EQ(judged(ending(exited(3), "right")), (Outcome{Kind::kStatus, 3}));
    EXPECT_FALSE(judged(ending(exited(7), "wrong")).is_failure()) << "it is accepted";
    EXPECT_FALSE(judge(ending(0, "wrong"), ending(0, "right"), {}, false).is_failure());
}

TEST(Finding, HasTheSameShapeWhateverTheNumbers) {
    EXPECT_EQ(shape_of("write program=a rank=1 qp=3 nth=7 -> retry_exceeded"),
              "write program=a -> retry_exceeded");
    EXPECT_EQ(shape_of("send program=a qp=1 nth=2 -> delay 5ms"), "send program=a -> delay 5ms");
    const Rules log = {"write qp=1 nth=2 -> flush", "send qp=1 nth=1 -> flush",
                       "write qp=2 nth=5 -> flush"};
    EXPECT_EQ(rules_with(log, shapes_of({"write qp=9 nth=9 -> flush"})), (Rules{log[0], log[2]}));
    EXPECT_TRUE(rules_with(log, shapes_of({"read qp=9 nth=9 -> flush"})).empty());
}

TEST(Finding, WordsAreQuotedForAShell) {
    EXPECT_EQ(for_shell({"a", "b c", "it's", "", "x=1", "$HOME"}),
              "a 'b c' 'it'\\''s' '' x=1 '$HOME'");
}

TEST(Stacks, AreComparedByTheirFunctions) {
    EXPECT_EQ(
        functions_in("process 5 (a), state S\nThread 1 (LWP 5 \"a\"):\n"
                     "#0  recv (fd=3) at recv.c:28\n#1  0x00007f in wait_for (x=0x1) at a.c:1\n"
                     "#2  0x0012 in main ()\n"),
        "recv\nwait_for\nmain\n");
    EXPECT_EQ(functions_in("Thread 5 (a): waits in pipe_read, system call 0\n"), "");
}

TEST(Report, JUnitHasNoCharacterThatXmlForbids) {
    Findings findings;
    findings.results = {{1, 0.5, {}}, {2, 0.5, {Kind::kCrash, SIGSEGV}}};
    Finding kind;
    kind.outcome = {Kind::kCrash, SIGSEGV};
    kind.seeds = {2};
    kind.command = "a < \"b\" & \x01\xff";
    findings.kinds.push_back(std::move(kind));
    Options options;
    options.command = {"a", "<"};
    const std::string text = as_junit(options, findings);
    EXPECT_NE(text.find("name=\"a '&lt;'\" tests=\"2\" failures=\"1\""), text.npos) << text;
    EXPECT_NE(text.find("a &lt; &quot;b&quot; &amp; ??"), text.npos) << text;
}
