// SPDX-License-Identifier: BSD-2-Clause
// Log destinations, the initial trace level, and the trace dump after an error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>

#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "support/log/log.hpp"
#include "support/log/trace_dump.hpp"
#include "support/trace/trace_level.hpp"
#include "support/trace/trace_points.hpp"
#include "support/trace/trace_text.hpp"
#include "test/support/process.hpp"

namespace {

std::vector<std::pair<int, std::string>> g_syslog;

}  // namespace

/// Replaces the C library's.
extern "C" void syslog(int priority, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    g_syslog.emplace_back(priority, text);
}

namespace {

using namespace support;

class Log : public testing::Test {
  protected:
    Log() { g_syslog.clear(); }
    ~Log() override {
        for (const char* name : kNames) unsetenv(name);
    }

    static void tell(const char* what) { report<kUnknownSetting>(what, "b"); }
    static std::string content(const std::string& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    static int lines_in(const std::string& text) {
        return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }

    static constexpr const char* kNames[] = {
        "OPENDAT_LOG",      "OPENDAT_LOG_FILE", "OPENDAT_LOG_SIZE", "OPENDAT_LOG_COUNT",
        "DAPL_DBG_DEST",    "DAT_DBG_DEST",     "DAPL_DBG_TYPE",    "DAPL_DBG_LEVEL",
        "DAPL_TRACE_LEVEL", "DAT_TRACE_LEVEL",  "DAT_DBG_TYPE",     "OPENDAT_TRACE_DUMP"};
    test::TemporaryDirectory place;
    const std::string directory = place.path();
};

TEST_F(Log, a_file_that_is_named_gets_the_lines_with_time_and_process) {
    const std::string file = directory + "/log.%p";
    setenv("OPENDAT_LOG_FILE", file.c_str(), 1);
    EXPECT_EQ(test::captured_stderr([] { tell("first"); }), "");
    const std::string pid = std::to_string(getpid());
    const std::string text = content(directory + "/log." + pid);
    EXPECT_NE(text.find(" " + pid + " "), std::string::npos) << text;
    EXPECT_NE(text.find("warning: unknown setting in the environment: first"), std::string::npos)
        << text;
    EXPECT_EQ(lines_in(text), 1);
}

TEST_F(Log, several_destinations_get_each_line) {
    setenv("OPENDAT_LOG", "file,stderr,syslog", 1);
    setenv("OPENDAT_LOG_FILE", (directory + "/log").c_str(), 1);
    EXPECT_EQ(lines_in(test::captured_stderr([] { tell("all"); })), 1);
    EXPECT_EQ(lines_in(content(directory + "/log")), 1);
    EXPECT_EQ(g_syslog.size(), 1u);
}

TEST_F(Log, a_file_that_is_full_is_renamed_and_only_so_many_are_kept) {
    setenv("OPENDAT_LOG_FILE", (directory + "/a.log").c_str(), 1);
    setenv("OPENDAT_LOG_SIZE", "1", 1);
    setenv("OPENDAT_LOG_COUNT", "2", 1);
    for (int i = 0; i < 60; ++i) tell("again");
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        ++files;
        EXPECT_LE(entry.file_size(), 1024u) << entry.path();
    }
    EXPECT_EQ(files, 3);
    EXPECT_TRUE(std::filesystem::exists(directory + "/a.1.log"));
    EXPECT_TRUE(std::filesystem::exists(directory + "/a.2.log"));
}

TEST_F(Log, threads_that_write_one_file_lose_no_line_when_it_is_renamed) {
    setenv("OPENDAT_LOG_FILE", (directory + "/a.log").c_str(), 1);
    setenv("OPENDAT_LOG_SIZE", "2", 1);
    setenv("OPENDAT_LOG_COUNT", "1000", 1);
    std::vector<test::Thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int n = 0; n < 250; ++n) tell("again");
        });
    for (test::Thread& thread : threads) thread.join();
    int lines = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        lines += lines_in(content(entry.path()));
    EXPECT_EQ(lines, 1000);
}

