// SPDX-License-Identifier: BSD-2-Clause
// Connections by datagrams (libdaploucm) between real processes, data over softverbs: what is
// special about them. connection_test and ud_test run over libdaploucm too.
#include <dat2/dat_iw_extensions.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "test/support/over_datagrams.hpp"

#include "test/api/side.hpp"
#include "test/support/sanitizer.hpp"
#include "test/support/stream.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 20712;
constexpr int kLargestData = 68;

class Ucm : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

std::string data_of(const DAT_EVENT& event) {
    const auto& data = event.event_data.connect_event_data;
    return {static_cast<const char*>(data.private_data),
            static_cast<std::size_t>(data.private_data_size)};
}
std::string text_of_size(int size, char seed) {
    std::string text(static_cast<std::size_t>(size), '\0');
    for (int i = 0; i < size; ++i) text[static_cast<std::size_t>(i)] = static_cast<char>(seed + i);
    return text;
}

sockaddr_in6 address_of(const Side& side) {
    sockaddr_in6 address;
    std::memcpy(&address, side.attributes().ia_address_ptr, sizeof address);
    return address;
}
DAT_RETURN connect_to(const sockaddr_in6& address, DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier) {
    sockaddr_in6 peer = address;
    return dat_ep_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), qualifier, kMicroseconds,
                          0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

void serve_every_size(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    for (int size = 0; size <= kLargestData; ++size) {
        const DAT_CR_HANDLE cr = side.request();
        DAT_CR_PARAM parameters{};
        succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
        require(std::string(static_cast<const char*>(parameters.private_data),
                            static_cast<std::size_t>(parameters.private_data_size)) ==
                    text_of_size(size, 'a'),
                "a request carries its data, in its exact size");
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
        require(data_of(side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep)).empty(),
                "the accepting side's event has no data");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.connections);
    channel.meet();
}

TEST_F(Ucm, private_data_of_each_size_goes_both_ways_with_accept_and_with_reject) {
    Child child(serve_every_size);
    Side side;
    child.channel().receive<char>();
    for (int size = 0; size <= kLargestData; ++size) {
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(Side::connect(ep, kQualifier, text_of_size(size, 'a')), "dat_ep_connect");
        const std::string answer = text_of_size(kLargestData - size, 'A');
        if (size % 2 == 0) {
            const auto event = side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
            EXPECT_EQ(data_of(event), answer);
        } else {
            const auto event = side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
            EXPECT_EQ(data_of(event), answer);
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }
        succeed(dat_ep_free(ep), "dat_ep_free");
    }
    Side::expect_empty(side.connections);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ucm, the_address_is_that_of_a_queue_pair_and_the_provider_says_ucm) {
    Side side;
    const sockaddr_in6 address = address_of(side);
    EXPECT_EQ(address.sin6_family, AF_INET6);
    EXPECT_NE(address.sin6_port, 0) << "the LID";
    EXPECT_NE(address.sin6_flowinfo, 0U) << "the QPN";
    EXPECT_EQ(address.sin6_scope_id, htole32(0x04000000U)) << "the type of the queue pair";
    DAT_PROVIDER_ATTR attributes{};
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_NONE, nullptr, DAT_PROVIDER_FIELD_ALL,
                         &attributes),
            "dat_ia_query");
    EXPECT_EQ(attributes.max_private_data_size, kLargestData);
    std::map<std::string, std::string> named;
    for (int i = 0; i < attributes.num_provider_specific_attr; ++i)
        named[attributes.provider_specific_attr[i].name] =
            attributes.provider_specific_attr[i].value;
    EXPECT_EQ(named["DAT_IB_PROVIDER_NAME"], "UCM");
    DAT_EP_HANDLE ep = side.endpoint();
    EXPECT_NE(Side::connect(ep, kQualifier, std::string(kLargestData + 1, 'x')), DAT_SUCCESS);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
}

TEST_F(Ucm, lid_and_number_are_enough_and_only_16_bits_of_the_qualifier_count) {
    Side side;
    side.listen(0x4d2);
    sockaddr_in6 bare{};  // as dtest, dtestx and dtestcm of the reference pass it
    const sockaddr_in6 own = address_of(side);
    bare.sin6_port = own.sin6_port;
    bare.sin6_flowinfo = own.sin6_flowinfo;
    DAT_EP_HANDLE active = side.endpoint();
    DAT_EP_HANDLE passive = side.endpoint();
    succeed(connect_to(bare, active, 0x204d2), "dat_ep_connect");
    const DAT_EVENT asked = Side::wait(side.requests, DAT_CONNECTION_REQUEST_EVENT);
    EXPECT_EQ(asked.event_data.cr_arrival_event_data.conn_qual, 0x4d2U);
    succeed(dat_cr_accept(asked.event_data.cr_arrival_event_data.cr_handle, passive, 0, nullptr),
            "dat_cr_accept");
    for (int count = 0; count < 2; ++count)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
}

