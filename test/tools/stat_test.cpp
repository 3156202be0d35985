// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How dat_stat interprets the states of processes.
#include <gtest/gtest.h>

#include "tools/stat/hang.hpp"
#include "tools/stat/prometheus.hpp"
#include "tools/stat/state.hpp"
#include "tools/stat/state_json.hpp"
#include "tools/stat/table.hpp"

namespace stat_tool {
namespace {

constexpr std::int64_t kLimit = 5000;

/// Two processes with the ends of one connection, on which nothing hangs.
class Hang : public testing::Test {
  protected:
    Hang() {
        here_ = {1, "one", false, {library("1", "10.0.0.1", "10.0.0.2", 100, 200)}};
        there_ = {2, "two", false, {library("2", "10.0.0.2", "10.0.0.1", 200, 100)}};
    }
    static Library library(const std::string& id, const std::string& address,
                           const std::string& peer, std::uint64_t port, std::uint64_t peer_port) {
        Ep ep{};
        ep.id = "e" + id;
        ep.state = "CONNECTED";
        ep.type = "RC";
        ep.peer = peer;
        ep.local_port = port;
        ep.peer_port = peer_port;
        ep.requests.evd = ep.receives.evd = "f" + id;
        ep.receives.posted = 3;
        Evd evd{};
        evd.id = "f" + id;
        evd.streams = {"transfers"};
        Ia ia{};
        ia.name = "ia";
        ia.address = address;
        ia.eps.push_back(ep);
        ia.evds.push_back(evd);
        Library made{};
        made.resolution_ms = 1000;
        made.ias.push_back(ia);
        return made;
    }
    static Ep& ep(Process& process) { return process.libraries[0].ias[0].eps[0]; }
    static Evd& evd(Process& process) { return process.libraries[0].ias[0].evds[0]; }
    /// Sets a state in which an operation was posted long ago and nothing has completed since.
    static void stick(Work& work, const char* operation, std::int64_t age_ms = kLimit) {
        work.posted = 1;
        work.operation = operation;
        work.oldest_ms = work.idle_ms = age_ms;
    }
    std::vector<std::string> kinds(const std::vector<Process>& asked,
                                   const std::vector<Process>& others = {}) const {
        std::vector<std::string> found;
        for (const Finding& each : find_hangs(asked, others, kLimit)) found.push_back(each.kind);
        return found;
    }
    using Kinds = std::vector<std::string>;
    Process here_, there_;
};

TEST_F(Hang, is_not_found_where_receives_wait_or_requests_are_young) {
    EXPECT_EQ(kinds({here_, there_}), Kinds{});
    ep(here_).receives.idle_ms = ep(here_).receives.oldest_ms = 10 * kLimit;
    EXPECT_EQ(kinds({here_, there_}), Kinds{});
    stick(ep(here_).requests, "send", kLimit - 1);
    EXPECT_EQ(kinds({here_, there_}), Kinds{});
}

TEST_F(Hang, is_not_found_where_others_complete_behind_an_old_request) {
    stick(ep(here_).requests, "send");
    ep(here_).requests.idle_ms = 0;
    EXPECT_EQ(kinds({here_}), Kinds{});
}

TEST_F(Hang, of_a_send_without_a_receive_is_seen_from_both_ends) {
    stick(ep(here_).requests, "send");
    ep(there_).receives.posted = 0;
    EXPECT_EQ(kinds({here_}, {there_}), Kinds{"no-completion"});
    EXPECT_EQ(kinds({there_}, {here_}), Kinds{"no-receives"});
    EXPECT_EQ(kinds({there_}), Kinds{});
    const auto found = find_hangs({here_}, {there_}, kLimit);
    EXPECT_NE(found[0].text.find("0 receives posted there, 3 receives posted here"),
              std::string::npos)
        << found[0].text;
}

TEST_F(Hang, with_a_shared_receive_queue_is_no_want_of_receives) {
    stick(ep(here_).requests, "send");
    ep(there_).receives.posted = 0;
    ep(there_).srq = "5";
    EXPECT_EQ(kinds({there_}, {here_}), Kinds{});
    EXPECT_NE(find_hangs({here_}, {there_}, kLimit)[0].text.find("receives of SRQ 5 there"),
              std::string::npos);
}

TEST_F(Hang, names_the_likely_cause) {
    stick(ep(here_).requests, "RDMA write");
    const auto advice = [&](const std::vector<Process>& others) {
        return find_hangs({here_}, others, kLimit)[0].next_step;
    };
    EXPECT_NE(advice({}).find("the other end is not visible"), std::string::npos);
    EXPECT_EQ(advice({there_}), "see what process 2 (two) does");
    ep(there_).state = "DISCONNECTED";
    EXPECT_NE(advice({there_}).find("DISCONNECTED"), std::string::npos);
    evd(here_).unlooked_ms = kLimit;
    EXPECT_NE(advice({there_}).find("the program has not polled EVD f1"), std::string::npos);
}

TEST_F(Hang, joins_ends_by_both_ports_and_an_address) {
    stick(ep(here_).requests, "send");
    ep(there_).receives.posted = 0;
    const auto is_joined = [&] {
        const Process& there = there_;
        return kinds({there}, {here_}) == Kinds{"no-receives"};
    };
    EXPECT_TRUE(is_joined());
    ep(there_).peer = "10.9.9.9";  // another address of that host
    EXPECT_TRUE(is_joined());
    ep(here_).peer = "10.9.9.8";
    EXPECT_FALSE(is_joined());
    ep(here_).peer = "10.0.0.2";
    ep(there_).local_port = 201;
    EXPECT_FALSE(is_joined());
}

TEST_F(Hang, of_two_ends_that_wait_for_each_other_needs_a_thread_that_waits_at_both) {
    ep(here_).receives.idle_ms = ep(there_).receives.idle_ms = kLimit;
    evd(here_).waiter = true;
    EXPECT_EQ(kinds({here_, there_}), Kinds{});
    // The thread of the other end waits at a notification object.
    evd(there_).cno = "c";
    there_.libraries[0].ias[0].cnos.push_back({"c", true, 1, 1, false});
    EXPECT_EQ(kinds({here_, there_}), Kinds{"both-wait"});
    stick(ep(there_).requests, "send", 0);
    EXPECT_EQ(kinds({here_, there_}), Kinds{});
}

TEST_F(Hang, of_connections_requests_events_locks_and_stopped_processes) {
    ep(here_).state = "ACTIVE_CONNECTION_PENDING";
    ep(here_).history.push_back({"ACTIVE_CONNECTION_PENDING", "dat_ep_connect", kLimit});
    EXPECT_EQ(kinds({here_}), Kinds{"connecting"});
    Ia& ia = there_.libraries[0].ias[0];
    ia.requests.push_back({"c", 4711, "10.0.0.1", kLimit});
    evd(there_).waiting = 1;
    evd(there_).unlooked_ms = kLimit;
    EXPECT_EQ(kinds({there_}), (Kinds{"unanswered", "untaken"}));
    evd(there_).streams = {"async"};
    ia.busy = true;
    there_.libraries[0].busy = true;
    EXPECT_EQ(kinds({there_}), (Kinds{"locked", "locked", "unanswered"}));
    EXPECT_EQ(kinds({Process{3, "three", true, {}}}), Kinds{"stopped"});
}

TEST(Durations, are_told_in_the_unit_that_fits) {
    EXPECT_EQ(duration_text(0), "0 ms");
    EXPECT_EQ(duration_text(999), "999 ms");
    EXPECT_EQ(duration_text(5000), "5.0 s");
    EXPECT_EQ(duration_text(150'000), "2.5 min");
    EXPECT_EQ(duration_text(9'000'000), "2.5 h");
}

TEST(Prometheus, labels_keep_quotes_backslashes_and_line_ends_from_breaking_a_line) {
    Library library{};
    library.file = "a\"b\\c\nd";
    const std::string page = to_prometheus({Process{1, "p", false, {library}}});
    EXPECT_NE(page.find("library=\"a\\\"b\\\\c\\nd\""), std::string::npos) << page;
}

/// Removes each part of a valid answer, or replaces it by something of another type.
TEST(Answer, that_lacks_something_or_has_another_type_is_refused) {
    const std::string valid =
        R"({"opendat_status":1,"library":"l","resolution_ms":1000,"busy":false,"ias":[]})";
    EXPECT_EQ(parse_library(valid).file, "l");
    for (const auto& [part, other] : std::vector<std::pair<std::string, std::string>>{
             {"\"library\":\"l\",", ""},
             {"\"l\"", "7"},
             {"1000", "-1"},
             {"1000", "1.5"},
             {"1000", "18446744073709551615"},
             {"false", "0"},
             {"[]", "{}"},
             {"[]", "[1]"},
             {"[]", "[{}]"},
             {"\"opendat_status\":1", "\"opendat_status\":\"1\""},
             {"}", ""}}) {
        std::string changed = valid;
        changed.replace(changed.find(part), part.size(), other);
        EXPECT_THROW(parse_library(changed), std::runtime_error) << changed;
    }
}

}  // namespace
}  // namespace stat_tool
