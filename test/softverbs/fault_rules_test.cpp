// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault rules as text, and what is said of those that are wrong.
#include <gtest/gtest.h>

#include <cerrno>

#include "providers/soft/softverbs/faults/plan.hpp"
#include "providers/soft/softverbs/faults/rule_text.hpp"

namespace softverbs::faults {
namespace {

TEST(FaultRules, ARuleIsPrintedAsItCanBeReadAgain) {
    for (const char* const text :
         {"send -> retry_exceeded",
          "request program=mpi* rank=3 -> delay 20ms",
          "write device=soft1/2 type=rc size=64-4KiB qp=2 every=10 from=100 to=200 -> flush",
          "read size=1MiB- nth=1000 -> acknowledgement_lost",
          "atomic times=3 probability=0.25 after=1500ms before=2s -> remote_access",
          "send type=ud probability=0.01 -> drop",
          "send -> bandwidth 200MB/s",
          "request rank=0 peer=mpi* peer_rank=1 service=7471 type=rc -> silence",
          "message peer=server service=4000 -> drop",
          "connect service=65535 -> unreachable",
          "send nth=5 -> silence for 2s",
          "send -> receiver_not_ready",
          "post_send -> fail ENOMEM",
          "reg_mr nth=7 -> fail EFAULT",
          "connect nth=2 -> reject 28",
          "connect -> unreachable",
          "resolve_addr -> error",
          "rtu nth=1 -> drop",
          "req -> delay 1s",
          "rep -> duplicate",
          "port soft1 -> down for 2s every 10s",
          "port soft0/2 after=1s -> down",
          "port -> down",
          "port soft0/2 after=1s -> lid_change every 10s",
          "port rank=1 after=1s -> client_reregister",
          "device soft1 after=1s -> fatal for 2s every 10s",
          "device -> fatal",
          "async_event program=mpi* event=srq_limit_reached nth=1 -> delay 20ms",
          "async_event -> duplicate",
          "timewait_exit -> delay 30s",
          "send type=ud nth=5 -> reorder",
          "request nth=5 -> disconnect",
          "write nth=5 -> cq_overrun",
          "connect -> unreachable for 20s"}) {
        const auto rule = parse_rule(text);
        ASSERT_TRUE(rule) << text << ": " << rule.error();
        EXPECT_EQ(to_text(*rule), text);
    }
}

TEST(FaultRules, SignsMayStandAsPeopleWriteThem) {
    const auto plain = parse_rule("write nth=1000 -> retry_exceeded");
    ASSERT_TRUE(plain);
    EXPECT_EQ(*parse_rule("write:nth=1000 -> retry_exceeded"), *plain);
    EXPECT_EQ(*parse_rule("  write: nth=1000->retry_exceeded\t"), *plain);
    const auto port = parse_rule("port soft1 -> down for 2s every 10s");
    ASSERT_TRUE(port);
    EXPECT_EQ(*parse_rule("port soft1: down for 2s every 10s"), *port);
    EXPECT_EQ(*parse_rule("send type=rc,size=8 -> flush"),
              *parse_rule("send type=rc size=8 -> flush"));
}

struct Wrong {
    const char* text;
    const char* message;  ///< a part of it
};

TEST(FaultRules, WhatIsWrongIsSaid) {
    for (const Wrong& wrong : {
             Wrong{"send", "no '->'"},
             {"-> flush", "says nothing of what it is for"},
             {"send ->", "does not say what happens"},
             {"sned -> flush", "'sned', did you mean 'send'?"},
             {"banana -> flush", "which is none of: request, send"},
             {"send nht=1 -> flush", "'nht', did you mean 'nth'?"},
             {"send nth -> flush", "'nth' is not a condition"},
             {"send nth=0 -> flush", "'0' is not a number from 1 on"},
             {"send nth=-1 -> flush", "'-1' is not a number"},
             {"send nth=1x -> flush", "'1x' is not a number"},
             {"send nth=99999999999999999999 -> flush", "is not a number"},
             {"send probability=1.5 -> flush", "not a probability"},
             {"send probability=nan -> flush", "not a probability"},
             {"send size=4KB -> flush", "not a size"},
             {"send size=8-4 -> flush", "not a size"},
             {"send type=dc -> flush", "none of rc, uc, ud, xrc"},
             {"send device=mlx5_0 -> flush", "not one of soft0 to soft15"},
             {"send device=soft16 -> flush", "not one of soft0 to soft15"},
             {"send device=soft0/3 -> flush", "not one of soft0 to soft15"},
             {"send after=3 -> flush", "'3' is not a time"},
             {"send after=2s before=1s -> flush", "after is not earlier than before"},
             {"send from=5 to=4 -> flush", "from is behind to"},
             {"send nth=3 every=2 -> flush", "nth names one alone"},
             {"send program= -> flush", "nothing behind '='"},
             {"send service=65536 -> flush", "not a port from 1 to 65535"},
             {"reg_mr peer=server -> fail", "which is none of: program"},
             {"send -> fail", "'fail', which is none of"},
             {"reg_mr -> flush", "which is none of: fail"},
             {"reg_mr qp=1 -> fail", "which is none of: program"},
             {"reg_mr -> fail EWHAT", "'EWHAT'"},
             {"send -> delay", "no time behind 'delay'"},
             {"send -> delay soon", "'soon' is not a time"},
             {"send -> bandwidth 0GB/s", "not a bandwidth"},
             {"send -> silence for", "no time behind 'for'"},
             {"send -> silence for 0s", "the time behind 'for' is 0"},
             {"send -> silence for 1s every 2s", "one word too many"},
             {"send -> flush now", "'now' is one word too many"},
             {"send type=rc -> drop", "cannot happen on a queue pair of this type"},
             {"send type=uc -> duplicate", "cannot happen"},
             {"port soft0: down every 2s", "begins again before it has ended"},
             {"port soft0: down for 2s every 2s", "begins again before it has ended"},
             {"port eth0: down", "not one of soft0"},
             {"port soft: down", "not one of soft0"},
             {"port: lid_change", "nobody hears of it when the device is opened"},
             {"port: lid_change for 2s", "one word too many"},
             {"port: fatal", "which is none of: down, lid_change"},
             {"device soft0/1: fatal", "fails with all its ports"},
             {"device: down", "which is none of: fatal"},
             {"async_event event=port -> drop", "which is none of: cq_err"},
             {"timewait_exit event=port_err -> drop", "only async_event has several events"},
             {"send type=uc -> reorder", "cannot happen on a queue pair of this type"},
             {"port soft00: down", "not one of soft0"},
             {"port soft0/1/2: down", "not one of soft0"},
         }) {
        const auto rule = parse_rule(wrong.text);
        ASSERT_FALSE(rule) << wrong.text;
        EXPECT_NE(rule.error().find(wrong.message), std::string::npos)
            << wrong.text << ": " << rule.error();
    }
}

TEST(FaultRules, AFileHasRulesCommentsAndBlankLines) {
    const auto rules = parse_rules(
        "# faults of the night\n\nsend nth=1 -> flush  # the first\n ; ;\n"
        "read -> delay 1ms; write -> delay 2ms\r\n");
    ASSERT_TRUE(rules) << rules.error();
    ASSERT_EQ(rules->size(), 3u);
    EXPECT_EQ(to_text((*rules)[2]), "write -> delay 2ms");
    const auto wrong = parse_rules("send -> flush\n\nsend -> flsh\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().rfind("line 3: 'flsh', did you mean 'flush'?", 0), 0u) << wrong.error();
}

Plan plan_of(const char* rule, std::uint64_t seed, const Identity& identity = {"program", ""}) {
    Plan plan;
    plan.rules = Plan::concerning(identity, {*parse_rule(rule)});
    plan.seed = seed;
    plan.identity = identity;
    plan.opened = std::chrono::steady_clock::now();
    return plan;
}

/// The numbers among `count` to which the plan's rule applies.
std::vector<int> applied(const Plan& plan, std::uint32_t queue_pair, int count) {
    Trigger trigger(plan, plan.rules.at(0), queue_pair);
    std::vector<int> numbers;
    for (int i = 1; i <= count; ++i)
        if (trigger.next()) numbers.push_back(i);
    return numbers;
}

TEST(FaultRules, ConditionsChooseByNumber) {
    using Numbers = std::vector<int>;
    EXPECT_EQ(applied(plan_of("send nth=3 -> flush", 1), 1, 9), Numbers({3}));
    EXPECT_EQ(applied(plan_of("send every=3 -> flush", 1), 1, 9), Numbers({3, 6, 9}));
    EXPECT_EQ(applied(plan_of("send from=3 to=4 -> flush", 1), 1, 9), Numbers({3, 4}));
    EXPECT_EQ(applied(plan_of("send from=8 -> flush", 1), 1, 9), Numbers({8, 9}));
    EXPECT_EQ(applied(plan_of("send every=2 times=2 -> flush", 1), 1, 9), Numbers({2, 4}));
    EXPECT_EQ(applied(plan_of("send probability=0 -> flush", 1), 1, 9), Numbers());
    EXPECT_EQ(applied(plan_of("send before=1min -> flush", 1), 1, 2), Numbers({1, 2}));
    EXPECT_EQ(applied(plan_of("send after=1min -> flush", 1), 1, 2), Numbers());
}

/// What a seed stands for may not change: people keep seeds that found something.
TEST(FaultRules, DecisionsByProbabilityAreTheSameEverywhereAndForEver) {
    const auto decided = applied(plan_of("send probability=0.1 -> flush", 7), 1, 100);
    EXPECT_EQ(decided, std::vector<int>({2, 6, 25, 47, 64, 77, 79, 93, 97}));
    EXPECT_EQ(applied(plan_of("send probability=0.1 -> flush", 7), 1, 100), decided);
    EXPECT_NE(applied(plan_of("send probability=0.1 -> flush", 8), 1, 100), decided);
    EXPECT_NE(applied(plan_of("send probability=0.1 -> flush", 7), 2, 100), decided);
    EXPECT_NE(applied(plan_of("read probability=0.1 -> flush", 7), 1, 100), decided);
    EXPECT_NE(applied(plan_of("send probability=0.1 -> flush", 7, {"program", "1"}), 1, 100),
              decided);
}

TEST(FaultRules, AProbabilityIsMetOnAverage) {
    for (const double probability : {0.01, 0.5, 0.99}) {
        const std::string rule = "send probability=" + std::to_string(probability) + " -> flush";
        const Plan plan = plan_of(rule.c_str(), 3);
        const auto found = static_cast<double>(applied(plan, 1, 100000).size()) / 100000;
        EXPECT_NEAR(found, probability, 0.01);
    }
}

TEST(FaultRules, RulesForOtherProgramsAndRanksDoNotConcernAProcess) {
    const Identity identity{"mpi_app", "3"};
    EXPECT_EQ(plan_of("send program=mpi* -> flush", 1, identity).rules.size(), 1u);
    EXPECT_EQ(plan_of("send program=perf -> flush", 1, identity).rules.size(), 0u);
    EXPECT_EQ(plan_of("send rank=3 -> flush", 1, identity).rules.size(), 1u);
    EXPECT_EQ(plan_of("send rank=30 -> flush", 1, identity).rules.size(), 0u);
}

}  // namespace
}  // namespace softverbs::faults
