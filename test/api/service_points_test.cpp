// SPDX-License-Identifier: BSD-2-Clause
// Reserved, provider-flag and common service points, and the handoff of requests, between two real
// processes over soft0. The child connects, the test serves.
#include <gtest/gtest.h>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4720;
constexpr DAT_CONN_QUAL kOtherQualifier = 4721;

DAT_RETURN state_error(DAT_RETURN_SUBTYPE subtype) {
    return 0x80070000u | static_cast<DAT_RETURN>(subtype);
}

sockaddr_in address_with(DAT_CONN_QUAL port) {
    sockaddr_in address = test::ia_address();
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}
DAT_IA_ADDRESS_PTR pointer(sockaddr_in& address) {
    return reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address);
}

DAT_CR_PARAM query(DAT_CR_HANDLE cr) {
    DAT_CR_PARAM parameters{};
    succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &parameters), "dat_cr_query");
    return parameters;
}
DAT_EP_PARAM query_ep(DAT_EP_HANDLE ep) {
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    return parameters;
}
void expect_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE wanted) {
    DAT_HANDLE_TYPE type{};
    succeed(dat_get_handle_type(handle, &type), "dat_get_handle_type");
    EXPECT_EQ(type, wanted);
}

/// Sets the PZ and the EVDs of an EP that came with a request.
void complete(const Side& side, DAT_EP_HANDLE ep) {
    DAT_EP_PARAM parameters{};
    parameters.pz_handle = side.pz;
    parameters.recv_evd_handle = side.receives;
    parameters.request_evd_handle = side.sends;
    parameters.connect_evd_handle = side.connections;
    succeed(dat_ep_modify(ep,
                          DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                              DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                          &parameters),
            "dat_ep_modify");
}

const std::string kHello(48, 'h');
const std::string kWelcome(48, 'w');

bool starts_with(const void* data, DAT_COUNT size, const std::string& wanted) {
    return data && size >= static_cast<DAT_COUNT>(wanted.size()) &&
           std::memcmp(data, wanted.data(), wanted.size()) == 0;
}

void send_hello(const Side& side, DAT_EP_HANDLE ep) {
    Buffer buffer(side, kHello.size());
    buffer.bytes = kHello;
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_send(ep, 1, &segment, {}, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send");
    const DAT_EVENT sent = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    require(sent.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS,
            "the send is done");
}

/// The other process: connects to the qualifier that it receives, expects the welcome, sends a
/// message and waits for the disconnect.
void be_client(Channel& channel) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    const auto qualifier = channel.receive<DAT_CONN_QUAL>();
    succeed(Side::connect(ep, qualifier, kHello), "dat_ep_connect");
    const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    const DAT_CONNECTION_EVENT_DATA& data = event.event_data.connect_event_data;
    require(starts_with(data.private_data, data.private_data_size, kWelcome),
            "the welcome arrives");
    send_hello(side, ep);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

/// The other process: connects and is refused by the event `number`.
template <DAT_EVENT_NUMBER number>
void be_refused(Channel& channel) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    const auto qualifier = channel.receive<DAT_CONN_QUAL>();
    succeed(Side::connect(ep, qualifier, kHello), "dat_ep_connect");
    side.connection_event(number, ep);
}

/// Children are forked before this process opens anything.
class ServicePoints : public testing::Test {
  protected:
    /// Accepts the request, receives the client's message, disconnects.
    static void serve(const Side& side, DAT_CR_HANDLE cr, DAT_EP_HANDLE given, DAT_EP_HANDLE ep) {
        Buffer buffer(side);
        DAT_LMR_TRIPLET segment = buffer.all();
        succeed(dat_ep_post_recv(ep, 1, &segment, {}, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_cr_accept(cr, given, static_cast<DAT_COUNT>(kWelcome.size()),
                              const_cast<char*>(kWelcome.data())),
                "dat_cr_accept");
        EXPECT_EQ(dat_cr_query(cr, DAT_CR_FIELD_ALL, nullptr), 0x80050012u) << "the CR is answered";
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_CONNECTED);
        const DAT_EVENT received = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        EXPECT_EQ(received.event_data.dto_completion_event_data.transfered_length, kHello.size());
        EXPECT_EQ(buffer.bytes.substr(0, kHello.size()), kHello);
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    }
    DAT_CR_ARRIVAL_EVENT_DATA arrival(DAT_EVD_HANDLE evd) {
        return Side::wait(evd, DAT_CONNECTION_REQUEST_EVENT).event_data.cr_arrival_event_data;
    }

