// SPDX-License-Identifier: BSD-2-Clause
// Connections over TCP sockets (libdaploscm) between two real processes, data over softverbs. The
// child serves, the test connects. Each run has a loopback address of its own.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <vector>

#include "test/support/over_sockets.hpp"

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 20711;
constexpr int kLargestData = 68;

class Scm : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

const char* data_of(const DAT_EVENT& event) {
    return static_cast<const char*>(event.event_data.connect_event_data.private_data);
}
DAT_COUNT size_of(const DAT_EVENT& event) {
    return event.event_data.connect_event_data.private_data_size;
}
std::string text_of_size(int size, char seed) {
    std::string text(static_cast<std::size_t>(size), '\0');
    for (int i = 0; i < size; ++i) text[static_cast<std::size_t>(i)] = static_cast<char>(seed + i);
    return text;
}
/// Expects the whole field, with zeros after the given data: the active side always sees it so.
void expect_field(const DAT_EVENT& event, const std::string& given) {
    ASSERT_EQ(size_of(event), kLargestData);
    std::string wanted = given;
    wanted.resize(kLargestData);
    EXPECT_EQ(std::string(data_of(event), kLargestData), wanted);
}

DAT_COUNT data_size_of(DAT_CR_HANDLE cr, std::string& data) {
    DAT_CR_PARAM parameters{};
    succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
    data.assign(static_cast<const char*>(parameters.private_data),
                static_cast<std::size_t>(parameters.private_data_size));
    return parameters.private_data_size;
}

void serve_every_size(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    for (int size = 0; size <= kLargestData; ++size) {
        const DAT_CR_HANDLE cr = side.request();
        std::string got;
        require(data_size_of(cr, got) == size, "a request carries its exact size");
        require(got == text_of_size(size, 'a'), "and its data");
        const std::string answer = text_of_size(kLargestData - size, 'A');
        if (size % 2 == 0) {
            succeed(dat_cr_reject(cr, static_cast<DAT_COUNT>(answer.size()),
                                  const_cast<char*>(answer.data())),
                    "dat_cr_reject");
            continue;
        }
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(dat_cr_accept(cr, ep, static_cast<DAT_COUNT>(answer.size()),
                              const_cast<char*>(answer.data())),
                "dat_cr_accept");
        require(size_of(side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep)) == 0,
                "the accepting side's event has no data");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.connections);
    channel.meet();
}

TEST_F(Scm, private_data_of_each_size_goes_both_ways_with_accept_and_with_reject) {
    Child child(serve_every_size);
    Side side;
    child.channel().receive<char>();
    for (int size = 0; size <= kLargestData; ++size) {
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(Side::connect(ep, kQualifier, text_of_size(size, 'a')), "dat_ep_connect");
        const std::string answer = text_of_size(kLargestData - size, 'A');
        if (size % 2 == 0) {
            expect_field(side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep), answer);
        } else {
            expect_field(side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep), answer);
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.connections);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Scm, more_than_68_bytes_of_private_data_are_refused) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    EXPECT_NE(Side::connect(ep, kQualifier, std::string(69, 'x')), DAT_SUCCESS);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    DAT_PROVIDER_ATTR attributes{};
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_NONE, nullptr, DAT_PROVIDER_FIELD_ALL,
                         &attributes),
            "dat_ia_query");
    EXPECT_EQ(attributes.max_private_data_size, kLargestData);
    std::map<std::string, std::string> named;
    for (int i = 0; i < attributes.num_provider_specific_attr; ++i)
        named[attributes.provider_specific_attr[i].name] =
            attributes.provider_specific_attr[i].value;
    EXPECT_EQ(named["DAT_IB_PROVIDER_NAME"], "SCM");
}

void serve_and_disconnect(Channel& channel, DAT_CLOSE_FLAGS how) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    DAT_EP_HANDLE first = side.accept_next();
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, first);
    DAT_EP_HANDLE second = side.accept_next();
    succeed(dat_ep_disconnect(second, how), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, second);
    Side::expect_empty(side.connections);
    channel.meet();
}

class ScmDisconnect : public Scm, public testing::WithParamInterface<DAT_CLOSE_FLAGS> {};

TEST_P(ScmDisconnect, either_side_disconnects_and_each_has_one_event) {
    Child child([](Channel& channel) { serve_and_disconnect(channel, GetParam()); });
    Side side;
    child.channel().receive<char>();
    DAT_EP_HANDLE first = side.connect_to(kQualifier);
    succeed(dat_ep_disconnect(first, GetParam()), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, first);
    DAT_EP_HANDLE second = side.connect_to(kQualifier);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, second);
    Side::expect_empty(side.connections);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Both, ScmDisconnect,
                         testing::Values(DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG),
                         [](const auto& how) {
                             return how.param == DAT_CLOSE_ABRUPT_FLAG ? "abruptly" : "gracefully";
                         });

