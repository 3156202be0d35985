// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ep_state.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace {

using dapl::EpCall;
using dapl::EpCause;

constexpr EpCause kCauses[] = {
    EpCause::kConnect,
    EpCause::kReserve,
    EpCause::kReserveIncomplete,
    EpCause::kOffer,
    EpCause::kRequest,
    EpCause::kRelease,
    EpCause::kCompleted,
    EpCause::kMadeIncomplete,
    EpCause::kAccept,
    EpCause::kAcceptFailed,
    EpCause::kPassiveAcceptFailed,
    EpCause::kTentativeAcceptFailed,
    EpCause::kConnectFailed,
    EpCause::kEstablished,
    EpCause::kRefused,
    EpCause::kDisconnectGraceful,
    EpCause::kDisconnectAbrupt,
    EpCause::kDisconnected,
    EpCause::kWorkError,
    EpCause::kReset,
};

using namespace dapl::ep_states;

// Written from the specification of behaviour, not from the table under test.
const std::map<std::pair<DAT_EP_STATE, EpCause>, DAT_EP_STATE> kSpecified = {
    {{kUnconnected, EpCause::kConnect}, kActive},
    {{kUnconnected, EpCause::kAccept}, kAccepting},
    {{kUnconnected, EpCause::kReserve}, kReserved},
    {{kUnconnected, EpCause::kReserveIncomplete}, kUnconfiguredReserved},
    {{kUnconnected, EpCause::kOffer}, kUnconfiguredTentative},
    {{kReserved, EpCause::kRelease}, kUnconnected},
    {{kReserved, EpCause::kRequest}, kPassive},
    {{kReserved, EpCause::kMadeIncomplete}, kUnconfiguredReserved},
    {{kUnconfiguredReserved, EpCause::kRelease}, kUnconnected},
    {{kUnconfiguredReserved, EpCause::kRequest}, kUnconfiguredPassive},
    {{kUnconfiguredReserved, EpCause::kCompleted}, kReserved},
    {{kPassive, EpCause::kRelease}, kUnconnected},
    {{kPassive, EpCause::kAccept}, kAccepting},
    {{kUnconfiguredPassive, EpCause::kRelease}, kUnconnected},
    {{kUnconfiguredPassive, EpCause::kCompleted}, kPassive},
    {{kTentative, EpCause::kRelease}, kUnconnected},
    {{kTentative, EpCause::kAccept}, kAccepting},
    {{kTentative, EpCause::kMadeIncomplete}, kUnconfiguredTentative},
    {{kUnconfiguredTentative, EpCause::kRelease}, kUnconnected},
    {{kUnconfiguredTentative, EpCause::kCompleted}, kTentative},
    {{kActive, EpCause::kConnectFailed}, kUnconnected},
    {{kActive, EpCause::kEstablished}, kConnected},
    {{kActive, EpCause::kRefused}, kDisconnected},
    {{kActive, EpCause::kDisconnectGraceful}, kDisconnected},
    {{kActive, EpCause::kDisconnectAbrupt}, kDisconnected},
    {{kActive, EpCause::kDisconnected}, kDisconnected},
    {{kAccepting, EpCause::kAcceptFailed}, kUnconnected},
    {{kAccepting, EpCause::kPassiveAcceptFailed}, kPassive},
    {{kAccepting, EpCause::kTentativeAcceptFailed}, kTentative},
    {{kAccepting, EpCause::kEstablished}, kConnected},
    {{kAccepting, EpCause::kRefused}, kDisconnected},
    {{kAccepting, EpCause::kDisconnectGraceful}, kDisconnected},
    {{kAccepting, EpCause::kDisconnectAbrupt}, kDisconnected},
    {{kAccepting, EpCause::kDisconnected}, kDisconnected},
    {{kConnected, EpCause::kDisconnectGraceful}, kDisconnecting},
    {{kConnected, EpCause::kDisconnectAbrupt}, kDisconnected},
    {{kConnected, EpCause::kDisconnected}, kDisconnected},
    {{kConnected, EpCause::kRefused}, kDisconnected},
    {{kConnected, EpCause::kWorkError}, kDisconnected},
    {{kDisconnecting, EpCause::kDisconnectAbrupt}, kDisconnected},
    {{kDisconnecting, EpCause::kDisconnected}, kDisconnected},
    {{kDisconnecting, EpCause::kRefused}, kDisconnected},
    {{kDisconnecting, EpCause::kWorkError}, kDisconnected},
    {{kDisconnected, EpCause::kReset}, kUnconnected},
};

/// kCauses must hold all causes, else a new one would not be covered.
static_assert(std::size(kCauses) == static_cast<std::size_t>(EpCause::kReset) + 1);