    TemporaryFabric fabric_;
};

TEST_F(ServicePoints, an_rsp_takes_one_request_for_its_endpoint_and_refuses_later_ones) {
    Child first(be_client);
    Child second(be_refused<DAT_CONNECTION_EVENT_PEER_REJECTED>);
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kQualifier, ep, side.requests, &rsp), "dat_rsp_create");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_RESERVED);
    expect_handle_type(rsp, DAT_HANDLE_TYPE_RSP);
    DAT_RSP_PARAM parameters{};
    succeed(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &parameters), "dat_rsp_query");
    EXPECT_EQ(parameters.ia_handle, side.ia);
    EXPECT_EQ(parameters.conn_qual, kQualifier);
    EXPECT_EQ(parameters.evd_handle, side.requests);
    EXPECT_EQ(parameters.ep_handle, ep);
    EXPECT_EQ(dat_evd_free(side.requests), 0x8007004Au);

    first.channel().send(kQualifier);
    const DAT_CR_ARRIVAL_EVENT_DATA request = arrival(side.requests);
    EXPECT_EQ(request.sp_handle.rsp_handle, rsp);
    EXPECT_EQ(request.conn_qual, kQualifier);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    const DAT_CR_PARAM cr = query(request.cr_handle);
    EXPECT_EQ(cr.local_ep_handle, ep);
    EXPECT_TRUE(starts_with(cr.private_data, cr.private_data_size, kHello));
    second.channel().send(kQualifier);
    EXPECT_EQ(second.wait(), 0);
    Side::expect_empty(side.requests);

    EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_PASSCONNPENDING));
    EXPECT_EQ(dat_cr_accept(request.cr_handle, side.endpoint(), 0, nullptr), 0x8005000Cu)
        << "another endpoint than the RSP's";
    serve(side, request.cr_handle, DAT_HANDLE_NULL, ep);
    succeed(dat_rsp_free(rsp), "dat_rsp_free");
    EXPECT_EQ(dat_rsp_free(rsp), 0x80050011u);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED) << "the RSP's end is nothing to it";
    succeed(dat_ep_free(ep), "dat_ep_free");
    EXPECT_EQ(first.wait(), 0);
}

TEST_F(ServicePoints, an_rsp_accepts_with_its_endpoint_named_too_and_its_request_outlives_it) {
    Child client(be_client);
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kQualifier, ep, side.requests, &rsp), "dat_rsp_create");
    client.channel().send(kQualifier);
    const DAT_CR_HANDLE cr = side.request();
    succeed(dat_rsp_free(rsp), "dat_rsp_free");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    serve(side, cr, ep, ep);
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(ServicePoints, a_rejected_request_gives_the_endpoint_of_an_rsp_back) {
    Child client(be_refused<DAT_CONNECTION_EVENT_PEER_REJECTED>);
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kQualifier, ep, side.requests, &rsp), "dat_rsp_create");
    client.channel().send(kQualifier);
    succeed(dat_cr_reject(side.request(), 0, nullptr), "dat_cr_reject");
    EXPECT_EQ(client.wait(), 0);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    succeed(dat_ep_free(ep), "dat_ep_free");
    succeed(dat_rsp_free(rsp), "an RSP that has had its request, and whose endpoint is gone");
}