TEST_F(Log, a_file_is_its_users_alone) {
    const std::string file = directory + "/log";
    umask(0);
    setenv("OPENDAT_LOG_FILE", file.c_str(), 1);
    tell("first");
    struct stat status = {};
    ASSERT_EQ(stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

/// Another process's lock on the log file, taken here by this process, delays no line.
TEST_F(Log, a_lock_on_the_file_holds_up_no_line) {
    const std::string file = directory + "/log";
    setenv("OPENDAT_LOG_FILE", file.c_str(), 1);
    setenv("OPENDAT_LOG_SIZE", "1", 1);
    tell("first");
    const int held = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(held, LOCK_EX), 0);
    for (int i = 0; i < 60; ++i) tell("again");
    EXPECT_EQ(lines_in(content(file)), 61) << "it is not renamed meanwhile";
    close(held);
    tell("last");
    EXPECT_EQ(lines_in(content(file)), 1);
}

/// Each of these would divert the lines or block the program.
TEST_F(Log, what_is_no_file_of_ones_own_is_refused_and_told) {
    const std::string link = directory + "/link", other = directory + "/other";
    const std::string fifo = directory + "/fifo", twice = directory + "/twice";
    std::ofstream(other) << "other\n";
    ASSERT_EQ(symlink(other.c_str(), link.c_str()), 0);
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    ASSERT_EQ(::link(other.c_str(), twice.c_str()), 0);
    for (const std::string& name : {link, fifo, twice, directory}) {
        // A process of its own, since the message is printed once per process.
        test::Child child([&](test::Channel&) {
            setenv("OPENDAT_LOG_FILE", name.c_str(), 1);
            const std::string told = test::captured_stderr([] { tell("here"); });
            test::require(lines_in(told) == 2 && told.find("[DAT280]") != std::string::npos, told);
        });
        EXPECT_EQ(child.wait(), 0) << name;
        EXPECT_EQ(content(other), "other\n") << name;
    }
}

TEST_F(Log, a_file_that_cannot_be_written_is_told_once_and_the_lines_go_to_stderr) {
    setenv("OPENDAT_LOG_FILE", (directory + "/missing/log").c_str(), 1);
    const std::string told = test::captured_stderr([] {
        tell("one");
        tell("two");
    });
    EXPECT_EQ(lines_in(told), 3) << told;
    EXPECT_NE(told.find("[DAT280]"), std::string::npos) << told;
    EXPECT_FALSE(std::filesystem::exists(directory + "/missing"));
}

TEST_F(Log, syslog_gets_the_line_with_its_urgency) {
    setenv("OPENDAT_LOG", "syslog", 1);
    EXPECT_EQ(test::captured_stderr([] { tell("urgent"); }), "");
    ASSERT_EQ(g_syslog.size(), 1u);
    EXPECT_EQ(g_syslog[0].first, LOG_USER | LOG_WARNING);
    EXPECT_NE(
        g_syslog[0].second.find("opendat: warning: unknown setting in the environment: urgent"),
        std::string::npos)
        << g_syslog[0].second;
}

TEST_F(Log, the_reference_s_destination_2_is_syslog_and_1_is_stderr) {
    setenv("DAPL_DBG_DEST", "2", 1);
    EXPECT_EQ(test::captured_stderr([] { tell("a"); }), "");
    EXPECT_EQ(g_syslog.size(), 1u);
    setenv("DAPL_DBG_DEST", "1", 1);
    EXPECT_NE(test::captured_stderr([] { tell("a"); }), "");
    EXPECT_EQ(g_syslog.size(), 1u);
    setenv("DAPL_DBG_DEST", "3", 1);
    EXPECT_NE(test::captured_stderr([] { tell("a"); }), "");
    EXPECT_EQ(g_syslog.size(), 2u);
}

TEST_F(Log, an_unknown_destination_is_told_once_and_is_stderr) {
    setenv("OPENDAT_LOG", "printer", 1);
    const std::string told = test::captured_stderr([] {
        tell("one");
        tell("two");
    });
    EXPECT_EQ(lines_in(told), 3) << told;
    EXPECT_NE(told.find("OPENDAT_LOG is 'printer'"), std::string::npos) << told;
}

class FirstLevel : public Log {
  protected:
    ~FirstLevel() override { set_trace_side(TraceSide::kDapl); }
    int with(const char* name, const char* value) {
        for (const char* other : kNames) unsetenv(other);
        setenv(name, value, 1);
        return level_from_settings();
    }
};

TEST_F(FirstLevel, is_the_side_s_own_setting) {
    EXPECT_EQ(level_from_settings(), 3);
    EXPECT_EQ(with("DAPL_TRACE_LEVEL", "10"), 10);
    EXPECT_EQ(with("DAT_TRACE_LEVEL", "7"), 3);
    set_trace_side(TraceSide::kDat);
    EXPECT_EQ(level_from_settings(), 7);
    EXPECT_EQ(with("DAPL_TRACE_LEVEL", "10"), 3);
}

TEST_F(FirstLevel, follows_the_reference_s_dapl_variables_where_its_own_is_not_set) {
    EXPECT_EQ(with("DAPL_DBG_TYPE", "0"), 0);
    EXPECT_EQ(with("DAPL_DBG_TYPE", "1"), 1);
    EXPECT_EQ(with("DAPL_DBG_TYPE", "3"), 2);
    EXPECT_EQ(with("DAPL_DBG_TYPE", "0x8"), 5) << "connection manager";
    EXPECT_EQ(with("DAPL_DBG_TYPE", "0x80"), 2) << "completion errors";
    EXPECT_EQ(with("DAPL_DBG_TYPE", "0x100"), 7) << "calls";
    EXPECT_EQ(with("DAPL_DBG_TYPE", "0xffffffff"), 7);
    EXPECT_EQ(with("DAPL_DBG_LEVEL", "0"), 3);
    EXPECT_EQ(with("DAPL_DBG_LEVEL", "2"), 7);
    setenv("DAPL_TRACE_LEVEL", "1", 1);
    EXPECT_EQ(level_from_settings(), 1) << "our own goes first";
}

TEST_F(FirstLevel, follows_the_reference_s_dat_variable_where_its_own_is_not_set) {
    set_trace_side(TraceSide::kDat);
    EXPECT_EQ(with("DAT_DBG_TYPE", "0"), 0);
    EXPECT_EQ(with("DAT_DBG_TYPE", "1"), 1);
    EXPECT_EQ(with("DAT_DBG_TYPE", "2"), 3);
    EXPECT_EQ(with("DAT_DBG_TYPE", "8"), 5);
    EXPECT_EQ(with("DAT_DBG_TYPE", "0xff"), 7);
    setenv("DAT_TRACE_LEVEL", "2", 1);
    EXPECT_EQ(level_from_settings(), 2);
}

TEST_F(Log, an_error_brings_a_dump_of_all_threads_events_where_it_is_asked_for_three_times) {
    setenv("OPENDAT_TRACE_DUMP", "1", 1);
    trace_state(0x12355000000aU, 0, "dat_ep_connect", 0, 6);
    test::Thread([] {
        trace_return(TraceCall::ep_free, TracePath::kControl, 0x123550000abcU, 0, 0);
    }).join();
    const auto fail = [] { report<kNoConfFile>("ia", "file", "cause"); };
    const std::string told = test::captured_stderr(fail);
    EXPECT_NE(told.find("EP 12355000000a UNCONNECTED -> ACTIVE_CONNECTION_PENDING: dat_ep_connect"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find("EP 123550000abc dat_ep_free = 0x0"), std::string::npos) << told;
    EXPECT_NE(told.find("message DAT001"), std::string::npos) << told;
    EXPECT_EQ(lines_in(test::captured_stderr([] { tell("a warning"); })), 1);
    for (int i = 0; i < 2; ++i) EXPECT_GT(lines_in(test::captured_stderr(fail)), 3);
    EXPECT_EQ(lines_in(test::captured_stderr(fail)), 1);
}

TEST_F(Log, each_kind_of_event_becomes_a_line_from_its_level_on) {
    const auto lines = [](int level, const std::function<void()>& body) {
        set_trace_level(level);
        const std::string told = test::captured_stderr(body);
        set_trace_level(3);
        return lines_in(told);
    };
    const auto state = [] { trace_state(1, 0, "a cause", 0, 6); };
    const auto sent = [] { trace_sent(1, "request", 2, 3); };
    const auto returned = [] { trace_return(TraceCall::ep_free, TracePath::kControl, 1, 0, 0); };
    const auto post = [] { trace_post(1, {TraceCall::ep_post_send, 2, 3, 1, 0}, 0); };
    EXPECT_EQ(lines(4, state) + lines(4, sent) + lines(6, returned) + lines(9, post), 0);
    EXPECT_EQ(lines(5, state), 1);
    EXPECT_EQ(lines(5, sent), 1);
    EXPECT_EQ(lines(7, returned), 1);
    EXPECT_EQ(lines(10, post), 1);
}

TEST(TraceText, names_calls_states_and_objects) {
    EXPECT_EQ(call_name(static_cast<std::uint32_t>(TraceCall::ep_connect)), "dat_ep_connect");
    EXPECT_EQ(call_name(4711), "call 4711");
    EXPECT_EQ(support::ep_state_name(9), "CONNECTED");
    EXPECT_EQ(support::ep_state_name(99), "state 99");
    EXPECT_EQ(object_name(0x12355000000aU, true), "EP 12355000000a");
    EXPECT_EQ(object_name(7, false), "handle 0x7");
}

TEST(TraceText, an_unknown_event_of_a_later_release_is_named_by_its_number) {
    TraceRecord record{};
    record.event = 999;
    EXPECT_EQ(to_text(record), "unknown event 999");
}

}  // namespace
