// SPDX-License-Identifier: BSD-2-Clause
// Files of fault rules: what YAML stands for, and where it is wrong.
#include "providers/soft/softverbs/faults/rule_files.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/settings/yaml_module.hpp"

namespace {

using namespace softverbs::faults;

/// @return the rules as text, one in each line, or the error.
std::string read(const std::string& yaml) {
    const auto rules = parse_yaml_rules(yaml, opendat_yaml_read_1);
    return rules ? to_text(*rules) : rules.error();
}

/// The value that stands behind the key of a condition in a test.
const char* value_of(const std::string& key) {
    if (key == "size") return "64-4KiB";
    if (key == "type") return "rc";
    return "2";
}

}  // namespace

TEST(FaultFiles, AreListsOfTexts) {
    EXPECT_EQ(read("- write nth=1 -> flush\n- 'send: nth=2 -> flush'\n"),
              "write nth=1 -> flush\nsend nth=2 -> flush\n");
    EXPECT_EQ(read("- write: nth=1 -> flush\n- port soft1: down for 1s\n"),
              "write nth=1 -> flush\nport soft1 -> down for 1s\n")
        << "a colon behind the subject is YAML's";
    EXPECT_EQ(read("# nothing\n"), "");
}

TEST(FaultFiles, OrOfMaps) {
    EXPECT_EQ(read("- on: write\n  program: ib_*\n  nth: 5\n  do: retry_exceeded\n"),
              "write program=ib_* nth=5 -> retry_exceeded\n");
    EXPECT_EQ(read("- {do: {delay: 10ms}, probability: 0.5, on: send}\n"),
              "send probability=0.5 -> delay 10ms\n");
    EXPECT_EQ(read("- {on: port soft1/2, do: {down: {for: 2s, every: 10s}}}\n"),
              "port soft1/2 -> down for 2s every 10s\n");
    EXPECT_EQ(read("- {on: read, do: {silence: }}\n- {on: reg_mr, do: fail EIO}\n"),
              "read -> silence\nreg_mr -> fail EIO\n");
}

TEST(FaultFiles, TakeEverySubjectAndActionOfTheGrammar) {
    for (const SubjectInfo& subject : kSubjects)
        for (const ActionInfo& action : kActions) {
            const std::string text = std::string(subject.name) + " -> " + action.name;
            const auto rule = parse_rule(text);
            const std::string map =
                std::string("- {on: ") + subject.name + ", do: " + action.name + "}";
            if (rule)
                EXPECT_EQ(read(map), to_text(*rule) + '\n');
            else
                EXPECT_NE(read(map).find(rule.error()), std::string::npos) << read(map);
        }
}

TEST(FaultFiles, TakeTheConditionsOfTheGrammar) {
    for (const char* key :
         {"program", "rank", "qp", "type", "size", "nth", "every", "from", "to"}) {
        const std::string condition = std::string(key) + '=' + value_of(key);
        const auto rule = parse_rule("send " + condition + " -> flush");
        ASSERT_TRUE(rule) << condition;
        EXPECT_EQ(read(std::string("- {on: send, ") + key + ": " + value_of(key) + ", do: flush}"),
                  to_text(*rule) + '\n');
    }
}

TEST(FaultFiles, ErrorsNameLineAndColumn) {
    EXPECT_EQ(read("- on: wirte\n  do: flush\n"),
              "line 1, column 7: 'wirte', did you mean 'write'?");
    EXPECT_EQ(read("- on: write\n  nht: 4\n  do: flush\n"),
              "line 2, column 3: 'nht', did you mean 'nth'?");
    EXPECT_EQ(read("- on: write\n  nth: 0\n  do: flush\n"),
              "line 2, column 8: '0' is not a number from 1 on");
    EXPECT_EQ(read("- on: write\n  do: {delay: 1xs}\n"),
              "line 2, column 15: '1xs' is not a time, like 20ms or 1.5s");
    EXPECT_EQ(read("- write -> flush\n- on: write\n  nth: 1\n"),
              "line 2, column 3: there is no 'do', which says what happens");
    EXPECT_EQ(read("- {nth: 1, do: flush}\n"),
              "line 1, column 3: there is no 'on', which says what the rule is for");
    EXPECT_EQ(read("- {on: write, nth: 1, nth: 2, do: flush}\n").substr(0, 16), "line 1, column 2");
    EXPECT_EQ(read("write: flush\n"), "line 1, column 1: a list of rules is expected");
    EXPECT_EQ(read("- [write]\n").substr(0, 18), "line 1, column 3: ");
    EXPECT_EQ(read("- *a\n").substr(0, 16), "line 1, column 3");
}

TEST(FaultFiles, NoValueBecomesAnotherRuleOrCondition) {
    for (const char* value : {"\"1 to=2\"", "\"1;send\"", "\"1,to=2\"", "\"1 -> flush\"", "\"a#b\"",
                              "[1]", "{a: b}", "\"\""})
        EXPECT_EQ(read(std::string("- {on: write, from: ") + value + ", do: flush}").substr(0, 17),
                  "line 1, column 21")
            << value;
    EXPECT_NE(read("- {on: write, do: \"flush; send -> flush\"}").find("more than one word"),
              std::string::npos);
    EXPECT_NE(read("- {on: \"write nth=1\", do: flush}").find("more than one word"),
              std::string::npos);
}

TEST(FaultFiles, AreYamlByTheirNames) {
    support::use_yaml_reader(opendat_yaml_read_1);
    const std::string folder = testing::TempDir() + "/rules.";
    for (const char* end : {"yaml", "yml"}) {
        std::ofstream(folder + end) << "- {on: write, do: flush}\n";
        const auto rules = read_rules_file(folder + end);
        ASSERT_TRUE(rules) << rules.error();
        EXPECT_EQ(to_text(*rules), "write -> flush\n");
    }
    std::ofstream(folder + "txt") << "write -> flush\nwrit -> flush\n";
    EXPECT_EQ(read_rules_file(folder + "txt").error(), "line 2: 'writ', did you mean 'write'?");
    EXPECT_EQ(read_rules_file(folder + "none").error(), "No such file or directory");
}
