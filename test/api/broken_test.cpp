// SPDX-License-Identifier: BSD-2-Clause
// Messages on stderr when a connection ends, between two real processes over soft0. Both sides of
// each test run in processes of their own, since the number of messages is limited per process.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <regex>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4890;

class ConnectionEnds : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

int count(const std::string& text, const std::string& what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

void expect_told(const std::string& told, int lines, const std::string& pattern) {
    require(count(told, "opendat: ") == lines,
            std::to_string(lines) + " lines are told, but these are: " + told);
    require(std::regex_search(told, std::regex(pattern)), "it says " + pattern + ": " + told);
}

/// Serves connections until the peer wants no more, then passes the output on stderr to `check`.
void serve(Channel& channel, const std::function<void(const std::string&)>& check) {
    const std::string told = captured_stderr([&] {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        while (channel.receive<char>() == 'n') {
            DAT_EP_HANDLE ep = side.accept_next();
            channel.send('c');
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }
    });
    check(told);
}

/// Writes to memory that the peer has not registered, which breaks the connection. By then both
/// sides know that it is established.
void write_nowhere(Side& side, const Buffer& buffer, Channel& server) {
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    server.receive<char>();
    DAT_LMR_TRIPLET local = buffer.all();
    DAT_RMR_TRIPLET target{};
    target.virtual_address = 4096;
    target.segment_length = local.segment_length;
    target.rmr_context = 0x5a5a5a5a;
    DAT_DTO_COOKIE cookie{};
    succeed(dat_ep_post_rdma_write(ep, 1, &local, cookie, &target, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
    Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    side.broken(ep);
}

/// Breaks `connections` connections, one after the other. @return the client's output on stderr.
std::string break_connections(Channel& server, int connections) {
    server.receive<char>();
    const std::string told = captured_stderr([&] {
        Side side;
        Buffer buffer(side, 64);
        for (int i = 0; i < connections; ++i) {
            server.send('n');
            write_nowhere(side, buffer, server);
        }
    });
    server.send('e');
    return told;
}

void expect_client_told(int connections, int lines, const std::string& pattern) {
    Child client([=](Channel&) {
        Child server([](Channel& channel) { serve(channel, [](const std::string&) {}); });
        expect_told(break_connections(server.channel(), connections), lines, pattern);
        require(server.wait() == 0, "the server ends well");
    });
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(ConnectionEnds, the_one_whose_request_was_wrong_is_told_the_story_on_one_line) {
    expect_client_told(
        1, 1,
        "warning: the connection of EP [0-9a-f]+ \\(handle 0x[0-9a-f]+\\) with "
        "127\\.0\\.0\\.1:4890 broke: "
        "remote access error of an RDMA write, as the peer has no .*, requests flushed: 0; before: "
        "dat_ep_connect -> ACTIVE_CONNECTION_PENDING .*-> CONNECTED [0-9.]+ m?s ago; "
        ".* \\[DAT290\\]\n$");
}

TEST_F(ConnectionEnds, three_broken_connections_of_a_process_are_told_and_that_more_are_not) {
    expect_client_told(6, 4,
                       "3 connections broke; further messages are suppressed; .* \\[DAT291\\]\n$");
}

TEST_F(ConnectionEnds, the_peer_of_a_wrong_request_is_told_so_once) {
    Child server([](Channel& channel) {
        serve(channel, [](const std::string& told) {
            expect_told(told, 1,
                        "broke: the peer asked for memory that it may not access, .*"
                        "before: dat_cr_accept -> COMPLETION_PENDING .*\\[DAT290\\]\n$");
        });
    });
    Child client([&](Channel&) { break_connections(server.channel(), 1); });
    EXPECT_EQ(client.wait(), 0);
    EXPECT_EQ(server.wait(), 0);
}

/// @param level the trace level of both sides. @param check gets the output of each side on stderr.
void disconnect_in_order(const char* level, const std::function<void(const std::string&)>& check) {
    setenv("DAPL_TRACE_LEVEL", level, 1);
    Child server([&](Channel& channel) { serve(channel, check); });
    Child client([&](Channel&) {
        server.channel().receive<char>();
        server.channel().send('n');
        check(captured_stderr([&] {
            Side side;
            DAT_EP_HANDLE ep = side.connect_to(kQualifier);
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }));
        server.channel().send('e');
    });
    unsetenv("DAPL_TRACE_LEVEL");
    EXPECT_EQ(client.wait(), 0);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(ConnectionEnds, an_orderly_disconnect_is_told_to_neither_side) {
    disconnect_in_order("3", [](const std::string& told) { require(told.empty(), told); });
}

TEST_F(ConnectionEnds, an_orderly_disconnect_is_told_to_both_sides_at_trace_level_5) {
    disconnect_in_order("5", [](const std::string& told) {
        require(std::regex_search(told, std::regex("ended: .*; before: .*-> CONNECTED ")), told);
    });
}

TEST_F(ConnectionEnds,
       a_peer_that_has_disconnected_and_ended_before_this_side_looks_was_not_killed) {
    Child server([](Channel& channel) {
        serve(channel, [](const std::string& told) { require(told.empty(), told); });
    });
    Child client([&](Channel&) {
        Channel& channel = server.channel();
        channel.receive<char>();
        channel.send('n');
        Side side;
        DAT_EP_HANDLE ep = side.connect_to(kQualifier);
        channel.receive<char>();
        server.kill(SIGSTOP);
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side.close();
        channel.send('e');
    });
    siginfo_t ended{};  // nobody learns how, until somebody waits for it
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(client.pid()), &ended, WEXITED | WNOWAIT), 0);
    server.kill(SIGCONT);
    EXPECT_EQ(server.wait(), 0);
    EXPECT_EQ(client.wait(), 0);
}

/// Connects to a peer that posts no receive, sends a message, and waits until the peer ends the
/// connection.
void lose_a_message(Channel& peer) {
    Side side;
    Buffer buffer(side, 64);
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    DAT_LMR_TRIPLET segment = buffer.all();
    DAT_DTO_COOKIE cookie{};
    succeed(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    peer.send('p');
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

void expect_loss_told(const std::function<void(Side&, DAT_EP_HANDLE)>& end_it) {
    Child server([&](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.accept_next();
        channel.receive<char>();
        end_it(side, ep);
    });
    Child client([&](Channel&) {
        server.channel().receive<char>();
        const std::string told = captured_stderr([&] { lose_a_message(server.channel()); });
        expect_told(told, 1,
                    "broke: (the peer disconnected or ended|the device reports a fatal "
                    "error, or the peer is gone)(, as .*)?, requests flushed: [01]; before: "
                    "dat_ep_connect .*\\[DAT290\\]\n$");
    });
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(ConnectionEnds, a_peers_disconnect_at_which_a_request_is_lost_is_told) {
    expect_loss_told([](Side& side, DAT_EP_HANDLE ep) {
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    });
}

TEST_F(ConnectionEnds, a_peers_death_is_told_once) {
    expect_loss_told([](Side&, DAT_EP_HANDLE) { raise(SIGKILL); });
}

}  // namespace
