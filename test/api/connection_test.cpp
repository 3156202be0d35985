// SPDX-License-Identifier: BSD-2-Clause
// Connections between two real processes over soft0; compiled a second time with
// TEST_OVER_DATAGRAMS, over libdaploucm. The child serves, the test connects.
#include <gtest/gtest.h>

#include <algorithm>

#ifdef TEST_OVER_DATAGRAMS
#include "test/support/over_datagrams.hpp"
#endif

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4711;
// Programs use qualifiers that do not fit into a port number.
constexpr DAT_CONN_QUAL kLargeQualifier = 5ULL << 35 | 77;

const std::string kQuestion(48, 'q');
const std::string kAnswer(48, 'a');

const char* data_of(const DAT_EVENT& event) {
    return static_cast<const char*>(event.event_data.connect_event_data.private_data);
}
DAT_COUNT size_of(const DAT_EVENT& event) {
    return event.event_data.connect_event_data.private_data_size;
}
bool carries(const char* data, DAT_COUNT size, const std::string& wanted) {
    if (!data || size < static_cast<DAT_COUNT>(wanted.size())) return false;
    for (DAT_COUNT i = static_cast<DAT_COUNT>(wanted.size()); i < size; ++i)
        if (data[i] != 0) return false;
    return std::memcmp(data, wanted.data(), wanted.size()) == 0;
}

/// @param padded what rdma_cm makes of it on soft0.
DAT_COUNT size_at_receiver(const Side& side, const std::string& data, DAT_COUNT padded) {
    return side.is_iwarp() || is_over_datagrams() ? static_cast<DAT_COUNT>(data.size()) : padded;
}
int family() {
    return is_over_datagrams() ? AF_INET6 : AF_INET;
}

class Connections : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

void serve_private_data(Channel& channel) {
    Side side;
    DAT_PSP_HANDLE psp = side.listen(kLargeQualifier);
    channel.send('l');
    const DAT_EVENT event = Side::wait(side.requests, DAT_CONNECTION_REQUEST_EVENT);
    const DAT_CR_ARRIVAL_EVENT_DATA& arrival = event.event_data.cr_arrival_event_data;
    require(arrival.conn_qual == kLargeQualifier, "the request carries the exact qualifier");
    require(arrival.sp_handle.psp_handle == psp, "the request names its PSP");
    require(arrival.local_ia_address_ptr != nullptr, "the request has the local address");
    DAT_CR_PARAM cr{};
    succeed(dat_cr_query(arrival.cr_handle, DAT_CR_FIELD_ALL, &cr), "dat_cr_query");
    require(cr.private_data_size == size_at_receiver(side, kQuestion, 56),
            "a request shows its whole field");
    require(carries(static_cast<const char*>(cr.private_data), cr.private_data_size, kQuestion),
            "48 bytes arrive");
    require(cr.remote_ia_address_ptr->sa_family == family(), "the family of the peer's address");
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(dat_cr_accept(arrival.cr_handle, ep, static_cast<DAT_COUNT>(kAnswer.size()),
                          const_cast<char*>(kAnswer.data())),
            "dat_cr_accept");
    const DAT_EVENT established = side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    require(size_of(established) == 0, "the accepting side's event has no data");
    require(data_of(established) == nullptr, "the accepting side's pointer is NULL");
    DAT_EP_PARAM ep_parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_parameters), "dat_ep_query");
    require(ep_parameters.local_port_qual == kLargeQualifier, "its own qualifier");
    DAT_EVENT ignored{};
    require(dat_cr_reject(arrival.cr_handle, 0, nullptr) == 0x80050012u, "an answered CR is dead");
    channel.meet();
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    require(DAT_GET_TYPE(dat_evd_dequeue(side.connections, &ignored)) == DAT_QUEUE_EMPTY,
            "one DISCONNECTED");
}

