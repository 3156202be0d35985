// SPDX-License-Identifier: BSD-2-Clause
// TCP sockets that become endpoints (dat2/dat_iw_extensions.h), between two real processes;
// compiled a second time with TEST_OVER_SOCKETS over libdaploscm. The child connects a socket and
// asks, the test serves.
#ifdef TEST_OVER_SOCKETS
#include "test/support/over_sockets.hpp"
#endif
#include <dat2/dat_iw_extensions.h>
#include <gtest/gtest.h>

#include <functional>

#include "test/api/side.hpp"
#include "test/support/stream.hpp"

namespace {

using namespace test;

constexpr std::size_t kSize = 64;

DAT_RETURN ask_over(DAT_EP_HANDLE ep, int socket, const std::string& data = {},
                    DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE) {
    return dat_iw_socket_connect(ep, socket, timeout, static_cast<DAT_COUNT>(data.size()),
                                 const_cast<char*>(data.data()));
}

DAT_IW_SSP_HANDLE serve_on(const Side& side, const Stream& socket,
                           const std::string& last_words = {}, DAT_EP_HANDLE ep = DAT_HANDLE_NULL) {
    DAT_IW_SSP_HANDLE ssp = DAT_HANDLE_NULL;
    succeed(dat_iw_ssp_create(side.ia, socket.number(), ep, side.requests,
                              const_cast<char*>(last_words.data()), last_words.size(), &ssp),
            "dat_iw_ssp_create");
    return ssp;
}

DAT_IW_SSP_PARAM query(DAT_IW_SSP_HANDLE ssp) {
    DAT_IW_SSP_PARAM parameters{};
    succeed(dat_iw_ssp_query(ssp, DAT_IW_SSP_FIELD_ALL, &parameters), "dat_iw_ssp_query");
    return parameters;
}

std::string data_of(DAT_CR_HANDLE cr) {
    DAT_CR_PARAM parameters{};
    succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
    const std::string all(static_cast<const char*>(parameters.private_data),
                          static_cast<std::size_t>(parameters.private_data_size));
    return all.substr(0, all.find('\0'));
}

/// A message from the asking to the answering side.
void send_one(const Side& side, DAT_EP_HANDLE ep) {
    Buffer buffer(side, kSize);
    buffer.bytes.assign(kSize, 'x');
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_send(ep, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    require(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "it is sent");
}

/// The child: connects a socket to the port that it receives, waits for "go", asks and runs `then`
/// with what has come of it.
using Then = std::function<void(Channel&, const Side&, const Stream&, DAT_EP_HANDLE)>;
std::function<void(Channel&)> asker(const Then& then) {
    return [then](Channel& channel) {
        Side side;
        const Stream socket = dial(channel.receive<std::uint16_t>());
        DAT_EP_HANDLE ep = side.endpoint();
        socket.hear("go");
        succeed(ask_over(ep, socket.number(), "may I?"), "dat_iw_socket_connect");
        then(channel, side, socket, ep);
    };
}

class Sockets : public testing::Test {
  protected:
    void SetUp() override {
        if (Side().named(DAT_IW_ATTR_SSP) != "TRUE") GTEST_SKIP() << "the IA takes no sockets over";
    }

    TemporaryFabric fabric_;
};

TEST(SocketsAttribute, says_whether_the_calls_are_there) {
    const TemporaryFabric fabric;
    const Side side;
    const DAT_RETURN refused =
        side.named(DAT_IW_ATTR_SSP) == "TRUE" ? 0x80060026u : DAT_RETURN{DAT_MODEL_NOT_SUPPORTED};
    DAT_IW_SSP_HANDLE ssp = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_iw_ssp_create(side.ia, -1, nullptr, side.requests, nullptr, 0, &ssp), refused);
    EXPECT_EQ(ask_over(side.endpoint(), -1), refused);
}

TEST_F(Sockets, both_ends_of_one_become_connected_endpoints) {
    Child child(asker([](Channel&, const Side& side, const Stream& socket, DAT_EP_HANDLE ep) {
        const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        const auto& connected = event.event_data.connect_event_data;
        require(
            connected.private_data_size >= 3 && std::memcmp(connected.private_data, "yes", 3) == 0,
            "the answer's data");
        send_one(side, ep);
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        socket.hear_the_end();
    }));
    Side side;
    const Door door;
    child.channel().send(door.port());
    const Stream socket = door.next();
    DAT_EP_HANDLE ep = side.endpoint();
    Buffer buffer(side, kSize);
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_recv(ep, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    const DAT_IW_SSP_HANDLE ssp = serve_on(side, socket, "go");
    const DAT_EVENT event = Side::wait(side.requests, DAT_CONNECTION_REQUEST_EVENT);
    const auto& arrival = event.event_data.cr_arrival_event_data;
    EXPECT_EQ(arrival.sp_handle.psp_handle, ssp);
    EXPECT_EQ(arrival.conn_qual, door.port());
    EXPECT_EQ(data_of(arrival.cr_handle), "may I?");
    EXPECT_EQ(query(ssp).ssp_state, DAT_IW_SSP_STATE_NON_OPERATIONAL);
    succeed(dat_iw_ssp_free(ssp), "dat_iw_ssp_free");
    succeed(dat_cr_accept(arrival.cr_handle, ep, 3, const_cast<char*>("yes")), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(buffer.bytes, std::string(kSize, 'x'));
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    socket.hear_the_end();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Sockets, a_rejection_gives_both_ends_back_where_they_were) {
    Child child(asker([](Channel&, const Side& side, const Stream& socket, DAT_EP_HANDLE ep) {
        const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
        const auto& refused = event.event_data.connect_event_data;
        require(refused.private_data_size >= 2 && std::memcmp(refused.private_data, "no", 2) == 0,
                "the rejection's data");
        socket.say("then as before");
        socket.hear("as before");
        succeed(dat_ep_reset(ep), "dat_ep_reset");
        succeed(ask_over(ep, socket.number(), "and now?"), "dat_iw_socket_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    }));
    Side side;
    const Door door;
    child.channel().send(door.port());
    const Stream socket = door.next();
    const DAT_IW_SSP_HANDLE ssp = serve_on(side, socket, "go");
    succeed(dat_cr_reject(side.request(), 2, const_cast<char*>("no")), "dat_cr_reject");
    succeed(dat_iw_ssp_free(ssp), "dat_iw_ssp_free");
    socket.hear("then as before");
    const DAT_IW_SSP_HANDLE again = serve_on(side, socket, "as before");
    side.accept_next();
    succeed(dat_iw_ssp_free(again), "dat_iw_ssp_free");
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Sockets, a_service_point_has_its_endpoint_ready_and_tells_its_parameters) {
    Child child(asker([](Channel&, const Side& side, const Stream&, DAT_EP_HANDLE ep) {
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    }));
    Side side;
    const Door door;
    child.channel().send(door.port());
    const Stream socket = door.next();
    DAT_EP_HANDLE ep = side.endpoint();
    const DAT_IW_SSP_HANDLE ssp = serve_on(side, socket, "", ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_RESERVED);
    EXPECT_EQ(side.named(DAT_IW_ATTR_SSP), "TRUE");
    const DAT_IW_SSP_PARAM parameters = query(ssp);
    EXPECT_EQ(parameters.ia_handle, side.ia);
    EXPECT_EQ(parameters.socket_id, socket.number());
    EXPECT_EQ(parameters.evd_handle, side.requests);
    EXPECT_EQ(parameters.ep_handle, ep);
    EXPECT_EQ(parameters.ssp_state, DAT_IW_SSP_STATE_OPERATIONAL);
    DAT_HANDLE_TYPE type{};
    succeed(dat_get_handle_type(ssp, &type), "dat_get_handle_type");
    EXPECT_EQ(static_cast<int>(type), static_cast<int>(DAT_IW_HANDLE_TYPE_SSP));
    socket.say("go");
    succeed(dat_cr_accept(side.request(), DAT_HANDLE_NULL, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    succeed(dat_ep_free(ep), "dat_ep_free");
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Sockets, a_peer_that_hangs_up_or_says_something_else_leaves_no_request) {
    for (const bool talks : {false, true}) {
        Side side;
        const Door door;
        Stream peer = dial(door.port());
        const Stream socket = door.next();
        DAT_EP_HANDLE ep = side.endpoint();
        const DAT_IW_SSP_HANDLE ssp = serve_on(side, socket, "", ep);
        captured_stderr([&] {
            if (talks)
                peer.say("GET / HTTP/1.1\r\n\r\n");
            else
                peer = Stream();
            EXPECT_TRUE(eventually(
                [&] { return query(ssp).ssp_state == DAT_IW_SSP_STATE_NON_OPERATIONAL; }));
        });
        Side::expect_empty(side.requests);
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
        succeed(dat_iw_ssp_free(ssp), "dat_iw_ssp_free");
    }
}

TEST_F(Sockets, a_service_point_that_is_freed_while_it_waits_ends_its_socket) {
    Side side;
    const Door door;
    const Stream peer = dial(door.port());
    const Stream socket = door.next();
    DAT_EP_HANDLE ep = side.endpoint();
    const DAT_IW_SSP_HANDLE ssp = serve_on(side, socket, "", ep);
    succeed(dat_iw_ssp_free(ssp), "dat_iw_ssp_free");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    peer.hear_the_end();
    EXPECT_EQ(dat_iw_ssp_free(ssp), 0x8005001Bu) << "it is gone";
}

TEST_F(Sockets, a_timeout_is_reported_and_ends_the_socket) {
    Side side;
    const Door door;
    const Stream socket = dial(door.port());
    const Stream peer = door.next();
    DAT_EP_HANDLE ep = side.endpoint();
    captured_stderr([&] {
        succeed(ask_over(ep, socket.number(), "", 50000), "dat_iw_socket_connect");
        side.connection_event(DAT_CONNECTION_EVENT_TIMED_OUT, ep);
    });
    socket.hear_the_end();
}

TEST_F(Sockets, what_is_no_connected_socket_or_no_endpoint_for_one_is_refused) {
    Side side;
    const Door door;
    const Stream peer = dial(door.port());
    const Stream socket = door.next();
    const Stream unconnected(::socket(AF_INET, SOCK_STREAM, 0));
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const Stream local(pair[0]), other(pair[1]);
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_IW_SSP_HANDLE ssp = DAT_HANDLE_NULL;
    const auto create = [&](int on, DAT_EP_HANDLE with, DAT_EVD_HANDLE evd, const char* message,
                            int size, DAT_IW_SSP_HANDLE* made) {
        return dat_iw_ssp_create(side.ia, on, with, evd, const_cast<char*>(message), size, made);
    };
    for (const int bad : {-1, 100000, unconnected.number(), local.number()}) {
        EXPECT_EQ(create(bad, nullptr, side.requests, nullptr, 0, &ssp), 0x80060026u) << bad;
        EXPECT_EQ(ask_over(ep, bad), 0x80060026u) << bad;
    }
    const int good = socket.number();
    EXPECT_EQ(create(good, side.pz, side.requests, nullptr, 0, &ssp), 0x8005000Cu);
    EXPECT_EQ(create(good, nullptr, side.receives, nullptr, 0, &ssp), 0x80050014u);
    EXPECT_EQ(create(good, nullptr, side.requests, nullptr, 1, &ssp), 0x80060029u);
    EXPECT_EQ(create(good, nullptr, side.requests, "x", 4097, &ssp), 0x8006002Au);
    EXPECT_EQ(create(good, nullptr, side.requests, "x", -1, &ssp), 0x8006002Au);
    EXPECT_EQ(create(good, nullptr, side.requests, nullptr, 0, nullptr), 0x8006002Bu);
    EXPECT_EQ(ask_over(side.pz, good), 0x8005000Cu);
    EXPECT_EQ(ask_over(ep, good, "", 0), 0x80060027u);
    EXPECT_EQ(ask_over(ep, good, std::string(69, 'x')), 0x80060028u);
    EXPECT_EQ(dat_iw_ssp_query(ep, 0, nullptr), 0x8005001Bu);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    peer.say("still usable");
    socket.hear("still usable");
}

}  // namespace
