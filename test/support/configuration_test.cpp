// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/configuration.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using support::ConfigurationText;
using support::Setting;
using Kind = support::ConfigurationProblem::Kind;

ConfigurationText read(const std::string& text) {
    return support::read_configuration(text, opendat_yaml_read_1);
}

/// @return LINE:COLUMN: text; hint, of the only problem.
std::string only_problem(const std::string& text) {
    const ConfigurationText result = read(text);
    EXPECT_EQ(result.problems.size(), 1U) << text;
    if (result.problems.empty()) return {};
    const auto& problem = result.problems[0];
    return std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
           problem_text(problem) + "; " + problem_hint(problem);
}

TEST(ConfigurationFile, settings_are_read_by_the_names_of_the_environment_with_their_places) {
    const auto text =
        read("# all of it\nsettings:\n  DAPL_ACK_RETRY: 7\n  OPENDAT_LOG: \"file\"\n");
    ASSERT_TRUE(text.problems.empty()) << problem_text(text.problems[0]);
    ASSERT_EQ(text.settings.size(), 2U);
    EXPECT_EQ(text.settings[0].setting, Setting::kAckRetries);
    EXPECT_EQ(text.settings[0].value, "7");
    EXPECT_EQ(text.settings[0].line, 3);
    EXPECT_EQ(text.settings[0].column, 19);
    EXPECT_EQ(text.settings[1].value, "file");
}

TEST(ConfigurationFile, an_IA_has_fields_and_settings_of_its_own) {
    const auto text = read(
        "ias:\n  - ia_name: ib\n    lib_path: libx.so\n    ia_params: ib0 0\n    settings:\n"
        "      DAPL_IB_MTU: 2048\n  - ia_name: other\n    settings: {DAPL_IB_SL: 3}\n");
    ASSERT_TRUE(text.problems.empty()) << problem_text(text.problems[0]);
    ASSERT_EQ(text.ias.size(), 2U);
    EXPECT_EQ(text.ias[0].ia_name, "ib");
    EXPECT_EQ(text.ias[0].line, 2);
    ASSERT_EQ(text.ias[0].fields.size(), 3U);
    EXPECT_EQ(text.ias[0].fields[2].name, "ia_params");
    EXPECT_EQ(text.ias[0].fields[2].value, "ib0 0");
    ASSERT_EQ(text.settings.size(), 2U);
    EXPECT_EQ(text.settings[0].ia_name, "ib");
    EXPECT_EQ(text.settings[1].ia_name, "other");
}

TEST(ConfigurationFile, short_names_of_trace_and_softverbs_stand_for_settings) {
    const auto text = read("trace: {level: 5}\nsoftverbs:\n  address: 127.0.0.2\n");
    ASSERT_TRUE(text.problems.empty());
    ASSERT_EQ(text.settings.size(), 3U);
    EXPECT_EQ(text.settings[0].setting, Setting::kTraceLevel);
    EXPECT_EQ(text.settings[1].setting, Setting::kDatTraceLevel);
    EXPECT_EQ(text.settings[2].setting, Setting::kSoftverbsAddress);
}

TEST(ConfigurationFile, an_unknown_setting_is_named_with_line_column_and_nearest_name) {
    EXPECT_EQ(only_problem("settings:\n  DAPL_IB_MTUU: 5\n"),
              "2:3: 'DAPL_IB_MTUU' is an unknown setting; did you mean DAPL_IB_MTU?");
}

TEST(ConfigurationFile, an_unknown_section_or_short_name_is_named_with_the_nearest) {
    EXPECT_EQ(only_problem("setings: {}\n"),
              "1:1: 'setings' is an unknown section; did you mean settings?");
    EXPECT_EQ(only_problem("trace:\n  levle: 3\n"),
              "2:3: 'levle' is an unknown key of trace; did you mean level?");
}

