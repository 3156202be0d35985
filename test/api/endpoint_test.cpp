// SPDX-License-Identifier: BSD-2-Clause
// Effects of dat_ep_modify on an endpoint, and the private data of every connection call, between
// two real processes over soft0.
#include <gtest/gtest.h>

#include <utility>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4740;

class Endpoints : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

DAT_EP_PARAM query(DAT_EP_HANDLE ep) {
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    return parameters;
}

void post_receive(DAT_EP_HANDLE ep, const Buffer& buffer, DAT_UINT64 number) {
    DAT_LMR_TRIPLET segment = buffer.all();
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = number;
    succeed(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
}

DAT_DTO_COMPLETION_EVENT_DATA next_transfer(DAT_EVD_HANDLE evd) {
    return Side::wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

/// Connects, sends one message and waits for the disconnect.
void send_one(Channel& channel) {
    channel.receive<char>();
    Side side;
    Buffer buffer(side, 64);
    buffer.bytes.assign(64, 's');
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    DAT_LMR_TRIPLET segment = buffer.all();
    succeed(dat_ep_post_send(ep, 1, &segment, {}, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send");
    require(next_transfer(side.sends).status == DAT_DTO_SUCCESS, "the send is done");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

TEST_F(Endpoints, a_modified_connect_evd_and_read_counts_keep_the_posted_receives) {
    Child client(send_one);
    Side side;
    Buffer buffer(side, 64);
    DAT_EP_HANDLE ep = side.endpoint();
    post_receive(ep, buffer, 7);
    DAT_EP_PARAM wanted{};
    wanted.connect_evd_handle = side.evd(DAT_EVD_CONNECTION_FLAG, 8);
    wanted.ep_attr.max_rdma_read_in = 1;
    wanted.ep_attr.max_rdma_read_out = 2;
    succeed(dat_ep_modify(ep,
                          DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
                              DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
                          &wanted),
            "dat_ep_modify");
    const DAT_EVD_HANDLE connections = std::exchange(side.connections, wanted.connect_evd_handle);
    succeed(dat_evd_free(connections), "the endpoint has let go of its first connect EVD");
    side.listen(kQualifier);
    client.channel().send('l');
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    const DAT_DTO_COMPLETION_EVENT_DATA received = next_transfer(side.receives);
    EXPECT_EQ(received.user_cookie.as_64, 7u);
    EXPECT_EQ(received.status, DAT_DTO_SUCCESS);
    EXPECT_EQ(buffer.bytes, std::string(64, 's'));
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(Endpoints, a_change_that_needs_another_queue_pair_gives_posted_receives_back_flushed) {
    Child client(send_one);
    Side side;
    Buffer buffer(side, 64);
    DAT_EP_HANDLE ep = side.endpoint();
    for (DAT_UINT64 i = 0; i < 3; ++i) post_receive(ep, buffer, i);
    DAT_EP_PARAM wanted{};
    wanted.recv_evd_handle = side.evd(DAT_EVD_DTO_FLAG, 8);
    wanted.ep_attr.max_recv_dtos = 2;
    wanted.ep_attr.max_recv_iov = 1;
    wanted.ep_attr.max_request_dtos = 3;
    wanted.ep_attr.max_request_iov = 2;
    succeed(dat_ep_modify(ep,
                          DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
                              DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
                              DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
                              DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
                          &wanted),
            "dat_ep_modify");
    for (DAT_UINT64 i = 0; i < 3; ++i) {
        const DAT_DTO_COMPLETION_EVENT_DATA flushed = next_transfer(side.receives);
        EXPECT_EQ(flushed.user_cookie.as_64, i);
        EXPECT_EQ(flushed.status, DAT_DTO_ERR_FLUSHED);
    }
    Side::expect_empty(side.receives);
    const DAT_EP_PARAM now = query(ep);
    EXPECT_EQ(now.recv_evd_handle, wanted.recv_evd_handle);
    EXPECT_EQ(now.ep_attr.max_recv_dtos, 2);
    EXPECT_EQ(now.ep_attr.max_recv_iov, 1);
    EXPECT_EQ(now.ep_attr.max_request_dtos, 3);
    EXPECT_EQ(now.ep_attr.max_request_iov, 2);

    post_receive(ep, buffer, 10);
    side.listen(kQualifier);
    client.channel().send('l');
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    EXPECT_EQ(next_transfer(wanted.recv_evd_handle).user_cookie.as_64, 10u);
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    EXPECT_EQ(client.wait(), 0);
}

TEST_F(Endpoints, an_evd_that_modify_takes_or_gives_takes_or_gives_the_sides_counts) {
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_EP_PARAM wanted{};
    succeed(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &wanted), "no receive EVD");
    EXPECT_EQ(query(ep).ep_attr.max_recv_dtos, 0);
    EXPECT_EQ(query(ep).ep_attr.max_request_dtos, 16);
    wanted.recv_evd_handle = side.receives;
    succeed(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &wanted), "a receive EVD");
    EXPECT_EQ(query(ep).ep_attr.max_recv_dtos, 16);
    EXPECT_EQ(query(ep).ep_attr.max_recv_iov, 4);
    wanted.ep_attr.max_recv_dtos = 0;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &wanted), 0x80060027u)
        << "an EVD and no receives contradict each other";
    wanted.pz_handle = DAT_HANDLE_NULL;
    succeed(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &wanted), "no PZ");
    EXPECT_EQ(Side::connect(ep, kQualifier), 0x80070039u);
    EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
    succeed(dat_pz_free(side.pz), "the endpoint has let go of its PZ");
}

/// Tries each of the three connect calls with every invalid size, then with the largest valid one.
void connect_with_data(Channel& channel) {
    channel.receive<char>();
    Side side;
    std::string data(57, 'd');
    sockaddr_in peer = test::ia_address();
    peer.sin_port = htons(kQualifier);
    auto* address = reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer);
    DAT_EP_HANDLE model = side.endpoint();
    const auto connect = [&](DAT_COUNT size, char* bytes) {
        return dat_ep_connect(model, address, kQualifier, DAT_TIMEOUT_INFINITE, size, bytes,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    };
    DAT_EP_HANDLE common = side.endpoint();
    const auto common_connect = [&](DAT_COUNT size, char* bytes) {
        return dat_ep_common_connect(common, address, DAT_TIMEOUT_INFINITE, size, bytes);
    };
    DAT_EP_HANDLE dup = side.endpoint();
    const auto dup_connect = [&](DAT_COUNT size, char* bytes) {
        return dat_ep_dup_connect(dup, model, DAT_TIMEOUT_INFINITE, size, bytes,
                                  DAT_QOS_BEST_EFFORT);
    };
    const auto try_all = [&](const auto& call, DAT_RETURN bad_size, DAT_RETURN bad_data,
                             DAT_EP_HANDLE ep) {
        expect_code(call(57, data.data()), bad_size, "one byte too many");
        expect_code(call(1 << 30, data.data()), bad_size, "far too many");
        expect_code(call(-1, data.data()), bad_size, "a negative size");
        expect_code(call(8, nullptr), bad_data, "a size and no data");
        require(Side::state(ep) == DAT_EP_STATE_UNCONNECTED, "nothing has begun");
        succeed(call(56, data.data()), "the largest size");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    };
    try_all(connect, 0x80060029, 0x8006002A, model);
    try_all(common_connect, 0x80060028, 0x80060029, common);
    try_all(dup_connect, 0x80060028, 0x80060029, dup);
    DAT_EP_HANDLE refused = side.endpoint();
    succeed(Side::connect(refused, kQualifier), "dat_ep_connect");
    const DAT_EVENT event = side.connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, refused);
    const DAT_CONNECTION_EVENT_DATA& told = event.event_data.connect_event_data;
    require(
        told.private_data_size >= 112 &&
            std::string(static_cast<const char*>(told.private_data), 112) == std::string(112, 'r'),
        "the rejection brings its data");
}