TEST_F(ServicePoints, the_codes_of_rsps) {
    Side side;
    Side other;
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    const auto create = [&](DAT_EP_HANDLE with, DAT_EVD_HANDLE evd, DAT_RSP_HANDLE* out) {
        return dat_rsp_create(side.ia, kQualifier, with, evd, out);
    };
    EXPECT_EQ(dat_rsp_create(DAT_HANDLE_NULL, kQualifier, ep, side.requests, &rsp), 0x8005000Bu);
    EXPECT_EQ(create(DAT_HANDLE_NULL, side.requests, &rsp), 0x8005000Cu);
    EXPECT_EQ(create(other.endpoint(), side.requests, &rsp), 0x8005000Cu);
    const DAT_RETURN bad_evd = 0x80050000u | DAT_INVALID_HANDLE_EVD_CR;
    EXPECT_EQ(create(ep, DAT_HANDLE_NULL, &rsp), bad_evd);
    EXPECT_EQ(create(ep, side.connections, &rsp), bad_evd);
    EXPECT_EQ(create(ep, other.requests, &rsp), bad_evd);
    EXPECT_EQ(create(ep, side.requests, nullptr), 0x80060029u);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);

    succeed(create(ep, side.requests, &rsp), "dat_rsp_create");
    EXPECT_EQ(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(dat_rsp_query(side.pz, DAT_RSP_FIELD_ALL, nullptr), 0x80050011u);
    EXPECT_EQ(dat_rsp_free(side.pz), 0x80050011u);
    DAT_RSP_HANDLE again = DAT_HANDLE_NULL;
    EXPECT_EQ(create(ep, side.requests, &again), state_error(DAT_INVALID_STATE_EP_RESERVED));
    DAT_EP_HANDLE second = side.endpoint();
    EXPECT_EQ(create(second, side.requests, &again), 0x80020000u) << "the qualifier is in use";
    EXPECT_EQ(again, DAT_HANDLE_NULL);
    EXPECT_EQ(Side::state(second), DAT_EP_STATE_UNCONNECTED);
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              0x00020000u);
    EXPECT_EQ(dat_rsp_create(other.ia, kQualifier, other.endpoint(), other.requests, &again),
              0x00020000u);

    EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_RESERVED));
    EXPECT_EQ(dat_ep_reset(ep), state_error(DAT_INVALID_STATE_EP_RESERVED));
    EXPECT_EQ(Side::connect(ep, kOtherQualifier), state_error(DAT_INVALID_STATE_EP_RESERVED));
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
              state_error(DAT_INVALID_STATE_EP_RESERVED));
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    succeed(dat_rsp_free(rsp), "dat_rsp_free");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    succeed(create(ep, side.requests, &rsp), "qualifier and endpoint are free again");
}

TEST_F(ServicePoints, an_incomplete_endpoint_waits_as_unconfigured_and_is_completed_by_modify) {
    Child client(be_client);
    Side side;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                          DAT_HANDLE_NULL, nullptr, &ep),
            "dat_ep_create");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED) << "as consumers know it";
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kQualifier, ep, side.requests, &rsp), "dat_rsp_create");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONFIGURED_RESERVED);
    EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_UNCONFRESERVED));
    client.channel().send(kQualifier);
    const DAT_CR_HANDLE cr = side.request();
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONFIGURED_PASSIVE);
    EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_UNCONFPASSIVE));
    EXPECT_EQ(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, nullptr), 0x8005000Cu);
    complete(side, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    DAT_EP_PARAM parameters{};
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &parameters),
              state_error(DAT_INVALID_STATE_EP_PASSCONNPENDING));
    serve(side, cr, DAT_HANDLE_NULL, ep);
    EXPECT_EQ(client.wait(), 0);
}

DAT_PSP_HANDLE listen_with_endpoints(const Side& side, DAT_CONN_QUAL qualifier) {
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    succeed(dat_psp_create(side.ia, qualifier, side.requests, DAT_PSP_PROVIDER_FLAG, &psp),
            "dat_psp_create");
    return psp;
}