TEST_F(Connections, connect_and_accept_carry_48_bytes_each_way_and_the_exact_qualifier) {
    Child server(serve_private_data);
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kLargeQualifier, kQuestion), "dat_ep_connect");
    const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_CONNECTED);
    EXPECT_EQ(size_of(event), size_at_receiver(side, kAnswer, 196));
    EXPECT_TRUE(carries(data_of(event), size_of(event), kAnswer));
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    EXPECT_EQ(parameters.remote_port_qual, kLargeQualifier);
    EXPECT_EQ(parameters.remote_ia_address_ptr->sa_family, family());
    server.channel().meet();
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    Side::expect_empty(side.connections);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, a_rejection_brings_its_data_and_the_endpoint_connects_after_a_reset) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        succeed(dat_cr_reject(side.request(), static_cast<DAT_COUNT>(kAnswer.size()),
                              const_cast<char*>(kAnswer.data())),
                "dat_cr_reject");
        const DAT_EP_HANDLE ep = side.accept_next();
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    });
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier, kQuestion), "dat_ep_connect");
    const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
    EXPECT_EQ(size_of(event), size_at_receiver(side, kAnswer, 148));
    EXPECT_TRUE(carries(data_of(event), size_of(event), kAnswer));
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    succeed(dat_ep_reset(ep), "dat_ep_reset");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect again");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    Side::expect_empty(side.connections);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, a_qualifier_that_nobody_listens_on_is_a_non_peer_rejection) {
    Side side;
    side.leave_address(kQualifier);
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    Side::expect_empty(side.connections);
}

TEST_F(Connections, an_unanswered_request_times_out_once_and_a_late_accept_fails_by_its_event) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        const DAT_CR_HANDLE cr = side.request();
        DAT_EP_HANDLE ep = side.endpoint();
        channel.receive<char>();  // the other side's connect has timed out
        succeed(dat_cr_accept(cr, ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, ep);
        require(Side::state(ep) == DAT_EP_STATE_DISCONNECTED, "the EP is disconnected");
        Side::expect_empty(side.connections);
        succeed(dat_ep_reset(ep), "dat_ep_reset");
        channel.send('r');
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "the same EP accepts");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        channel.meet();
    });
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    // Over iWARP the kernel itself gives up after 10 s.
    const DAT_TIMEOUT enough_to_arrive = in_microseconds(std::min<Clock::duration>(scaled(1s), 7s));
    succeed(Side::connect(ep, kQualifier, {}, enough_to_arrive), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_TIMED_OUT, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    server.channel().send('t');
    server.channel().receive<char>();  // the late accept has failed
    Side::expect_empty(side.connections);
    succeed(dat_ep_reset(ep), "dat_ep_reset");
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect again");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

/// Connects to the other side and accepts its request. Both sides do this at the same time.
void connect_both_ways(Channel& channel, DAT_CONN_QUAL own, DAT_CONN_QUAL other) {
    Side side;
    side.listen(own);
    channel.meet();
    DAT_EP_HANDLE active = side.endpoint();
    DAT_EP_HANDLE passive = side.endpoint();
    succeed(Side::connect(active, other), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    require(Side::state(active) == DAT_EP_STATE_CONNECTED, "the active EP is connected");
    require(Side::state(passive) == DAT_EP_STATE_CONNECTED, "the passive EP is connected");
    channel.meet();
}

TEST_F(Connections, two_processes_that_connect_to_each_other_at_once_both_get_through) {
    Child other([](Channel& channel) { connect_both_ways(channel, 5001, 5002); });
    connect_both_ways(other.channel(), 5002, 5001);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(Connections, dup_connect_reaches_the_peer_of_a_connected_endpoint) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        side.accept_next();
        channel.meet();
    });
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE first = side.connect_to(kQualifier);
    DAT_EP_HANDLE second = side.endpoint();
    const auto dup = [&](DAT_EP_HANDLE ep, DAT_EP_HANDLE connected, DAT_TIMEOUT timeout) {
        return dat_ep_dup_connect(ep, connected, timeout, 0, nullptr, DAT_QOS_BEST_EFFORT);
    };
    EXPECT_EQ(dup(second, first, 0), 0x80060027u);
    EXPECT_EQ(dup(second, second, kMicroseconds), 0x80070000u | DAT_INVALID_STATE_EP_UNCONNECTED);
    EXPECT_EQ(dup(second, side.pz, kMicroseconds), 0x8005000Cu);
    succeed(dup(second, first, kMicroseconds), "dat_ep_dup_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, second);
    EXPECT_EQ(dup(second, first, kMicroseconds), 0x80070000u | DAT_INVALID_STATE_EP_CONNECTED);
    server.channel().meet();
    EXPECT_EQ(server.wait(), 0);
}

void post_receives(const Side&, DAT_EP_HANDLE ep, const Buffer& buffer, int count) {
    for (int i = 0; i < count; ++i) {
        DAT_LMR_TRIPLET segment = buffer.all();
        DAT_DTO_COOKIE cookie{};
        cookie.as_64 = static_cast<DAT_UINT64>(i);
        succeed(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }
}

/// Expects `count` flushed receives, oldest first, in the EVD without waiting.
void expect_flushed(const Side& side, DAT_EP_HANDLE ep, int count) {
    for (int i = 0; i < count; ++i) {
        DAT_EVENT event{};
        succeed(dat_evd_dequeue(side.receives, &event), "a flushed receive is there");
        const DAT_DTO_COMPLETION_EVENT_DATA& dto = event.event_data.dto_completion_event_data;
        require(dto.status == DAT_DTO_ERR_FLUSHED, "it is flushed");
        require(dto.ep_handle == ep, "it names the EP");
        require(dto.user_cookie.as_64 == static_cast<DAT_UINT64>(i), "in the order of posting");
    }
}

TEST_F(Connections,
       the_death_of_a_peer_is_one_disconnected_event_with_the_receives_flushed_before) {
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        side.accept_next();
        channel.send('c');
        channel.receive<char>();  // blocks until it is killed
    });
    server.channel().receive<char>();
    Side side;
    Buffer buffer(side);
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    post_receives(side, ep, buffer, 4);
    server.channel().receive<char>();
    server.kill(SIGKILL);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    expect_flushed(side, ep, 4);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(server.wait(), 128 + SIGKILL);
    Side::expect_empty(side.connections);
    // Over datagrams, only the device notices a death.
    if (is_over_datagrams()) Side::wait(side.async, DAT_ASYNC_ERROR_EP_BROKEN);
    Side::expect_empty(side.async);
}