TEST(ConfigurationFile, a_bad_value_is_left_out_and_told_with_what_is_accepted) {
    EXPECT_EQ(only_problem("settings:\n  DAPL_ACK_RETRY: lots\n"),
              "2:19: DAPL_ACK_RETRY is 'lots', expected a number from 0 to 7; it is ignored, see "
              "opendat.yaml(5)");
    EXPECT_EQ(read("settings: {DAPL_ACK_RETRY: 8, DAPL_IB_SL: 2}").settings.size(), 1U);
    EXPECT_NE(only_problem("trace: {level: 99}").find("trace.level is '99'"), std::string::npos);
    EXPECT_NE(only_problem("settings: {DAPL_GLOBAL_ROUTING: maybe}").find("yes or no"),
              std::string::npos);
    EXPECT_NE(only_problem("settings: {DAPL_IB_SL: [1, 2]}").find("is 'a list'"),
              std::string::npos);
}

TEST(ConfigurationFile, a_value_that_stands_twice_is_told_and_the_first_one_holds) {
    const std::string text = "settings:\n  DAPL_IB_SL: 1\n  DAPL_IB_SL: 2\n";
    EXPECT_NE(only_problem(text).find("line 2 already sets it"), std::string::npos);
    EXPECT_EQ(read(text).settings[0].value, "1");
    EXPECT_NE(only_problem("settings: {SOFTVERBS_COPY: auto}\nsoftverbs:\n  copy: agent\n")
                  .find("line 1 already sets it"),
              std::string::npos);
}

TEST(ConfigurationFile, a_setting_of_the_process_is_refused_for_one_IA) {
    EXPECT_NE(only_problem("ias:\n- ia_name: a\n  settings: {OPENDAT_LOG: stderr}\n")
                  .find("it is for the process"),
              std::string::npos);
}

TEST(ConfigurationFile, what_says_which_files_are_read_is_refused) {
    for (const char* name : {"OPENDAT_CONFIG", "DAT_OVERRIDE"})
        EXPECT_NE(
            only_problem(std::string("settings: {") + name + ": /x}").find("only the environment"),
            std::string::npos);
}

TEST(ConfigurationFile, what_is_no_YAML_says_nothing_and_is_told_with_its_place) {
    const std::string text = "settings:\n  DAPL_IB_SL: 1\n  oops: [1\n";
    EXPECT_EQ(only_problem(text).substr(0, 2), "4:");
    EXPECT_TRUE(read(text).settings.empty());
    EXPECT_EQ(only_problem("a: &x 1\nb: *x\n").substr(0, 2), "1:");
    EXPECT_NE(only_problem("- !!int 3\n").find("tags"), std::string::npos);
    EXPECT_NE(only_problem("a: 1\n---\nb: 2\n").find("second document"), std::string::npos);
    EXPECT_EQ(only_problem("settings:\n  x\4: 1\n").substr(0, 4), "2:4:");
    EXPECT_NE(only_problem(std::string(100, '[')).find("deeply"), std::string::npos);
}

TEST(ConfigurationFile, an_entry_without_a_name_is_told_and_the_others_stay) {
    const std::string text = "ias:\n  - lib_path: x\n  - ia_name: b\n  - just text\n";
    const auto result = read(text);
    ASSERT_EQ(result.problems.size(), 2U);
    EXPECT_EQ(result.problems[0].line, 2);
    EXPECT_EQ(result.problems[1].line, 4);
    ASSERT_EQ(result.ias.size(), 1U);
    EXPECT_EQ(result.ias[0].ia_name, "b");
}

TEST(ConfigurationFile, an_empty_file_and_empty_sections_are_right) {
    for (const char* text : {"", "# nothing\n", "settings:\nias:\ntrace:\nsoftverbs:\n"})
        EXPECT_TRUE(read(text).problems.empty()) << text;
}

TEST(ConfigurationFile, every_short_name_has_one_meaning_in_each_library) {
    for (const auto& row : support::kShortNames) {
        const auto& info = support::kSettings[static_cast<int>(row.setting)];
        const bool is_flag = info.kind == support::SettingKind::kFlag;
        const std::string value = *info.default_value ? info.default_value : is_flag ? "yes" : "x";
        const auto text = read(std::string(row.section) + ": {" + row.name + ": '" + value + "'}");
        EXPECT_TRUE(text.problems.empty()) << row.name;
        EXPECT_FALSE(text.settings.empty()) << row.name;
    }
}

}  // namespace