TEST_F(ServicePoints, a_provider_flag_psp_makes_an_endpoint_for_each_request) {
    Child clients[] = {Child(be_client), Child(be_client)};
    Side side;
    const DAT_PSP_HANDLE psp = listen_with_endpoints(side, kQualifier);
    DAT_PSP_PARAM parameters{};
    succeed(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &parameters), "dat_psp_query");
    EXPECT_EQ(parameters.psp_flags, DAT_PSP_PROVIDER_FLAG);
    DAT_EP_HANDLE earlier = DAT_HANDLE_NULL;
    for (Child& client : clients) {
        client.channel().send(kQualifier);
        const DAT_CR_ARRIVAL_EVENT_DATA request = arrival(side.requests);
        EXPECT_EQ(request.sp_handle.psp_handle, psp);
        DAT_EP_HANDLE ep = query(request.cr_handle).local_ep_handle;
        ASSERT_NE(ep, DAT_HANDLE_NULL);
        EXPECT_NE(ep, earlier);
        earlier = ep;
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONFIGURED_TENTATIVE);
        EXPECT_EQ(query_ep(ep).pz_handle, DAT_HANDLE_NULL);
        EXPECT_EQ(query_ep(ep).ia_handle, side.ia);
        EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_UNCONFTENTATIVE));
        EXPECT_EQ(dat_cr_accept(request.cr_handle, DAT_HANDLE_NULL, 0, nullptr), 0x8005000Cu);
        EXPECT_EQ(dat_cr_accept(request.cr_handle, side.endpoint(), 0, nullptr), 0x8005000Cu);
        complete(side, ep);
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        EXPECT_EQ(query_ep(ep).ep_attr.max_recv_dtos, 16) << "the defaults of dat_ep_create";
        EXPECT_EQ(dat_ep_free(ep), state_error(DAT_INVALID_STATE_EP_TENTCONNPENDING));
        std::string much(161, 'm');
        EXPECT_EQ(dat_cr_accept(request.cr_handle, ep, 161, much.data()), 0x80060027u);
        serve(side, request.cr_handle, DAT_HANDLE_NULL, ep);
        succeed(dat_ep_reset(ep), "the endpoint is the consumer's from here on");
        succeed(dat_ep_free(ep), "dat_ep_free");
        EXPECT_EQ(client.wait(), 0);
    }
}

TEST_F(ServicePoints, the_endpoint_of_a_provider_flag_psp_can_be_completed_step_by_step) {
    Child client(be_client);
    Side side;
    listen_with_endpoints(side, kQualifier);
    client.channel().send(kQualifier);
    const DAT_CR_HANDLE cr = side.request();
    DAT_EP_HANDLE ep = query(cr).local_ep_handle;
    DAT_EP_PARAM parameters{};
    const auto modify = [&](DAT_EP_PARAM_MASK mask) {
        return dat_ep_modify(ep, mask, &parameters);
    };
    parameters.request_evd_handle = side.sends;
    succeed(modify(DAT_EP_FIELD_REQUEST_EVD_HANDLE), "the request EVD");
    parameters.connect_evd_handle = side.connections;
    succeed(modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE), "the connect EVD");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONFIGURED_TENTATIVE);
    parameters.pz_handle = side.pz;
    succeed(modify(DAT_EP_FIELD_PZ_HANDLE), "the PZ");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
    parameters.connect_evd_handle = DAT_HANDLE_NULL;
    succeed(modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE), "no connect EVD");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONFIGURED_TENTATIVE);
    parameters.connect_evd_handle = side.connections;
    parameters.recv_evd_handle = side.receives;
    parameters.ep_attr.max_recv_dtos = 3;
    parameters.ep_attr.max_recv_iov = 2;
    succeed(modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                   DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV),
            "the receive EVD");
    const DAT_EP_PARAM made = query_ep(ep);
    EXPECT_EQ(made.ep_attr.max_recv_dtos, 3);
    EXPECT_EQ(made.ep_attr.max_recv_iov, 2);
    EXPECT_EQ(made.ep_attr.max_request_dtos, 16);
    EXPECT_EQ(made.recv_evd_handle, side.receives);
    serve(side, cr, ep, ep);
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(ServicePoints, rejecting_a_request_frees_the_endpoint_that_was_made_for_it) {
    Child clients[] = {Child(be_refused<DAT_CONNECTION_EVENT_PEER_REJECTED>),
                       Child(be_refused<DAT_CONNECTION_EVENT_PEER_REJECTED>)};
    Side side;
    const DAT_PSP_HANDLE psp = listen_with_endpoints(side, kQualifier);
    for (bool completed : {false, true}) {
        Child& client = clients[completed];
        client.channel().send(kQualifier);
        const DAT_CR_HANDLE cr = side.request();
        DAT_EP_HANDLE ep = query(cr).local_ep_handle;
        if (completed) complete(side, ep);
        succeed(dat_cr_reject(cr, 0, nullptr), "dat_cr_reject");
        EXPECT_EQ(dat_ep_get_status(ep, nullptr, nullptr, nullptr), 0x8005000Cu);
        EXPECT_EQ(dat_ep_free(ep), 0x8005000Cu);
        EXPECT_EQ(client.wait(), 0);
    }
    succeed(dat_psp_free(psp), "dat_psp_free");
    for (const DAT_EVD_HANDLE evd : {side.requests, side.connections, side.receives, side.sends})
        succeed(dat_evd_free(evd), "nothing uses an EVD any more");
    succeed(dat_pz_free(side.pz), "nothing uses the PZ any more");
    succeed(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG), "nothing is left");
    side.ia = DAT_HANDLE_NULL;
}

