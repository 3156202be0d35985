// SPDX-License-Identifier: BSD-2-Clause
// How connections end, between two real processes over soft0: a graceful disconnect waits for the
// posted work, an abrupt one does not. The child serves, the test connects.
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4730;
constexpr int kMessages = 8;

class Disconnects : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

DAT_RETURN post_message(DAT_EP_HANDLE ep, const Buffer& buffer, DAT_UINT64 number,
                        unsigned flags = DAT_COMPLETION_DEFAULT_FLAG) {
    DAT_LMR_TRIPLET segment = buffer.all();
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    return dat_ep_post_send(ep, 1, &segment, cookie, static_cast<DAT_COMPLETION_FLAGS>(flags));
}

void expect_done(DAT_EVD_HANDLE evd, DAT_UINT64 number, DAT_DTO_COMPLETION_STATUS status) {
    const DAT_EVENT event = Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
    const DAT_DTO_COMPLETION_EVENT_DATA& done = event.event_data.dto_completion_event_data;
    require(done.user_cookie.as_64 == number, "the completions come in order");
    require(done.status == status, "status " + std::to_string(done.status) + " of message " +
                                       std::to_string(number) + ", wanted " +
                                       std::to_string(status));
}

/// A peer that posts its receives only when told to, and then receives every message.
void receive_late(Channel& channel) {
    Side side;
    Buffer buffer(side, 4096);
    side.listen(kQualifier);
    channel.send('l');
    DAT_EP_HANDLE ep = side.accept_next();
    channel.receive<char>();
    for (DAT_UINT64 i = 0; i < kMessages; ++i) {
        DAT_LMR_TRIPLET segment = buffer.all();
        DAT_DTO_COOKIE cookie;
        cookie.as_64 = i;
        succeed(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        expect_done(side.receives, i, DAT_DTO_SUCCESS);
    }
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    Side::expect_empty(side.connections);
}

void disconnect_with_work_that_waits(unsigned flags, int completions) {
    Child peer(receive_late);
    peer.channel().receive<char>();
    Side side;
    if (side.is_iwarp())
        GTEST_SKIP() << "an iWARP device completes what it has sent, whatever the peer makes of it";
    Buffer buffer(side, 4096);
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    for (DAT_UINT64 i = 0; i < kMessages; ++i)
        succeed(post_message(ep, buffer, i, flags), "dat_ep_post_send");
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECT_PENDING);
    EXPECT_EQ(post_message(ep, buffer, 99), 0x8007002Fu) << "nothing goes behind it";
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), 0x80060026u);
    EXPECT_EQ(dat_ep_reset(ep), 0x80070000u | DAT_INVALID_STATE_EP_DISCPENDING);
    Side::expect_empty(side.connections);
    peer.channel().send('r');
    for (int i = 0; i < completions; ++i)
        expect_done(side.sends, static_cast<DAT_UINT64>(i), DAT_DTO_SUCCESS);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    Side::expect_empty(side.sends);
    Side::expect_empty(side.connections);
    EXPECT_EQ(peer.wait(), 0);
}

TEST_F(Disconnects, a_graceful_one_waits_until_the_peer_has_received_what_was_posted) {
    disconnect_with_work_that_waits(DAT_COMPLETION_DEFAULT_FLAG, kMessages);
}

TEST_F(Disconnects, a_graceful_one_waits_for_suppressed_requests_too) {
    disconnect_with_work_that_waits(DAT_COMPLETION_SUPPRESS_FLAG, 0);
}

