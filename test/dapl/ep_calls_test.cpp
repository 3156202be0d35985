// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every call on an endpoint in every state that an endpoint can be in.
#include <functional>
#include <map>

#include "test/dapl/core_fixture.hpp"

namespace test {
namespace {

using namespace dapl::ep_states;

constexpr DAT_RETURN kBadEp = 0x8005000C;
constexpr DAT_RETURN kNoConnectEvd = 0x80050017;
constexpr DAT_RETURN kNotReady = 0x80070039;
constexpr DAT_RETURN kRawState = 0x00070000;

/// INVALID_STATE with the subtype that the specification of behaviour names for each state.
const std::map<DAT_EP_STATE, DAT_RETURN> kStateErrors = {
    {kUnconnected, 0x80070000 | DAT_INVALID_STATE_EP_UNCONNECTED},
    {kReserved, 0x80070000 | DAT_INVALID_STATE_EP_RESERVED},
    {kUnconfiguredReserved, 0x80070000 | DAT_INVALID_STATE_EP_UNCONFRESERVED},
    {kPassive, 0x80070000 | DAT_INVALID_STATE_EP_PASSCONNPENDING},
    {kUnconfiguredPassive, 0x80070000 | DAT_INVALID_STATE_EP_UNCONFPASSIVE},
    {kTentative, 0x80070000 | DAT_INVALID_STATE_EP_TENTCONNPENDING},
    {kUnconfiguredTentative, 0x80070000 | DAT_INVALID_STATE_EP_UNCONFTENTATIVE},
    {kActive, 0x80070000 | DAT_INVALID_STATE_EP_ACTCONNPENDING},
    {kConnected, 0x80070000 | DAT_INVALID_STATE_EP_CONNECTED},
    {kDisconnecting, 0x80070000 | DAT_INVALID_STATE_EP_DISCPENDING},
    {kDisconnected, 0x80070000 | DAT_INVALID_STATE_EP_DISCONNECTED},
    {kAccepting, 0x80070000 | DAT_INVALID_STATE_EP_COMPLPENDING},
};

/// Codes by state; in every other state the call fails with that state's INVALID_STATE.
using Answers = std::map<DAT_EP_STATE, DAT_RETURN>;

class EpCalls : public CoreTest {
  protected:
    EpCalls() {
        cr_evd_ = evd(DAT_EVD_CR_FLAG, 64);
        EXPECT_EQ(
            entry::psp_create(open.ia, next_qualifier_++, cr_evd_, DAT_PSP_CONSUMER_FLAG, &psp_),
            DAT_SUCCESS);
        fake::request();
        waiting_ = take_request();
    }

