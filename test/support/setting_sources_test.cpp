// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/setting_sources.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "support/log/log.hpp"
#include "test/support/configuration_fixture.hpp"
#include "test/support/process.hpp"

namespace {

using support::Setting;
using support::SettingOrigin;
using support::UnusedBecause;

class SettingSources : public test::ConfigurationFiles {
  protected:
    /// @return the entries about the setting, each as a line `WHERE: REASON: EXPLANATION`.
    static std::string unused(const std::string& name) {
        std::string all;
        const auto is_ia = [](std::string_view ia) { return ia == "ia" || ia == "other"; };
        for (const support::UnusedSetting& entry : support::unused_settings(is_ia))
            if (entry.name == name)
                all +=
                    entry.where + ": " + to_text(entry.because) + ": " + entry.explanation + "\n";
        return all;
    }
};

TEST_F(SettingSources,
       the_environment_goes_before_OPENDAT_CONFIG_before_the_users_file_before_the_default) {
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 0);
    EXPECT_EQ(support::setting_value(Setting::kIbServiceLevel).where, "default");
    write_user_file("settings:\n  DAPL_IB_SL: 1\n");
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 1);
    EXPECT_EQ(support::setting_value(Setting::kIbServiceLevel).where, user_file() + ":2");
    write_named_file("\nsettings: {DAPL_IB_SL: 2}\n");
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 2);
    EXPECT_EQ(support::setting_value(Setting::kIbServiceLevel).where, named_file() + ":2");
    setenv("DAPL_IB_SL", "3", 1);
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 3);
    EXPECT_EQ(support::setting_value(Setting::kIbServiceLevel).origin, SettingOrigin::kEnvironment);
    EXPECT_EQ(unused("DAPL_IB_SL"),
              named_file() + ":2: overridden: environment overrides it (3)\n" + user_file() +
                  ":2: overridden: environment overrides it (3)\n");
}

TEST_F(SettingSources, an_IA_has_its_own_value_and_the_others_have_that_of_all) {
    write_user_file(
        "settings: {DAPL_IB_MTU: 1024}\nias:\n- ia_name: ia\n  settings: {DAPL_IB_MTU: 512}\n");
    EXPECT_EQ(support::setting_integer(Setting::kIbMtu, "ia"), 512);
    EXPECT_EQ(support::setting_integer(Setting::kIbMtu, "other"), 1024);
    EXPECT_EQ(support::setting_integer(Setting::kIbMtu), 1024);
    EXPECT_TRUE(support::setting_value(Setting::kIbMtu, "ia").of_ia);
    EXPECT_EQ(unused("DAPL_IB_MTU"), "");
    setenv("DAPL_IB_MTU", "4096", 1);
    EXPECT_EQ(support::setting_integer(Setting::kIbMtu, "ia"), 4096);
}

TEST_F(SettingSources, a_file_of_more_force_goes_before_what_another_says_of_one_IA) {
    write_user_file("ias:\n- ia_name: ia\n  settings: {DAPL_IB_MTU: 512}\n");
    write_named_file("settings: {DAPL_IB_MTU: 1024}\n");
    EXPECT_EQ(support::setting_integer(Setting::kIbMtu, "ia"), 1024);
    EXPECT_NE(unused("DAPL_IB_MTU").find("overridden"), std::string::npos);
}

TEST_F(SettingSources, settings_of_an_IA_that_there_is_not_are_unused) {
    write_user_file("ias:\n- ia_name: nosuch\n  settings: {DAPL_IB_MTU: 512}\n");
    EXPECT_EQ(unused("DAPL_IB_MTU"), user_file() + ":3: unknown-ia: there is no IA nosuch\n");
}

TEST_F(SettingSources, threads_that_ask_first_all_get_the_file_s_value) {
    write_user_file("settings: {DAPL_IB_SL: 4}\n");
    for (int round = 0; round < test::scaled(20); ++round) {
        support::forget_configuration();
        std::atomic<int> right{0};
        std::vector<test::Thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back(
                [&] { right += support::setting_integer(Setting::kIbServiceLevel) == 4; });
        for (test::Thread& thread : threads) thread.join();
        EXPECT_EQ(right, 4);
    }
}

TEST_F(SettingSources, bad_values_and_unknown_names_are_unused_wherever_they_stand) {
    write_user_file("settings:\n  DAPL_IB_SL: 77\n  DAPL_IB_LS: 1\n");
    setenv("DAPL_ACK_TIMER", "soon", 1);
    setenv("OPENDAT_LOGG", "x", 1);
    EXPECT_EQ(unused("DAPL_IB_SL"),
              user_file() + ":2: bad-value: expected a number from 0 to 15\n");
    EXPECT_EQ(unused("DAPL_IB_LS"), user_file() + ":3: unknown-name: did you mean DAPL_IB_SL?\n");
    EXPECT_EQ(unused("DAPL_ACK_TIMER"), "environment: bad-value: expected a number from 0 to 31\n");
    EXPECT_EQ(unused("OPENDAT_LOGG"), "environment: unknown-name: did you mean OPENDAT_LOG?\n");
    unsetenv("OPENDAT_LOGG");
}