TEST_F(ServicePoints, closing_the_adapter_sends_the_peers_of_all_kinds_away) {
    Child clients[] = {Child(be_refused<DAT_CONNECTION_EVENT_NON_PEER_REJECTED>),
                       Child(be_refused<DAT_CONNECTION_EVENT_NON_PEER_REJECTED>)};
    Side side;
    listen_with_endpoints(side, kQualifier);
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kOtherQualifier, side.endpoint(), side.requests, &rsp),
            "dat_rsp_create");
    DAT_RSP_HANDLE waiting = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kOtherQualifier + 1, side.endpoint(), side.requests, &waiting),
            "dat_rsp_create");
    clients[0].channel().send(kQualifier);
    side.request();
    clients[1].channel().send(kOtherQualifier);
    side.request();
    side.close();
    for (Child& client : clients) EXPECT_EQ(client.wait(), 0);
}

/// The other process: connects to a CSP by dat_ep_common_connect, after tries with bad arguments.
void be_common_client(Channel& channel) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    sockaddr_in peer = address_with(channel.receive<DAT_CONN_QUAL>());
    const auto connect = [&](DAT_EP_HANDLE with, sockaddr_in* to, DAT_TIMEOUT timeout,
                             DAT_COUNT size, const char* data) {
        return dat_ep_common_connect(with, reinterpret_cast<DAT_IA_ADDRESS_PTR>(to), timeout, size,
                                     const_cast<char*>(data));
    };
    expect_code(connect(ep, nullptr, 1, 0, nullptr), 0x80060026u, "no address");
    expect_code(connect(DAT_HANDLE_NULL, &peer, 1, 0, nullptr), 0x8005000Cu, "no endpoint");
    expect_code(connect(side.pz, &peer, 1, 0, nullptr), 0x8005000Cu, "no endpoint");
    expect_code(connect(ep, &peer, 0, 0, nullptr), 0x80060027u, "no time");
    const std::string much(57, 'm');
    expect_code(connect(ep, &peer, 1, 57, much.data()), 0x80060028u, "much private data");
    expect_code(connect(ep, &peer, 1, -1, much.data()), 0x80060028u, "negative private data");
    expect_code(connect(ep, &peer, 1, 8, nullptr), 0x80060029u, "no private data");
    sockaddr_in odd = peer;
    odd.sin_family = AF_UNIX;
    expect_code(connect(ep, &odd, 1, 0, nullptr), 0x80120000u | DAT_INVALID_ADDRESS_MALFORMED,
                "not an internet address");
    odd = address_with(0);
    expect_code(connect(ep, &odd, 1, 0, nullptr), 0x80120000u | DAT_INVALID_ADDRESS_MALFORMED,
                "no port");
    require(Side::state(ep) == DAT_EP_STATE_UNCONNECTED, "nothing has begun");
    succeed(connect(ep, &peer, DAT_TIMEOUT_INFINITE, static_cast<DAT_COUNT>(kHello.size()),
                    kHello.data()),
            "dat_ep_common_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    expect_code(connect(ep, &peer, 1, 0, nullptr), state_error(DAT_INVALID_STATE_EP_CONNECTED),
                "connected already");
    const DAT_EP_PARAM made = query_ep(ep);
    require(made.remote_port_qual == ntohs(peer.sin_port), "the port is the peer's qualifier");
    require(made.comm.domain == AF_INET && made.comm.type == SOCK_STREAM, "the communicator");
    send_hello(side, ep);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