TEST_F(Ucm, the_address_of_a_request_can_be_connected_back_to) {
    constexpr DAT_CONN_QUAL kBack = kQualifier + 1;
    Child child([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        const DAT_CR_HANDLE cr = side.request();
        DAT_CR_PARAM parameters{};
        succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
        sockaddr_in6 back;
        std::memcpy(&back, parameters.remote_ia_address_ptr, sizeof back);
        succeed(dat_cr_reject(cr, 0, nullptr), "dat_cr_reject");
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(connect_to(back, ep, kBack), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        channel.meet();
    });
    Side side;
    side.listen(kBack);
    child.channel().receive<char>();
    DAT_EP_HANDLE ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
    side.accept_next();
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ucm, what_has_no_qualifier_or_no_room_for_one_is_refused) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    sockaddr_in6 own = address_of(side);
    EXPECT_EQ(connect_to(own, ep, 0x30000), static_cast<DAT_RETURN>(DAT_INVALID_ADDRESS));
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_psp_create(side.ia, 0x30000, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              static_cast<DAT_RETURN>(DAT_INVALID_PARAMETER));
    EXPECT_EQ(dat_ep_common_connect(ep, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&own), kMicroseconds,
                                    0, nullptr),
              DAT_CLASS_ERROR | DAT_INVALID_ADDRESS |
                  static_cast<DAT_RETURN>(DAT_INVALID_ADDRESS_MALFORMED));
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
}

TEST_F(Ucm, nobody_there_is_told_with_the_queue_pairs_address) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    const sockaddr_in6 own = address_of(side);
    const std::string told = captured_stderr([&] {
        succeed(connect_to(own, ep, kQualifier), "dat_ep_connect");
        side.connection_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, ep);
    });
    EXPECT_NE(told.find("[DAT207]"), std::string::npos) << told;
    EXPECT_NE(told.find("QPN " + std::to_string(ntohl(own.sin6_flowinfo))), std::string::npos)
        << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(Ucm, two_instances_of_one_record_share_address_and_ports_and_processes_do_not) {
    Child child([](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.meet();
        side.accept_next();
        channel.meet();
    });
    Side first, second;
    const sockaddr_in6 one = address_of(first), other = address_of(second);
    EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0);
    child.channel().meet();
    const sockaddr_storage peer = address_for(kQualifier);
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    succeed(dat_psp_create(first.ia, kQualifier, first.requests, DAT_PSP_CONSUMER_FLAG, &psp),
            "dat_psp_create");
    EXPECT_EQ(dat_psp_create(second.ia, kQualifier, second.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              static_cast<DAT_RETURN>(DAT_CONN_QUAL_IN_USE));
    sockaddr_in6 to;
    std::memcpy(&to, &peer, sizeof to);
    DAT_EP_HANDLE ep = second.endpoint();
    succeed(connect_to(to, ep, kQualifier), "dat_ep_connect");
    second.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    first.close();
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_CONNECTED) << "the other instance goes on";
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ucm, a_forked_child_has_a_service_of_its_own) {
    if (kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    Side side;
    const sockaddr_in6 own = address_of(side);
    Child child([&](Channel&) {
        Side other;
        const sockaddr_in6 address = address_of(other);
        require(std::memcmp(&address, &own, sizeof own) != 0, "another address");
        other.listen(kQualifier);
        DAT_EP_HANDLE active = other.endpoint(), passive = other.endpoint();
        succeed(Side::connect(active, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(other.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int count = 0; count < 2; ++count)
            Side::wait(other.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    });
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ucm, thousands_of_connections_at_a_time_are_made_and_ended) {
    const int all = scaled(10000);
    Child child([&](Channel& channel) {
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        std::vector<DAT_EP_HANDLE> eps;
        for (int count = 0; count < all; ++count) eps.push_back(side.accept_next());
        channel.receive_whenever<char>();
        for (DAT_EP_HANDLE ep : eps) {
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        }
        channel.send('d');
    });
    Side side;
    side.connections = side.evd(DAT_EVD_CONNECTION_FLAG, all);
    child.channel().receive<char>();
    std::vector<DAT_EP_HANDLE> eps;
    for (int count = 0; count < all; ++count) eps.push_back(side.connect_to(kQualifier));
    child.channel().send('e');
    for (int count = 0; count < all; ++count)
        Side::wait(side.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
    child.channel().receive<char>();
    Side::expect_empty(side.connections);
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Ucm, takes_no_sockets_over_and_its_attribute_says_so) {
    Side side;
    EXPECT_EQ(side.named(DAT_IW_ATTR_SSP), "FALSE");
    const auto [one, other] = connected_streams();
    DAT_IW_SSP_HANDLE ssp = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_iw_ssp_create(side.ia, one.number(), nullptr, side.requests, nullptr, 0, &ssp),
              DAT_MODEL_NOT_SUPPORTED);
    EXPECT_EQ(dat_iw_socket_connect(side.endpoint(), one.number(), kMicroseconds, 0, nullptr),
              DAT_MODEL_NOT_SUPPORTED);
}

}  // namespace
