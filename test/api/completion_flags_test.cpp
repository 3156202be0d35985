// SPDX-License-Identifier: BSD-2-Clause
// Completion flags of posts and completion modes of endpoints, over soft0: which completions the
// consumer gets, and which of them wake it.
#include <gtest/gtest.h>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4720;

/// @return an EP with this completion mode for receives and for requests.
DAT_EP_HANDLE endpoint_of_mode(const Side& side, DAT_COMPLETION_FLAGS mode) {
    const DAT_EP_HANDLE standard = side.endpoint();
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(standard, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    succeed(dat_ep_free(standard), "dat_ep_free");
    parameters.ep_attr.recv_completion_flags = parameters.ep_attr.request_completion_flags = mode;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections,
                          &parameters.ep_attr, &ep),
            "dat_ep_create");
    return ep;
}

void post_send(const Buffer& buffer, DAT_EP_HANDLE ep, DAT_UINT64 value, unsigned flags) {
    DAT_LMR_TRIPLET triplet = buffer.all();
    succeed(
        dat_ep_post_send(ep, 1, &triplet, cookie(value), static_cast<DAT_COMPLETION_FLAGS>(flags)),
        "dat_ep_post_send");
}

DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd) {
    return Side::wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

constexpr unsigned kFlags[] = {
    DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
    DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG,
    DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG};

/// Sends once with each of kFlags, each time when the receiver is about to wait.
void send_with_every_flag(Channel& channel, DAT_COMPLETION_FLAGS mode) {
    Side side;
    Buffer buffer(side);
    const DAT_EP_HANDLE ep = endpoint_of_mode(side, mode);
    channel.receive<char>();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    for (const unsigned flags : kFlags) {
        channel.receive<char>();
        post_send(buffer, ep, flags, flags);
        const auto dto = completion(side.sends);
        require(dto.status == DAT_DTO_SUCCESS, "the send succeeds");
        require(dto.user_cookie.as_64 == flags, "its completion comes whatever its flags");
    }
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

class CompletionModes : public testing::TestWithParam<DAT_COMPLETION_FLAGS> {
  protected:
    TemporaryFabric fabric_;
};

TEST_P(CompletionModes, EveryCompletionWakesWhateverTheModeAndTheFlagsOfThePost) {
    Child child([](Channel& channel) { send_with_every_flag(channel, GetParam()); });
    Side side;
    Buffer buffer(side);
    side.listen(kQualifier);
    const DAT_EP_HANDLE ep = endpoint_of_mode(side, GetParam());
    DAT_EP_PARAM parameters{};
    succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    EXPECT_EQ(parameters.ep_attr.recv_completion_flags, GetParam());
    EXPECT_EQ(parameters.ep_attr.request_completion_flags, GetParam());
    child.channel().send('c');
    succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    DAT_LMR_TRIPLET triplet = buffer.all();
    for (const unsigned flags : kFlags) {
        succeed(dat_ep_post_recv(ep, 1, &triplet, cookie(flags), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        child.channel().send('s');
        EXPECT_EQ(completion(side.receives).user_cookie.as_64, flags);
    }
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(OfEndpoints, CompletionModes,
                         testing::Values(DAT_COMPLETION_DEFAULT_FLAG,
                                         DAT_COMPLETION_SOLICITED_WAIT_FLAG,
                                         DAT_COMPLETION_UNSIGNALLED_FLAG,
                                         DAT_COMPLETION_EVD_THRESHOLD_FLAG),
                         [](const auto& mode) {
                             switch (mode.param) {
                                 case DAT_COMPLETION_SOLICITED_WAIT_FLAG:
                                     return "SolicitedWait";
                                 case DAT_COMPLETION_UNSIGNALLED_FLAG:
                                     return "Unsignalled";
                                 case DAT_COMPLETION_EVD_THRESHOLD_FLAG:
                                     return "Threshold";
                                 default:
                                     return "Default";
                             }
                         });

void receive_all(Channel& channel) {
    Side side;
    Buffer buffer(side);
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    DAT_LMR_TRIPLET triplet = buffer.all();
    for (DAT_UINT64 i = 0; i < 8; ++i)
        succeed(dat_ep_post_recv(ep, 1, &triplet, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    channel.send('p');
    for (DAT_UINT64 i = 0; i < 8; ++i)
        require(completion(side.receives).user_cookie.as_64 == i, "every message arrives");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

TEST(CompletionFlags, ASuppressedRequestGivesNoEventAndItsSlotComesBackWithALaterOnes) {
    const TemporaryFabric fabric;
    Child child(receive_all);
    child.channel().receive<char>();
    Side side;
    Buffer buffer(side);
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    child.channel().receive<char>();
    for (DAT_UINT64 i = 0; i < 7; ++i) post_send(buffer, ep, i, DAT_COMPLETION_SUPPRESS_FLAG);
    post_send(buffer, ep, 7, DAT_COMPLETION_DEFAULT_FLAG);
    EXPECT_EQ(completion(side.sends).user_cookie.as_64, 7u);
    Side::expect_empty(side.sends);
    DAT_BOOLEAN outstanding = DAT_TRUE;
    succeed(dat_ep_get_status(ep, nullptr, nullptr, &outstanding), "dat_ep_get_status");
    EXPECT_EQ(outstanding, 0);
    succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