    DAT_CR_HANDLE take_request() {
        return next(cr_evd_).event_data.cr_arrival_event_data.cr_handle;
    }
    DAT_EP_HANDLE complete_ep() {
        DAT_EP_HANDLE made = nullptr;
        EXPECT_EQ(entry::ep_create(open.ia, pz, recv_evd, request_evd, connect_evd, nullptr, &made),
                  DAT_SUCCESS);
        return made;
    }
    DAT_EP_HANDLE bare_ep() {
        DAT_EP_HANDLE made = nullptr;
        EXPECT_EQ(entry::ep_create(open.ia, nullptr, nullptr, nullptr, nullptr, nullptr, &made),
                  DAT_SUCCESS);
        return made;
    }
    DAT_RETURN connect(DAT_EP_HANDLE with) {
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        return entry::ep_connect(with, reinterpret_cast<sockaddr*>(&peer), 1, DAT_TIMEOUT_INFINITE,
                                 0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    }
    DAT_RETURN reserve(DAT_EP_HANDLE with) {
        DAT_RSP_HANDLE rsp;
        return entry::rsp_create(open.ia, next_qualifier_++, with, cr_evd_, &rsp);
    }
    DAT_EP_HANDLE offered() {
        DAT_PSP_HANDLE psp;
        EXPECT_EQ(
            entry::psp_create(open.ia, next_qualifier_++, cr_evd_, DAT_PSP_PROVIDER_FLAG, &psp),
            DAT_SUCCESS);
        fake::request();
        DAT_CR_PARAM parameters;
        EXPECT_EQ(entry::cr_query(take_request(), DAT_CR_FIELD_ALL, &parameters), DAT_SUCCESS);
        return parameters.local_ep_handle;
    }
    DAT_RETURN complete(DAT_EP_HANDLE with) {
        DAT_EP_PARAM parameters{};
        parameters.pz_handle = pz;
        parameters.recv_evd_handle = recv_evd;
        parameters.request_evd_handle = request_evd;
        parameters.connect_evd_handle = connect_evd;
        return entry::ep_modify(with,
                                DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                                    DAT_EP_FIELD_REQUEST_EVD_HANDLE |
                                    DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                                &parameters);
    }
    DAT_EP_HANDLE connected() {
        const DAT_EP_HANDLE made = complete_ep();
        EXPECT_EQ(connect(made), DAT_SUCCESS);
        fake::establish();
        return made;
    }

    /// @return a new EP in that state.
    DAT_EP_HANDLE reach(DAT_EP_STATE state) {
        drain(cr_evd_);
        drain(connect_evd);
        DAT_EP_HANDLE made = nullptr;
        switch (state) {
            case kReserved:
            case kPassive:
                EXPECT_EQ(reserve(made = complete_ep()), DAT_SUCCESS);
                if (state == kPassive) fake::request();
                break;
            case kUnconfiguredReserved:
            case kUnconfiguredPassive:
                EXPECT_EQ(reserve(made = bare_ep()), DAT_SUCCESS);
                if (state == kUnconfiguredPassive) fake::request();
                break;
            case kTentative:
            case kUnconfiguredTentative:
                made = offered();
                if (state == kTentative) {
                    EXPECT_EQ(complete(made), DAT_SUCCESS);
                }
                break;
            case kActive:
                EXPECT_EQ(connect(made = complete_ep()), DAT_SUCCESS);
                break;
            case kAccepting:
                made = complete_ep();
                EXPECT_EQ(entry::cr_accept(fresh_request(), made, 0, nullptr), DAT_SUCCESS);
                break;
            case kConnected:
                made = connected();
                break;
            case kDisconnecting:
                made = connected();
                EXPECT_EQ(entry::ep_disconnect(made, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
                break;
            case kDisconnected:
                made = connected();
                EXPECT_EQ(entry::ep_disconnect(made, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
                break;
            default:
                made = complete_ep();
        }
        ep = made;
        EXPECT_EQ(this->state(), state);
        return made;
    }
    DAT_CR_HANDLE fresh_request() {
        DAT_PSP_HANDLE psp;
        EXPECT_EQ(
            entry::psp_create(open.ia, next_qualifier_++, cr_evd_, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_SUCCESS);
        fake::request();
        return take_request();
    }

    void expect(const char* name, const std::function<DAT_RETURN(DAT_EP_HANDLE)>& call,
                const Answers& answers) {
        for (const auto& [state, state_error] : kStateErrors) {
            const DAT_EP_HANDLE in_state = reach(state);
            const auto found = answers.find(state);
            EXPECT_EQ(call(in_state), found == answers.end() ? state_error : found->second)
                << name << " in state " << state;
        }
    }
    void drain(DAT_EVD_HANDLE evd) {
        DAT_EVENT event;
        while (entry::evd_dequeue(evd, &event) == DAT_SUCCESS) continue;
    }

    DAT_EVD_HANDLE cr_evd_ = nullptr;
    DAT_PSP_HANDLE psp_ = nullptr;
    DAT_CR_HANDLE waiting_ = nullptr;  ///< unanswered request at psp_
    DAT_CONN_QUAL next_qualifier_ = 100;
};

TEST_F(EpCalls,
       AnAcceptedConnectionThatTheDeviceEndsBeforeItIsEstablishedIsAnAcceptCompletionError) {
    reach(kAccepting);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_ACCESS_ERR;
    event.element.qp = qp();
    fake::raise(event);
    DAT_EVENT broken;
    DAT_COUNT more;
    ASSERT_EQ(entry::evd_wait(open.async, DAT_TIMEOUT_INFINITE, 1, &broken, &more), DAT_SUCCESS);
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

TEST_F(EpCalls, ConnectInEveryState) {
    expect("ep_connect", [&](DAT_EP_HANDLE in) { return connect(in); },
           {{kUnconnected, 0},
            {kUnconfiguredReserved, kNoConnectEvd},
            {kUnconfiguredPassive, kNoConnectEvd},
            {kUnconfiguredTentative, kNoConnectEvd}});
}

TEST_F(EpCalls, CommonConnectInEveryState) {
    expect("ep_common_connect",
           [&](DAT_EP_HANDLE in) {
               sockaddr_in peer{};
               peer.sin_family = AF_INET;
               peer.sin_port = htons(7);
               return entry::ep_common_connect(in, reinterpret_cast<sockaddr*>(&peer),
                                               DAT_TIMEOUT_INFINITE, 0, nullptr);
           },
           {{kUnconnected, 0},
            {kUnconfiguredReserved, kNoConnectEvd},
            {kUnconfiguredPassive, kNoConnectEvd},
            {kUnconfiguredTentative, kNoConnectEvd}});
}

TEST_F(EpCalls, DupConnectWithAModelInEveryState) {
    expect("ep_dup_connect",
           [&](DAT_EP_HANDLE in) {
               return entry::ep_dup_connect(complete_ep(), in, DAT_TIMEOUT_INFINITE, 0, nullptr,
                                            DAT_QOS_BEST_EFFORT);
           },
           {{kConnected, 0}});
}

TEST_F(EpCalls, DupConnectInEveryState) {
    const DAT_EP_HANDLE model = connected();
    expect("ep_dup_connect",
           [&](DAT_EP_HANDLE in) {
               return entry::ep_dup_connect(in, model, DAT_TIMEOUT_INFINITE, 0, nullptr,
                                            DAT_QOS_BEST_EFFORT);
           },
           {{kUnconnected, 0},
            {kUnconfiguredReserved, kNoConnectEvd},
            {kUnconfiguredPassive, kNoConnectEvd},
            {kUnconfiguredTentative, kNoConnectEvd}});
}

TEST_F(EpCalls, GracefulDisconnectInEveryState) {
    expect("ep_disconnect",
           [&](DAT_EP_HANDLE in) { return entry::ep_disconnect(in, DAT_CLOSE_GRACEFUL_FLAG); },
           {{kActive, 0},
            {kAccepting, 0},
            {kConnected, 0},
            {kDisconnected, 0},
            {kDisconnecting, 0x80060026}});
}

TEST_F(EpCalls, AbruptDisconnectInEveryState) {
    expect(
        "ep_disconnect",
        [&](DAT_EP_HANDLE in) { return entry::ep_disconnect(in, DAT_CLOSE_ABRUPT_FLAG); },
        {{kActive, 0}, {kAccepting, 0}, {kConnected, 0}, {kDisconnected, 0}, {kDisconnecting, 0}});
}

TEST_F(EpCalls, FreeInEveryState) {
    expect("ep_free", [&](DAT_EP_HANDLE in) { return entry::ep_free(in); },
           {{kUnconnected, 0},
            {kActive, 0},
            {kAccepting, 0},
            {kConnected, 0},
            {kDisconnected, 0},
            {kDisconnecting, 0}});
}

TEST_F(EpCalls, ResetInEveryState) {
    expect("ep_reset", [&](DAT_EP_HANDLE in) { return entry::ep_reset(in); },
           {{kUnconnected, 0}, {kDisconnected, 0}});
}

TEST_F(EpCalls, ModifyInEveryState) {
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.qos = DAT_QOS_BEST_EFFORT;
    expect("ep_modify",
           [&](DAT_EP_HANDLE in) {
               return entry::ep_modify(in, DAT_EP_FIELD_EP_ATTR_QOS, &parameters);
           },
           {{kUnconnected, 0},
            {kReserved, 0},
            {kUnconfiguredReserved, 0},
            {kUnconfiguredPassive, 0},
            {kTentative, 0},
            {kUnconfiguredTentative, 0}});
}

TEST_F(EpCalls, ModifyOfTheZoneInEveryState) {
    DAT_EP_PARAM parameters{};
    parameters.pz_handle = pz;
    expect(
        "ep_modify",
        [&](DAT_EP_HANDLE in) { return entry::ep_modify(in, DAT_EP_FIELD_PZ_HANDLE, &parameters); },
        {{kUnconnected, 0},
         {kUnconfiguredReserved, 0},
         {kUnconfiguredPassive, 0},
         {kTentative, 0},
         {kUnconfiguredTentative, 0}});
}

TEST_F(EpCalls, WhatNoStateAllowsToBeModified) {
    DAT_EP_PARAM parameters{};
    for (const auto& [state, unused] : kStateErrors) {
        const DAT_EP_HANDLE in_state = reach(state);
        for (const DAT_EP_PARAM_MASK bit :
             {DAT_EP_FIELD_IA_HANDLE, DAT_EP_FIELD_EP_STATE, DAT_EP_FIELD_COMM,
              DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, DAT_EP_FIELD_LOCAL_PORT_QUAL,
              DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, DAT_EP_FIELD_REMOTE_PORT_QUAL})
            EXPECT_EQ(entry::ep_modify(in_state, bit, &parameters), 0x80060026u) << state;
    }
}

TEST_F(EpCalls, WhereTheDeviceWasNotShownToDoItDelayedAckIsRefused) {
    DAT_NAMED_ATTR wanted{"delayed_ack", "true"};
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.ep_provider_specific = &wanted;
    parameters.ep_attr.ep_provider_specific_count = 1;
    const DAT_EP_HANDLE made = complete_ep();
    const auto modify = [&] {
        return entry::ep_modify(made, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &parameters);
    };
    EXPECT_EQ(modify(), DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED);
    wanted.value = "false";
    EXPECT_EQ(modify(), DAT_SUCCESS);
    DAT_EP_PARAM found{};
    ASSERT_EQ(entry::ep_query(made, DAT_EP_FIELD_ALL, &found), DAT_SUCCESS);
    ASSERT_EQ(found.ep_attr.ep_provider_specific_count, 1);
    EXPECT_STREQ(found.ep_attr.ep_provider_specific[0].name, "delayed_ack");
    EXPECT_STREQ(found.ep_attr.ep_provider_specific[0].value, "false");
}

TEST_F(EpCalls, TheLastByteOfAWriteIsReadBackWhereDelayedAckSaysSo) {
    DAT_NAMED_ATTR wanted{"delayed_ack", "read_back"};
    DAT_EP_PARAM parameters{};
    parameters.ep_attr.ep_provider_specific = &wanted;
    parameters.ep_attr.ep_provider_specific_count = 1;
    make_ep();
    ASSERT_EQ(entry::ep_modify(ep, DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, &parameters),
              DAT_SUCCESS);
    connect_made_ep();
    DAT_RMR_TRIPLET remote{};
    remote.virtual_address = 0x1000;
    remote.segment_length = segment.segment_length = 100;
    ASSERT_EQ(
        entry::ep_post_rdma_write(ep, 1, &segment, cookie(1), &remote, DAT_COMPLETION_DEFAULT_FLAG),
        DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    const auto& posted = fake::requests(qp());
    ASSERT_EQ(posted.size(), 4u);
    EXPECT_EQ(posted[0].flags & IBV_SEND_SIGNALED, 0u);
    EXPECT_EQ(posted[1].opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(posted[1].length, 1u);
    EXPECT_EQ(posted[1].remote_address, 0x1000u + 99);
    EXPECT_EQ(posted[3].opcode, IBV_WR_RDMA_READ) << "behind a send";
    EXPECT_EQ(posted[3].length, 0u) << "which has no address";
    fake::finish_request(qp());
    EXPECT_TRUE(empty(request_evd));
    fake::finish_request(qp());
    const auto done = next(request_evd).event_data.dto_completion_event_data;
    EXPECT_EQ(done.operation, DAT_DTO_RDMA_WRITE);
    EXPECT_EQ(done.transfered_length, 100u);
}

TEST_F(EpCalls, PostingARequestInEveryState) {
    Answers answers{{kConnected, 0}, {kDisconnected, 0}};
    for (const auto& [state, unused] : kStateErrors) answers.emplace(state, 0x8007002Fu);
    expect(
        "ep_post_send",
        [&](DAT_EP_HANDLE in) {
            return entry::ep_post_send(in, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
        },
        answers);
}

TEST_F(EpCalls, PostingAReceiveInEveryState) {
    Answers answers{{kUnconfiguredReserved, kNotReady},
                    {kUnconfiguredPassive, kNotReady},
                    {kUnconfiguredTentative, kNotReady}};
    for (const auto& [state, unused] : kStateErrors) answers.emplace(state, 0);
    expect(
        "ep_post_recv",
        [&](DAT_EP_HANDLE in) {
            return entry::ep_post_recv(in, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
        },
        answers);
}

TEST_F(EpCalls, ReservingInEveryState) {
    expect("rsp_create", [&](DAT_EP_HANDLE in) { return reserve(in); }, {{kUnconnected, 0}});
}

TEST_F(EpCalls, AcceptingWithItInEveryState) {
    Answers answers{{kUnconnected, 0}};
    for (const auto& [state, unused] : kStateErrors) answers.emplace(state, kRawState);
    expect(
        "cr_accept",
        [&](DAT_EP_HANDLE in) {
            const DAT_RETURN code = entry::cr_accept(waiting_, in, 0, nullptr);
            if (code == DAT_SUCCESS) waiting_ = fresh_request();
            return code;
        },
        answers);
    EXPECT_EQ(entry::cr_accept(waiting_, bare_ep(), 0, nullptr), kBadEp);
}

TEST_F(EpCalls, StatusAndQueryInEveryState) {
    for (const auto& [state, unused] : kStateErrors) {
        const DAT_EP_HANDLE in_state = reach(state);
        DAT_EP_PARAM parameters{};
        EXPECT_EQ(entry::ep_query(in_state, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
        EXPECT_EQ(parameters.ep_state, state);
        EXPECT_EQ(parameters.ia_handle, open.ia);
        const bool bare = state == kUnconfiguredReserved || state == kUnconfiguredPassive ||
                          state == kUnconfiguredTentative;
        EXPECT_EQ(parameters.pz_handle, bare ? nullptr : pz);
        EXPECT_EQ(parameters.connect_evd_handle, bare ? nullptr : connect_evd);
        EXPECT_EQ(parameters.ep_attr.max_recv_dtos, bare ? 0 : 16);
    }
}

}  // namespace
}  // namespace test
