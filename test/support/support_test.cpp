// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/log/captured_messages.hpp"
#include "support/log/log.hpp"
#include "support/settings/environment.hpp"
#include "support/settings/settings.hpp"
#include "test/support/process.hpp"

namespace {

using support::Setting;

TEST(Settings, an_integer_out_of_range_is_told_once_and_the_default_holds) {
    setenv("DAPL_TRACE_LEVEL", "99", 1);
    const std::string first =
        test::captured_stderr([] { EXPECT_EQ(support::setting_integer(Setting::kTraceLevel), 3); });
    const std::string second =
        test::captured_stderr([] { EXPECT_EQ(support::setting_integer(Setting::kTraceLevel), 3); });
    EXPECT_NE(first.find("DAPL_TRACE_LEVEL is '99'"), std::string::npos) << first;
    EXPECT_EQ(second, "");
    unsetenv("DAPL_TRACE_LEVEL");
}

TEST(Settings, an_unknown_variable_with_our_prefix_gets_the_nearest_name) {
    setenv("SOFTVERBS_FABRIK", "x", 1);
    setenv("DAPL_ACK_TIMERS", "20", 1);
    setenv("DAT_OVERIDE", "x", 1);
    const std::string told = test::captured_stderr(
        [] { support::warn_about_unknown_settings(support::SettingsOf::kProvider); });
    EXPECT_NE(told.find("SOFTVERBS_FABRIK"), std::string::npos) << told;
    EXPECT_NE(told.find("did you mean SOFTVERBS_FABRIC?"), std::string::npos) << told;
    EXPECT_NE(told.find("did you mean DAPL_ACK_TIMER?"), std::string::npos) << told;
    EXPECT_EQ(told.find("DAT_OVERIDE"), std::string::npos) << "that is libdat2's: " << told;
    for (const char* name : {"SOFTVERBS_FABRIK", "DAPL_ACK_TIMERS", "DAT_OVERIDE"}) unsetenv(name);
}

TEST(Settings, of_the_references_prefixes_only_what_is_nearly_a_setting_is_unknown) {
    const char* const misspelt[] = {"DAT_OVERIDE", "DAPL_DBG_TYP", "DAPL_CM_ARP_TIMEOUT",
                                    "DAPL_RNR_RETRIES"};
    const char* const right[] = {"DAPL_UCM_RETRY", "DAPL_UCM_TIMER", "DAPL_MAX_INLINE",
                                 "DAPL_WR_MAX",    "DAT_TEST_IA",    "DAT_HOME",
                                 "DAT_FILE",       "DAPL_ROOT"};
    for (const char* name : misspelt) setenv(name, "1", 1);
    for (const char* name : right) setenv(name, "1", 1);
    const std::vector<std::string_view> unknown = support::unknown_variables();
    const auto is_unknown = [&](const char* name) {
        return std::find(unknown.begin(), unknown.end(), name) != unknown.end();
    };
    for (const char* name : misspelt) EXPECT_TRUE(is_unknown(name)) << name;
    for (const char* name : right) EXPECT_FALSE(is_unknown(name)) << name;
    for (const char* name : misspelt) unsetenv(name);
    for (const char* name : right) unsetenv(name);
}

TEST(Settings, every_row_has_a_help_text_a_unique_name_and_a_default_in_its_range) {
    std::set<std::string> names;
    for (const support::SettingInfo& info : support::kSettings) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_STRNE(info.help, "") << info.name;
        if (info.kind != support::SettingKind::kInteger) continue;
        const long value = strtol(info.default_value, nullptr, 0);
        EXPECT_GE(value, info.minimum) << info.name;
        EXPECT_LE(value, info.maximum) << info.name;
    }
}

TEST(Settings, nothing_that_names_a_file_directory_socket_or_library_is_obeyed_in_setuid_programs) {
    for (const support::SettingInfo& info : support::kSettings) {
        if (info.kind == support::SettingKind::kPath) {
            EXPECT_EQ(info.in_setuid, support::InSetuid::kIgnored) << info.name;
        }
    }
}

TEST(Messages, are_kept_for_a_caller_who_listens_and_not_written_with_the_next_step_apart) {
    const std::string written = test::captured_stderr([] {
        const support::CapturedMessages kept;
        support::report<support::kUnknownIa>("ia\n", "dat.conf", "soft0");
        ASSERT_EQ(kept.all().size(), 1u);
        EXPECT_EQ(kept.all()[0].message, &support::kUnknownIa);
        EXPECT_EQ(kept.all()[0].text,
                  "IA ia? cannot be opened: dat.conf has no record of that name");
        EXPECT_EQ(kept.all()[0].next_step, "the nearest name is soft0");
    });
    EXPECT_EQ(written, "");
    const std::string after = test::captured_stderr(
        [] { support::report<support::kUnknownIa>("ia", "dat.conf", "soft0"); });
    EXPECT_NE(after, "");
}

TEST(Messages, every_id_is_unique_and_every_error_and_warning_has_a_next_step) {
    std::set<std::string> ids;
    for (const support::Message* message : support::kMessages) {
        EXPECT_TRUE(ids.insert(message->id).second) << message->id;
        EXPECT_STRNE(message->text, "") << message->id;
        if (message->level <= support::Level::kWarning) {
            EXPECT_STRNE(message->next_step, "") << message->id;
        }
    }
}

TEST(Messages, control_characters_from_files_and_peers_stay_on_one_line) {
    const std::string told = test::captured_stderr(
        [] { support::report<support::kUnknownSetting>("a\nopendat: error: forged\x1b[2J", "b"); });
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_EQ(told.find('\x1b'), std::string::npos);
}

TEST(Messages, are_told_also_by_what_runs_last_at_exit) {
    const auto tell = [] { support::report<support::kUnknownSetting>("late", "b"); };
    const std::string told = test::captured_stderr([&] {
        const pid_t child = fork();
        if (child == 0) {
            atexit(tell);  // runs after the destructors of objects created from here on
            tell();
            exit(0);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    });
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
}

TEST(Messages, a_trace_above_the_level_in_force_prints_nothing) {
    const int before = support::trace_level();
    support::set_trace_level(3);
    EXPECT_EQ(test::captured_stderr([] { support::trace(support::Level::kDebug, "value {}", 1); }),
              "");
    support::set_trace_level(7);
    EXPECT_NE(test::captured_stderr([] { support::trace(support::Level::kDebug, "value {}", 1); }),
              "");
    support::set_trace_level(before);
}

}  // namespace