TEST_F(Endpoints, private_data_is_checked_against_the_providers_limit_on_every_call) {
    Child client(connect_with_data);
    Side side;
    if (side.is_iwarp()) GTEST_SKIP() << "these are the limits of InfiniBand's messages";
    side.listen(kQualifier);
    client.channel().send('l');
    std::string data(161, 'r');
    for (int i = 0; i < 3; ++i) {
        const DAT_CR_HANDLE cr = side.request();
        DAT_CR_PARAM request{};
        succeed(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
        EXPECT_EQ(std::string(static_cast<const char*>(request.private_data), 56),
                  std::string(56, 'd'));
        DAT_EP_HANDLE ep = side.endpoint();
        EXPECT_EQ(dat_cr_accept(cr, ep, 161, data.data()), 0x80060027u);
        EXPECT_EQ(dat_cr_accept(cr, ep, -1, data.data()), 0x80060027u);
        EXPECT_EQ(dat_cr_accept(cr, ep, 8, nullptr), 0x80060028u);
        EXPECT_EQ(dat_cr_reject(cr, 113, data.data()), 0x80060026u);
        EXPECT_EQ(dat_cr_reject(cr, -1, data.data()), 0x80060026u);
        EXPECT_EQ(dat_cr_reject(cr, 8, nullptr), 0x80060027u);
        EXPECT_EQ(Side::state(ep), DAT_EP_STATE_UNCONNECTED);
        succeed(dat_cr_accept(cr, ep, 160, data.data()), "the largest size");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    }
    succeed(dat_cr_reject(side.request(), 112, data.data()), "the largest size");
    EXPECT_EQ(client.wait(), 0);
}

}  // namespace