TEST_F(ServicePoints, a_csp_listens_on_a_socket_address) {
    Child client(be_common_client);
    Child other(be_client);
    Side side;
    DAT_COMM comm{AF_INET, SOCK_STREAM, 0};
    sockaddr_in address = address_with(0);
    DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
    succeed(dat_csp_create(side.ia, &comm, pointer(address), side.requests, &csp),
            "dat_csp_create");
    expect_handle_type(csp, DAT_HANDLE_TYPE_CSP);
    DAT_CSP_PARAM parameters{};
    succeed(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &parameters), "dat_csp_query");
    EXPECT_EQ(parameters.ia_handle, side.ia);
    EXPECT_EQ(parameters.evd_handle, side.requests);
    EXPECT_EQ(parameters.comm->domain, AF_INET);
    EXPECT_EQ(parameters.comm->type, SOCK_STREAM);
    EXPECT_EQ(parameters.comm->protocol, IPPROTO_TCP);
    sockaddr_in chosen{};
    std::memcpy(&chosen, parameters.address_ptr, sizeof chosen);
    EXPECT_EQ(chosen.sin_addr.s_addr, test::ia_address().sin_addr.s_addr);
    const DAT_CONN_QUAL port = ntohs(chosen.sin_port);
    EXPECT_GE(port, 1024u);

    client.channel().send(port);
    const DAT_CR_ARRIVAL_EVENT_DATA request = arrival(side.requests);
    EXPECT_EQ(request.sp_handle.csp_handle, csp);
    EXPECT_EQ(request.conn_qual, port);
    const DAT_CR_PARAM cr = query(request.cr_handle);
    EXPECT_EQ(cr.local_ep_handle, DAT_HANDLE_NULL);
    EXPECT_TRUE(starts_with(cr.private_data, cr.private_data_size, kHello));
    DAT_EP_HANDLE ep = side.endpoint();
    serve(side, request.cr_handle, ep, ep);
    EXPECT_EQ(client.wait(), 0);

    other.channel().send(port);  // dat_ep_connect with the port as the qualifier reaches it as well
    ep = side.endpoint();
    serve(side, side.request(), ep, ep);
    EXPECT_EQ(other.wait(), 0);
    succeed(dat_csp_free(csp), "dat_csp_free");
    EXPECT_EQ(dat_csp_free(csp), 0x8005001Au);
}