TEST_F(Disconnects, a_graceful_one_waits_with_a_full_queue_of_requests) {
    Child peer(receive_late);
    peer.channel().receive<char>();
    Side side;
    if (side.is_iwarp())
        GTEST_SKIP() << "an iWARP device completes what it has sent, whatever the peer makes of it";
    Buffer buffer(side, 4096);
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.max_request_dtos = kMessages;
    succeed(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &parameters), "dat_ep_modify");
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    for (DAT_UINT64 i = 0; i < kMessages; ++i)
        succeed(post_message(ep, buffer, i), "dat_ep_post_send");
    EXPECT_EQ(post_message(ep, buffer, 99), 0x80030002u) << "the queue is full";
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECT_PENDING);
    peer.channel().send('r');
    // The consumer dequeues nothing before the end: the library itself polls for the completions.
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    for (DAT_UINT64 i = 0; i < kMessages; ++i) expect_done(side.sends, i, DAT_DTO_SUCCESS);
    EXPECT_EQ(peer.wait(), 0);
}

/// A peer that posts no receive and waits for the end of the connection; disconnects itself if told
/// 'd'.
void receive_nothing(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    DAT_EP_HANDLE ep = side.accept_next();
    if (channel.receive<char>() == 'd')
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

/// This side, connected to a peer that posts no receive, with a send that cannot complete.
struct Waiting {
    explicit Waiting(void (*peer_does)(Channel&)) : peer(peer_does) {
        peer.channel().receive<char>();
        side.emplace();
        buffer.emplace(*side, 64);
        ep = side->connect_to(kQualifier);
        succeed(post_message(ep, *buffer, 1), "dat_ep_post_send");
    }
    void expect_flushed_end() {
        side->connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
        expect_done(side->sends, 1, DAT_DTO_ERR_FLUSHED);
        expect_nothing_more();
    }
    void expect_nothing_more() const {
        Side::expect_empty(side->sends);
        Side::expect_empty(side->connections);
    }

    Child peer;
    std::optional<Side> side;
    std::optional<Buffer> buffer;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
};

TEST_F(Disconnects, an_abrupt_one_does_not_wait_for_posted_work) {
    Waiting waiting(receive_nothing);
    waiting.peer.channel().send('w');
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECTED);
    waiting.expect_flushed_end();
    EXPECT_EQ(waiting.peer.wait(), 0);
}

TEST_F(Disconnects, an_abrupt_one_ends_a_graceful_one_that_waits) {
    Waiting waiting(receive_nothing);
    waiting.peer.channel().send('w');
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECT_PENDING);
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECTED);
    waiting.expect_flushed_end();
    succeed(dat_ep_reset(waiting.ep), "dat_ep_reset");
    EXPECT_EQ(waiting.peer.wait(), 0);
}

TEST_F(Disconnects, the_peers_disconnect_ends_a_graceful_one_that_waits) {
    Waiting waiting(receive_nothing);
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECT_PENDING);
    waiting.peer.channel().send('d');
    waiting.side->connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, waiting.ep);
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECTED);
    const DAT_EVENT event = Side::wait(waiting.side->sends, DAT_DTO_COMPLETION_EVENT);
    // The device may find the peer's queue pair gone before this side learns of the disconnect.
    const int status = event.event_data.dto_completion_event_data.status;
    EXPECT_TRUE(status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT) << status;
    waiting.expect_nothing_more();
    EXPECT_EQ(waiting.peer.wait(), 0);
}

TEST_F(Disconnects, the_peers_death_ends_a_graceful_one_that_waits) {
    Waiting waiting([](Channel& channel) {
        Side side;
        if (side.is_iwarp())
            GTEST_SKIP()
                << "an iWARP device completes what it has sent, whatever the peer makes of it";
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        channel.receive<char>();
        raise(SIGKILL);
    });
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECT_PENDING);
    waiting.peer.channel().send('k');
    waiting.side->connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, waiting.ep);
    EXPECT_EQ(Side::state(waiting.ep), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(waiting.peer.wait(), 128 + SIGKILL);
}

TEST_F(Disconnects, freeing_an_endpoint_that_waits_ends_it) {
    Waiting waiting(receive_nothing);
    waiting.peer.channel().send('w');
    succeed(dat_ep_disconnect(waiting.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    succeed(dat_ep_free(waiting.ep), "dat_ep_free");
    waiting.side->connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, waiting.ep);
    EXPECT_EQ(waiting.peer.wait(), 0);
}

}  // namespace