TEST(EndpointState, each_cause_moves_each_state_as_specified_and_no_other) {
    for (int state = 0; state <= DAT_EP_STATE_CONNECTED_MULTI_PATH; ++state) {
        for (const EpCause cause : kCauses) {
            const auto from = static_cast<DAT_EP_STATE>(state);
            const auto specified = kSpecified.find({from, cause});
            const auto next = dapl::next_state(from, cause);
            EXPECT_EQ(next.has_value(), specified != kSpecified.end())
                << "state " << state << ", cause " << static_cast<int>(cause);
            if (next && specified != kSpecified.end()) {
                EXPECT_EQ(*next, specified->second);
            }
        }
    }
    EXPECT_EQ(dapl::ep_moves().size(), kSpecified.size());
}

TEST(EndpointState, a_late_answer_finds_no_move_and_changes_nothing) {
    dapl::EpState state;
    EXPECT_TRUE(state.move(EpCause::kConnect));
    EXPECT_TRUE(state.move(EpCause::kRefused));
    EXPECT_FALSE(state.move(EpCause::kEstablished));
    EXPECT_FALSE(state.move(EpCause::kDisconnected));
    EXPECT_EQ(state.get(), DAT_EP_STATE_DISCONNECTED);
}

struct Legal {
    EpCall call;
    std::vector<DAT_EP_STATE> states;
};

TEST(EndpointState, each_call_is_legal_in_the_specified_states_and_no_other) {
    const Legal rows[] = {
        {EpCall::kConnect, {kUnconnected}},
        {EpCall::kDisconnectGraceful, {kConnected, kActive, kAccepting, kDisconnected}},
        {EpCall::kDisconnectAbrupt,
         {kConnected, kActive, kAccepting, kDisconnecting, kDisconnected}},
        {EpCall::kFree,
         {kUnconnected, DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, kActive, kConnected, kDisconnecting,
          kDisconnected, kAccepting, DAT_EP_STATE_CONNECTED_SINGLE_PATH,
          DAT_EP_STATE_CONNECTED_MULTI_PATH}},
        {EpCall::kReset, {kUnconnected, kDisconnected}},
        {EpCall::kModify,
         {kUnconnected, kReserved, kUnconfiguredReserved, kUnconfiguredPassive, kTentative,
          kUnconfiguredTentative}},
        {EpCall::kModifyPz,
         {kUnconnected, kUnconfiguredReserved, kUnconfiguredPassive, kTentative,
          kUnconfiguredTentative}},
        {EpCall::kPostRequest, {kConnected, kDisconnected}},
        {EpCall::kBind, {kConnected}},
        {EpCall::kRspCreate, {kUnconnected}},
        {EpCall::kAccept, {kUnconnected}},
        {EpCall::kAcceptOwn, {kPassive, kUnconfiguredPassive, kTentative, kUnconfiguredTentative}},
    };
    for (const Legal& row : rows) {
        for (int state = 0; state <= DAT_EP_STATE_CONNECTED_MULTI_PATH; ++state) {
            bool expected = false;
            for (const DAT_EP_STATE legal : row.states) expected |= legal == state;
            EXPECT_EQ(dapl::is_legal(row.call, static_cast<DAT_EP_STATE>(state)), expected)
                << "call " << static_cast<int>(row.call) << ", state " << state;
        }
    }
    for (int state = 0; state <= DAT_EP_STATE_CONNECTED_MULTI_PATH; ++state)
        EXPECT_TRUE(dapl::is_legal(EpCall::kPostReceive, static_cast<DAT_EP_STATE>(state)));
}

TEST(EndpointState, a_refused_call_names_the_state_in_its_code) {
    EXPECT_EQ(dapl::state_error(kUnconnected), 0x8007002Fu);
    EXPECT_EQ(dapl::state_error(kActive), 0x80070000u | DAT_INVALID_STATE_EP_ACTCONNPENDING);
    EXPECT_EQ(dapl::state_error(kConnected), 0x80070000u | DAT_INVALID_STATE_EP_CONNECTED);
    EXPECT_EQ(dapl::state_error(kDisconnecting), 0x80070000u | DAT_INVALID_STATE_EP_DISCPENDING);
    EXPECT_EQ(dapl::state_error(kDisconnected), 0x80070000u | DAT_INVALID_STATE_EP_DISCONNECTED);
    EXPECT_EQ(dapl::state_error(kAccepting), 0x80070000u | DAT_INVALID_STATE_EP_COMPLPENDING);
    EXPECT_EQ(dapl::state_error(kReserved), 0x80070000u | DAT_INVALID_STATE_EP_RESERVED);
    EXPECT_EQ(dapl::state_error(kUnconfiguredReserved),
              0x80070000u | DAT_INVALID_STATE_EP_UNCONFRESERVED);
    EXPECT_EQ(dapl::state_error(kPassive), 0x80070000u | DAT_INVALID_STATE_EP_PASSCONNPENDING);
    EXPECT_EQ(dapl::state_error(kUnconfiguredPassive),
              0x80070000u | DAT_INVALID_STATE_EP_UNCONFPASSIVE);
    EXPECT_EQ(dapl::state_error(kTentative), 0x80070000u | DAT_INVALID_STATE_EP_TENTCONNPENDING);
    EXPECT_EQ(dapl::state_error(kUnconfiguredTentative),
              0x80070000u | DAT_INVALID_STATE_EP_UNCONFTENTATIVE);
}

}  // namespace