TEST_F(SettingSources, a_bad_variable_gives_way_to_the_file) {
    write_user_file("settings: {DAPL_RNR_TIMER: 5}\n");
    setenv("DAPL_RNR_TIMER", "x", 1);
    const std::string told = test::captured_stderr(
        [] { EXPECT_EQ(support::setting_integer(Setting::kReceiverTimer), 5); });
    EXPECT_NE(told.find("using 5"), std::string::npos) << told;
}

TEST_F(SettingSources, each_pair_that_says_one_thing_in_two_ways_has_one_that_holds) {
    for (const support::Superseding& pair : support::superseding_settings()) {
        const auto& old = support::kSettings[static_cast<int>(pair.setting)];
        const auto& by = support::kSettings[static_cast<int>(pair.by)];
        setenv(old.name, "1", 1);
        EXPECT_EQ(unused(old.name), "");
        setenv(by.name, "1", 1);
        EXPECT_NE(unused(old.name).find(std::string("superseded: ") + by.name), std::string::npos)
            << old.name;
        unsetenv(by.name);
        // A file has lower priority than the environment.
        write_user_file(std::string("settings: {") + by.name + ": '1'}\n");
        EXPECT_EQ(unused(old.name), "");
        unsetenv(old.name);
        write_user_file("");
    }
}

TEST_F(SettingSources, the_reference_name_of_the_trace_level_gives_way_as_it_is_told) {
    setenv("DAPL_DBG_TYPE", "0xffffffff", 1);
    EXPECT_EQ(support::detail::initial_trace_level(), 7);
    write_user_file("trace: {level: 5}\n");
    EXPECT_EQ(support::detail::initial_trace_level(), 7);
    unsetenv("DAPL_DBG_TYPE");
    EXPECT_EQ(support::detail::initial_trace_level(), 5);
    support::set_trace_level(3);
}

TEST_F(SettingSources, a_file_that_is_no_YAML_is_one_unused_thing_and_the_others_hold) {
    write_user_file("settings: {DAPL_IB_SL: 4}\n");
    write_named_file("settings: [\n");
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 4);
    EXPECT_NE(unused("").find("file-not-read: not valid YAML"), std::string::npos);
}

TEST_F(SettingSources, a_named_file_that_is_not_there_is_told_and_others_are_not) {
    setenv("OPENDAT_CONFIG", "/nonexistent/opendat.yaml", 1);
    support::forget_configuration();
    EXPECT_EQ(unused(""), "/nonexistent/opendat.yaml: file-not-read: No such file or directory\n");
    const std::string told = test::captured_stderr([] { support::report_configuration_once(); });
    EXPECT_NE(told.find("/nonexistent/opendat.yaml is ignored"), std::string::npos) << told;
    EXPECT_EQ(test::captured_stderr([] { support::report_configuration_once(); }), "");
}

TEST_F(SettingSources, problems_are_told_with_file_line_column_and_at_most_ten_of_a_file) {
    std::string text = "settings:\n";
    for (int i = 0; i < 12; ++i) text += "  NO_SUCH_" + std::to_string(i) + ": 1\n";
    write_user_file(text);
    const std::string told = test::captured_stderr([] { support::report_configuration_once(); });
    EXPECT_NE(told.find(user_file() + ":2:3: 'NO_SUCH_0' is an unknown setting"), std::string::npos)
        << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 11) << told;
    EXPECT_NE(told.find("2 more errors"), std::string::npos) << told;
}

TEST_F(SettingSources, a_file_that_is_too_large_or_no_file_is_not_read) {
    write_user_file(std::string((256 << 10) + 1, '#'));
    EXPECT_NE(unused("").find("larger than 256 KiB"), std::string::npos);
    setenv("OPENDAT_CONFIG", directory_.c_str(), 1);
    support::forget_configuration();
    EXPECT_NE(unused("").find("not a regular file"), std::string::npos);
}

TEST_F(SettingSources, root_does_not_read_files_that_others_own_or_may_write) {
    if (geteuid() != 0) GTEST_SKIP() << "not root";
    write_user_file("settings: {DAPL_IB_SL: 4}\n");
    ASSERT_EQ(chmod(user_file().c_str(), 0646), 0);
    support::forget_configuration();
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 0);
    EXPECT_NE(unused("").find("everybody may write it"), std::string::npos);
    ASSERT_EQ(chmod(user_file().c_str(), 0644), 0);
    ASSERT_EQ(chown(user_file().c_str(), 65534, 65534), 0);
    support::forget_configuration();
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 0);
    EXPECT_NE(unused("").find("belongs to user 65534"), std::string::npos);
}

TEST_F(SettingSources, without_the_module_a_file_is_told_and_nothing_else_changes) {
    support::use_yaml_reader(nullptr);
    if (support::YamlModule().reader()) GTEST_SKIP() << "the module is installed";
    write_user_file("settings: {DAPL_IB_SL: 4}\n");
    support::forget_configuration();
    EXPECT_EQ(support::setting_integer(Setting::kIbServiceLevel), 0);
    EXPECT_NE(unused("").find("the module that reads YAML cannot be used"), std::string::npos);
}

}  // namespace