void expect_transfer(const Side& from, DAT_EP_HANDLE sender, const Side& to,
                     DAT_EP_HANDLE receiver) {
    Buffer source(from);
    Buffer sink(to);
    source.bytes.assign(source.bytes.size(), 'x');
    DAT_LMR_TRIPLET in = sink.all();
    DAT_LMR_TRIPLET out = source.all();
    const DAT_DTO_COOKIE cookie{};
    succeed(dat_ep_post_recv(receiver, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG), "recv");
    succeed(dat_ep_post_send(sender, 1, &out, cookie, DAT_COMPLETION_DEFAULT_FLAG), "send");
    for (DAT_EVD_HANDLE evd : {from.sends, to.receives}) {
        const DAT_EVENT done = Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
        EXPECT_EQ(done.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        EXPECT_EQ(done.event_data.dto_completion_event_data.transfered_length, source.bytes.size());
    }
    EXPECT_EQ(sink.bytes, source.bytes);
}

TEST_F(Scm, both_endpoints_of_a_connection_are_in_one_process_and_move_data) {
    Side side;
    side.listen(kQualifier);
    DAT_EP_HANDLE active = side.endpoint();
    DAT_EP_HANDLE passive = side.endpoint();
    succeed(Side::connect(active, kQualifier), "dat_ep_connect");
    succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
    for (int count = 0; count < 2; ++count)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    expect_transfer(side, active, side, passive);
    expect_transfer(side, passive, side, active);
    succeed(dat_ep_disconnect(active, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    for (int count = 0; count < 2; ++count)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    Side::expect_empty(side.connections);
}

/// Connects a TCP socket to the port of a qualifier. @return 0, or the errno of connect().
int connect_plainly(const char* address, DAT_CONN_QUAL qualifier) {
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(qualifier + 1000));
    inet_pton(AF_INET, address, &peer.sin_addr);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int error =
        ::connect(socket, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0 ? 0 : errno;
    close(socket);
    return error;
}

TEST_F(Scm, a_service_point_listens_at_the_adapters_address_and_no_other_1000_above_its_qualifier) {
    Side side;
    side.listen(kQualifier);
    EXPECT_EQ(connect_plainly(ia_address_text(), kQualifier), 0);
    EXPECT_EQ(connect_plainly("127.0.0.1", kQualifier), ECONNREFUSED);
    EXPECT_EQ(connect_plainly(ia_address_text(), kQualifier + 1), ECONNREFUSED);
}

TEST_F(Scm, a_qualifier_in_use_on_this_machine_is_refused_until_it_is_free) {
    Child child([](Channel& channel) {
        Side side;
        DAT_PSP_HANDLE psp = side.listen(kQualifier);
        channel.meet();
        channel.meet();
        succeed(dat_psp_free(psp), "dat_psp_free");
        channel.meet();
        channel.meet();
    });
    Side side;
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    child.channel().meet();
    EXPECT_EQ(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              static_cast<DAT_RETURN>(DAT_CONN_QUAL_IN_USE));
    child.channel().meet();
    child.channel().meet();
    EXPECT_EQ(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              DAT_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Scm, a_qualifier_that_nobody_listens_on_is_told_with_address_and_tries) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    const std::string told = captured_stderr([&] {
        succeed(Side::connect(ep, kQualifier + 7), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    });
    EXPECT_NE(told.find(std::string(ia_address_text()) + ":21718"), std::string::npos) << told;
    EXPECT_NE(told.find("tries 5"), std::string::npos) << told;
    EXPECT_NE(told.find("[DAT207]"), std::string::npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(Scm, a_killed_peer_disconnects_each_of_its_connections_once) {
    constexpr int kConnections = 8;
    Child child([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        for (int count = 0; count < kConnections; ++count) side.accept_next();
        channel.meet();
        channel.receive<char>();
    });
    Side side;
    child.channel().receive<char>();
    std::map<DAT_EP_HANDLE, int> events;
    for (int count = 0; count < kConnections; ++count) events[side.connect_to(kQualifier)] = 0;
    child.channel().meet();
    child.kill();
    for (int count = 0; count < kConnections; ++count)
        ++events[Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED)
                     .event_data.connect_event_data.ep_handle];
    for (const auto& [ep, count] : events) EXPECT_EQ(count, 1);
    Side::expect_empty(side.connections);
    child.wait();
}

TEST_F(Scm, a_peer_that_gives_up_before_it_is_accepted_fails_the_accept_once) {
    Child child([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        const DAT_CR_HANDLE cr = side.request();
        channel.meet();
        channel.meet();
        DAT_EP_HANDLE ep = side.endpoint();
        const std::string told = captured_stderr([&] {
            succeed(dat_cr_accept(cr, ep, 0, nullptr), "dat_cr_accept");
            side.connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, ep);
        });
        require(told.empty(), "the event says all");
        Side::expect_empty(side.connections);
    });
    Side side;
    child.channel().receive<char>();
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    child.channel().meet();
    succeed(dat_ep_free(ep), "dat_ep_free");
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

void serve_many(Channel& channel, int count) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    std::vector<DAT_EP_HANDLE> endpoints;
    for (int i = 0; i < count; ++i) endpoints.push_back(side.accept_next());
    channel.meet();
    for (int i = 0; i < count; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    Side::expect_empty(side.connections);
    channel.meet();
}

TEST_F(Scm, 500_connections_between_two_processes_are_made_and_taken_down) {
    const int count = scaled(kThreadSanitizer ? 100 : 500);
    Child child([count](Channel& channel) { serve_many(channel, count); });
    Side side;
    child.channel().receive<char>();
    std::vector<DAT_EP_HANDLE> endpoints;
    for (int i = 0; i < count; ++i) endpoints.push_back(side.connect_to(kQualifier));
    child.channel().meet();
    for (DAT_EP_HANDLE ep : endpoints) {
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Scm, a_request_to_connect_to_what_is_no_ipv4_address_is_refused_at_once) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    sockaddr_in6 peer{};
    peer.sin6_family = AF_INET6;
    peer.sin6_addr = in6addr_loopback;
    EXPECT_EQ(dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), kQualifier,
                             DAT_TIMEOUT_INFINITE, 0, nullptr, DAT_QOS_BEST_EFFORT,
                             DAT_CONNECT_DEFAULT_FLAG),
              static_cast<DAT_RETURN>(DAT_INVALID_ADDRESS));
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
}

}  // namespace