TEST_F(ServicePoints, the_codes_of_csps) {
    Side side;
    DAT_COMM comm{AF_INET, SOCK_STREAM, IPPROTO_TCP};
    sockaddr_in address = address_with(kQualifier);
    DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
    const auto create = [&](DAT_COMM* with, sockaddr_in* on, DAT_EVD_HANDLE evd,
                            DAT_CSP_HANDLE* out) {
        return dat_csp_create(side.ia, with, reinterpret_cast<DAT_IA_ADDRESS_PTR>(on), evd, out);
    };
    EXPECT_EQ(dat_csp_create(DAT_HANDLE_NULL, &comm, pointer(address), side.requests, &csp),
              0x8005000Bu);
    EXPECT_EQ(create(nullptr, &address, side.requests, &csp), 0x80060026u);
    EXPECT_EQ(create(&comm, nullptr, side.requests, &csp), 0x80060027u);
    EXPECT_EQ(create(&comm, &address, side.connections, &csp),
              0x80050000u | DAT_INVALID_HANDLE_EVD_CR);
    EXPECT_EQ(create(&comm, &address, side.requests, nullptr), 0x80060029u);
    for (DAT_COMM odd : {DAT_COMM{AF_INET6, SOCK_STREAM, 0}, DAT_COMM{AF_INET, SOCK_DGRAM, 0},
                         DAT_COMM{AF_INET, SOCK_STREAM, IPPROTO_UDP}})
        EXPECT_EQ(create(&odd, &address, side.requests, &csp), 0x80170000u);
    sockaddr_in odd = address;
    odd.sin_family = AF_INET6;
    EXPECT_EQ(create(&comm, &odd, side.requests, &csp),
              0x80120000u | DAT_INVALID_ADDRESS_MALFORMED);
    odd = address;
    odd.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1, reserved for documentation
    EXPECT_EQ(create(&comm, &odd, side.requests, &csp),
              0x80120000u | DAT_INVALID_ADDRESS_UNSUPPORTED);
    odd.sin_addr.s_addr = INADDR_ANY;
    succeed(create(&comm, &odd, side.requests, &csp), "any address is the adapter's");
    DAT_CSP_HANDLE again = DAT_HANDLE_NULL;
    EXPECT_EQ(create(&comm, &address, side.requests, &again), 0x80020000u);
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_psp_create(side.ia, kQualifier, side.requests, DAT_PSP_CONSUMER_FLAG, &psp),
              0x00020000u);
    EXPECT_EQ(dat_csp_query(csp, DAT_CSP_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(dat_csp_query(DAT_HANDLE_NULL, DAT_CSP_FIELD_ALL, nullptr), 0x8005001Au);
    EXPECT_EQ(dat_csp_free(side.pz), 0x8005001Au);
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
    succeed(dat_csp_free(csp), "dat_csp_free");
    succeed(create(&comm, &address, side.requests, &csp), "the port is free again");
}

TEST_F(ServicePoints, a_request_can_be_handed_to_another_service_point_of_the_adapter) {
    Child client(be_client);
    Side side;
    side.listen(kQualifier);
    const DAT_EVD_HANDLE others = side.evd(DAT_EVD_CR_FLAG, 8);
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    succeed(dat_psp_create(side.ia, kOtherQualifier, others, DAT_PSP_PROVIDER_FLAG, &psp),
            "dat_psp_create");
    client.channel().send(kQualifier);
    const DAT_CR_HANDLE first = side.request();
    EXPECT_EQ(dat_cr_handoff(DAT_HANDLE_NULL, kOtherQualifier), 0x80050012u);
    EXPECT_EQ(dat_cr_handoff(side.pz, kOtherQualifier), 0x80050012u);
    EXPECT_EQ(dat_cr_handoff(first, kOtherQualifier + 5), 0x80060026u) << "nobody listens there";
    succeed(dat_cr_handoff(first, kOtherQualifier), "dat_cr_handoff");
    EXPECT_EQ(dat_cr_handoff(first, kOtherQualifier), 0x80050012u) << "it is dead for the first";

    const DAT_CR_ARRIVAL_EVENT_DATA second = arrival(others);
    EXPECT_EQ(second.sp_handle.psp_handle, psp);
    EXPECT_EQ(second.conn_qual, kOtherQualifier);
    const DAT_CR_PARAM cr = query(second.cr_handle);
    EXPECT_TRUE(starts_with(cr.private_data, cr.private_data_size, kHello));
    DAT_EP_HANDLE made = cr.local_ep_handle;
    ASSERT_NE(made, DAT_HANDLE_NULL);

    DAT_EP_HANDLE ep = side.endpoint();
    DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
    succeed(dat_rsp_create(side.ia, kOtherQualifier + 1, ep, others, &rsp), "dat_rsp_create");
    succeed(dat_cr_handoff(second.cr_handle, kOtherQualifier + 1), "from a PSP to an RSP");
    EXPECT_EQ(dat_ep_get_status(made, nullptr, nullptr, nullptr), 0x8005000Cu)
        << "the endpoint made for it is gone";
    const DAT_CR_ARRIVAL_EVENT_DATA third = arrival(others);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    EXPECT_EQ(dat_cr_handoff(third.cr_handle, kOtherQualifier + 1), 0x80060026u)
        << "this RSP has had its request";
    succeed(dat_cr_handoff(third.cr_handle, kQualifier), "back to where it came in");
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    const DAT_CR_HANDLE fourth = side.request();
    serve(side, fourth, ep, ep);
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(ServicePoints, a_requests_peer_that_has_given_up_ends_the_accept_of_a_made_endpoint) {
    Child client([](Channel& channel) {
        Side side;
        DAT_EP_HANDLE ep = side.endpoint();
        succeed(Side::connect(ep, channel.receive<DAT_CONN_QUAL>()), "dat_ep_connect");
        channel.receive<char>();
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
        side.close();
    });
    Side side;
    listen_with_endpoints(side, kQualifier);
    client.channel().send(kQualifier);
    const DAT_CR_HANDLE cr = side.request();
    client.channel().send('d');
    EXPECT_EQ(client.wait(), 0);
    DAT_EP_HANDLE ep = query(cr).local_ep_handle;
    complete(side, ep);
    succeed(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, ep);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_DISCONNECTED);
    succeed(dat_ep_free(ep), "dat_ep_free");
}

}  // namespace