void disconnect_from_both(Channel& channel, const Side& side, DAT_EP_HANDLE ep, int round) {
    channel.meet();
    const auto how = round % 2 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG;
    succeed(dat_ep_disconnect(ep, how), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    require(Side::state(ep) == DAT_EP_STATE_DISCONNECTED, "disconnected");
    channel.meet();
    Side::expect_empty(side.connections);
    succeed(dat_ep_disconnect(ep, how), "nothing happens when disconnected");
    Side::expect_empty(side.connections);
}

TEST_F(Connections, when_both_sides_disconnect_each_gets_one_event_and_can_connect_again) {
    constexpr int kRounds = 10;
    Child server([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.endpoint();
        for (int round = 0; round < kRounds; ++round) {
            succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
            side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
            disconnect_from_both(channel, side, ep, round);
            succeed(dat_ep_reset(ep), "dat_ep_reset");
        }
    });
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    for (int round = 0; round < kRounds; ++round) {
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        disconnect_from_both(server.channel(), side, ep, round / 2);
        succeed(dat_ep_reset(ep), "dat_ep_reset");
    }
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, freeing_a_connected_endpoint_disconnects_both_sides) {
    Child server([](Channel& channel) {
        Side side;
        Buffer buffer(side);
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.accept_next();
        post_receives(side, ep, buffer, 3);
        channel.send('c');
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        expect_flushed(side, ep, 3);
        Side::expect_empty(side.connections);
    });
    server.channel().receive<char>();
    Side side;
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    server.channel().receive<char>();
    succeed(dat_ep_free(ep), "dat_ep_free");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    Side::expect_empty(side.connections);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, a_pending_connect_that_is_disconnected_ends_at_once) {
    Side side;
    side.listen(kQualifier);
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    DAT_EVENT event{};
    succeed(dat_evd_dequeue(side.connections, &event), "the event is there at return");
    EXPECT_EQ(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
    EXPECT_EQ(size_of(event), 0);
    Side::expect_empty(side.connections);
}

TEST_F(Connections, requests_of_a_freed_service_point_can_still_be_answered) {
    Child client([](Channel& channel) {
        channel.receive<char>();
        Side side;
        side.connect_to(kQualifier);
        DAT_EP_HANDLE late = side.endpoint();
        channel.meet();
        succeed(Side::connect(late, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, late);
        channel.meet();
    });
    Side side;
    DAT_PSP_HANDLE psp = side.listen(kQualifier);
    client.channel().send('l');
    const DAT_CR_HANDLE cr = side.request();
    succeed(dat_psp_free(psp), "dat_psp_free");
    DAT_PSP_PARAM parameters{};
    EXPECT_EQ(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &parameters), 0x80050010u);
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(dat_cr_accept(cr, ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    client.channel().meet();
    client.channel().meet();
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(Connections, hundreds_of_connections_in_a_row_leave_nothing_behind) {
    const int count = scaled(500);
    Child server([count](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        for (int i = 0; i < count; ++i) {
            DAT_EP_HANDLE ep = side.accept_next();
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
            succeed(dat_ep_free(ep), "dat_ep_free");
        }
        Side::expect_empty(side.connections);
    });
    server.channel().receive<char>();
    Side side;
    for (int i = 0; i < count; ++i) {
        DAT_EP_HANDLE ep = side.connect_to(kQualifier);
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.connections);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, a_failed_transfer_breaks_the_connection_once_on_each_side) {
    Child server([](Channel& channel) {
        Side side;
        Buffer small(side, 16);
        side.listen(kQualifier);
        DAT_EP_HANDLE ep = side.endpoint();
        post_receives(side, ep, small, 1);
        channel.send('l');
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        channel.meet();
        const DAT_EVENT failed = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        require(failed.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                "a message that is too long for the receive fails");
        side.broken(ep);
        channel.meet();
        Side::expect_empty(side.connections);
    });
    server.channel().receive<char>();
    Side side;
    Buffer large(side, 256);
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    server.channel().meet();
    DAT_LMR_TRIPLET segment = large.all();
    succeed(dat_ep_post_send(ep, 1, &segment, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    const DAT_EVENT failed = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    const auto status = failed.event_data.dto_completion_event_data.status;
    EXPECT_TRUE(status != DAT_DTO_SUCCESS || side.is_iwarp()) << "where sending is not all";
    side.broken(ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    server.channel().meet();
    Side::expect_empty(side.connections);
    EXPECT_EQ(server.wait(), 0);
}

TEST_F(Connections, an_address_of_no_machine_here_is_unreachable_and_one_message_says_why) {
    if (is_over_datagrams()) GTEST_SKIP() << "about addresses of hosts; see ucm_test";
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    sockaddr_in elsewhere{};
    elsewhere.sin_family = AF_INET;
    // 192.0.2.1 is reserved for documentation. On a real network DAT_TEST_NOBODY can name an unused
    // address.
    const char* nobody = getenv("DAT_TEST_NOBODY") ? getenv("DAT_TEST_NOBODY") : "192.0.2.1";
    inet_pton(AF_INET, nobody, &elsewhere.sin_addr);
    const std::string told = captured_stderr([&] {
        succeed(dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&elsewhere), kQualifier,
                               DAT_TIMEOUT_INFINITE, 0, nullptr, DAT_QOS_BEST_EFFORT,
                               DAT_CONNECT_DEFAULT_FLAG),
                "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_UNREACHABLE, ep);
    });
    EXPECT_NE(told.find(nobody), std::string::npos) << told;
    const char* tries = getenv("DAT_TEST_TRIES") ? getenv("DAT_TEST_TRIES") : "";
    EXPECT_NE(told.find(tries), std::string::npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    Side::expect_empty(side.connections);
}

}  // namespace
