// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posts and completions, on a device whose completions the test controls.
#include <dat2/dat_ib_extensions.h>

#include <cstdarg>
#include <cstring>

#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

using namespace std::chrono_literals;

class DataPath : public CoreTest {
  protected:
    DAT_RETURN extended(DAT_EXTENDED_OP operation, ...) {
        va_list arguments;
        va_start(arguments, operation);
        const DAT_RETURN code = entry::handle_extendedop(ep, operation, arguments);
        va_end(arguments);
        return code;
    }
    DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event) {
        DAT_IB_EXTENSION_EVENT_DATA data;
        std::memcpy(&data, event.event_extension_data, sizeof data);
        return data;
    }
    DAT_RETURN write(DAT_UINT64 value) {
        return entry::ep_post_rdma_write(ep, 1, &segment, cookie(value), &target,
                                         DAT_COMPLETION_DEFAULT_FLAG);
    }
    DAT_RETURN read(DAT_UINT64 value) {
        return entry::ep_post_rdma_read(ep, 1, &segment, cookie(value), &target,
                                        DAT_COMPLETION_DEFAULT_FLAG);
    }
};

TEST_F(DataPath, CompletionsSayWhichTransferOfWhichEndpointAndWhatItWas) {
    connect_ep();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    ASSERT_EQ(write(2), DAT_SUCCESS);
    ASSERT_EQ(read(3), DAT_SUCCESS);
    ASSERT_EQ(receive(4), DAT_SUCCESS);
    for (int i = 0; i < 3; ++i) fake::finish_request(qp());
    fake::finish_receive(qp(), 77);
    const DAT_DTOS operations[] = {DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ};
    for (DAT_UINT64 i = 0; i < 3; ++i) {
        const DAT_EVENT event = next(request_evd);
        const auto& dto = event.event_data.dto_completion_event_data;
        EXPECT_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
        EXPECT_EQ(event.evd_handle, request_evd);
        EXPECT_EQ(dto.ep_handle, ep);
        EXPECT_EQ(dto.user_cookie.as_64, i + 1);
        EXPECT_EQ(dto.status, DAT_DTO_SUCCESS);
        EXPECT_EQ(dto.transfered_length, 100u);
        EXPECT_EQ(dto.operation, operations[i]);
        EXPECT_EQ(dto.rmr_context, 0u);
    }
    const auto received = next_dto(recv_evd);
    EXPECT_EQ(received.user_cookie.as_64, 4u);
    EXPECT_EQ(received.operation, DAT_DTO_RECEIVE);
    EXPECT_EQ(received.transfered_length, 77u);
}

TEST_F(DataPath, TheRingsHoldExactlyWhatWasAskedForAndASlotComesBackWhenItsCompletionIsTaken) {
    connect_ep(5);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(send(i), DAT_SUCCESS);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(receive(i), DAT_SUCCESS);
    EXPECT_EQ(send(5), 0x80030002u);
    EXPECT_EQ(receive(5), 0x80030002u);
    fake::finish_request(qp());
    fake::finish_receive(qp(), 1);
    EXPECT_EQ(send(5), 0x80030002u) << "done, but not taken";
    next(request_evd);
    next(recv_evd);
    EXPECT_EQ(send(5), DAT_SUCCESS);
    EXPECT_EQ(receive(5), DAT_SUCCESS);
    DAT_BOOLEAN receives, requests;
    entry::ep_get_status(ep, nullptr, &receives, &requests);
    EXPECT_EQ(static_cast<int>(receives), 5);
    EXPECT_EQ(static_cast<int>(requests), 5);
}

TEST_F(DataPath, SuppressedRequestsComeBackWithTheNextCompletionThatIsTaken) {
    connect_ep(8);
    for (int round = 0; round < 1000; ++round) {
        for (int i = 0; i < 5; ++i) ASSERT_EQ(send(i, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
        ASSERT_EQ(send(99), DAT_SUCCESS);
        for (int i = 0; i < 6; ++i) fake::finish_request(qp());
        ASSERT_EQ(next_dto(request_evd).user_cookie.as_64, 99u);
        ASSERT_TRUE(empty(request_evd));
    }
}

TEST_F(DataPath, SuppressedRequestsAloneFillTheRingForGood) {
    connect_ep(4);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(send(i, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    for (int i = 0; i < 4; ++i) fake::finish_request(qp());
    EXPECT_EQ(send(4), 0x80030002u);
}

TEST_F(DataPath, FlagsReachTheDevice) {
    connect_ep();
    segment.segment_length = 1000;
    send(1, DAT_COMPLETION_SUPPRESS_FLAG);
    send(2, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
    send(3, DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | 0x30);
    segment.segment_length = 65;
    send(4);
    segment.segment_length = 64;
    send(5);
    const auto& posted = fake::requests(qp());
    ASSERT_EQ(posted.size(), 5u);
    EXPECT_EQ(posted[0].flags, 0u);
    EXPECT_EQ(posted[1].flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_SOLICITED});
    EXPECT_EQ(posted[2].flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_FENCE});
    EXPECT_EQ(posted[3].flags, unsigned{IBV_SEND_SIGNALED});
    EXPECT_EQ(posted[4].flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_INLINE});
}

TEST_F(DataPath, WhatNoDeviceIsAskedForIsRefusedBeforeItTakesASlot) {
    connect_ep(1);
    DAT_LMR_TRIPLET many[64] = {};
    const auto post = [&](DAT_COUNT segments, DAT_LMR_TRIPLET* local) {
        return entry::ep_post_send(ep, segments, local, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
    };
    EXPECT_EQ(post(64, many), 0x00060000u);
    EXPECT_EQ(post(-1, many), 0x00060000u);
    EXPECT_EQ(post(1, nullptr), 0x80060027u);
    many[0].segment_length = many[1].segment_length = 0xffffffff;
    EXPECT_EQ(post(2, many), 0x00080000u);
    EXPECT_EQ(
        entry::ep_post_rdma_write(ep, 1, &segment, cookie(1), nullptr, DAT_COMPLETION_DEFAULT_FLAG),
        0x80060029u);
    EXPECT_EQ(post(0, nullptr), DAT_SUCCESS);
    EXPECT_EQ(post(0, nullptr), 0x80030002u);
}

TEST_F(DataPath, ARequestNeedsAConnectionAndAReceiveOnlyAQueuePair) {
    make_ep();
    EXPECT_EQ(send(1), 0x8007002Fu);
    EXPECT_EQ(receive(1), DAT_SUCCESS);
    DAT_EP_HANDLE bare;
    ASSERT_EQ(
        entry::ep_create(open.ia, nullptr, recv_evd, request_evd, connect_evd, nullptr, &bare),
        DAT_SUCCESS);
    std::swap(ep, bare);
    EXPECT_EQ(receive(1), 0x80070039u);
    std::swap(ep, bare);
    EXPECT_EQ(entry::ep_free(bare), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
    EXPECT_EQ(send(1), 0x8005000Cu);
    EXPECT_EQ(receive(1), 0x8005000Cu);
}

TEST_F(DataPath, EveryVerbsStatusHasItsDatStatus) {
    const std::pair<ibv_wc_status, int> statuses[] = {
        {IBV_WC_LOC_LEN_ERR, 2},      {IBV_WC_LOC_QP_OP_ERR, 3},  {IBV_WC_LOC_PROT_ERR, 4},
        {IBV_WC_LOC_ACCESS_ERR, 4},   {IBV_WC_WR_FLUSH_ERR, 1},   {IBV_WC_MW_BIND_ERR, 11},
        {IBV_WC_BAD_RESP_ERR, 5},     {IBV_WC_REM_ACCESS_ERR, 6}, {IBV_WC_REM_INV_REQ_ERR, 7},
        {IBV_WC_REM_OP_ERR, 7},       {IBV_WC_REM_ABORT_ERR, 7},  {IBV_WC_RETRY_EXC_ERR, 8},
        {IBV_WC_FATAL_ERR, 8},        {IBV_WC_GENERAL_ERR, 8},    {IBV_WC_RNR_RETRY_EXC_ERR, 9},
        {IBV_WC_RESP_TIMEOUT_ERR, 9},
    };
    for (const auto& [verbs, dat] : statuses) {
        connect_ep();
        ASSERT_EQ(send(7, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
        fake::finish_request(qp(), verbs);
        const auto dto = next_dto(request_evd);
        EXPECT_EQ(static_cast<int>(dto.status), dat) << verbs;
        EXPECT_EQ(dto.user_cookie.as_64, 7u);
        EXPECT_EQ(dto.operation, DAT_DTO_SEND);
        ASSERT_EQ(entry::ep_free(ep), DAT_SUCCESS);
        while (!empty(connect_evd)) {
        }
    }
}

TEST_F(DataPath, AFailedTransferBreaksTheConnectionAndFlushesTheRest) {
    connect_ep();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    ASSERT_EQ(receive(3), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_REMOTE_ACCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_BROKEN);
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_FLUSHED);
    const DAT_EVENT flushed = next(recv_evd);
    EXPECT_EQ(flushed.event_number, DAT_DTO_COMPLETION_EVENT) << "a failed receive is a plain one";
    EXPECT_EQ(flushed.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
    EXPECT_EQ(send(4), DAT_SUCCESS) << "and comes back flushed";
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_FLUSHED);
    EXPECT_TRUE(empty(connect_evd));
}

TEST_F(DataPath, FlushedCompletionsStayWhenTheEndpointIsResetOrFreed) {
    connect_ep();
    const DAT_EP_HANDLE named = ep;
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    ASSERT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    ASSERT_EQ(entry::ep_reset(ep), DAT_SUCCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_UNCONNECTED);
    ASSERT_EQ(receive(3), DAT_SUCCESS);
    fake::finish_receive(qp(), 5);
    ASSERT_EQ(entry::ep_free(ep), DAT_SUCCESS);
    const auto before_reset = next_dto(recv_evd);
    EXPECT_EQ(before_reset.ep_handle, named);
    EXPECT_EQ(before_reset.user_cookie.as_64, 1u);
    EXPECT_EQ(before_reset.status, DAT_DTO_ERR_FLUSHED);
    EXPECT_EQ(next_dto(request_evd).user_cookie.as_64, 2u);
    EXPECT_EQ(next_dto(recv_evd).user_cookie.as_64, 3u);
    EXPECT_TRUE(empty(recv_evd));
}

TEST_F(DataPath, AGracefulDisconnectWaitsForWhatIsPostedAndLeavesNoTraceInTheEvents) {
    connect_ep();
    const int before = fake::disconnects();
    ASSERT_EQ(send(1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    ASSERT_EQ(send(3, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECT_PENDING);
    EXPECT_EQ(send(4), 0x8007002Fu) << "nothing can be posted behind it";
    ASSERT_EQ(fake::requests(qp()).size(), 4u);
    EXPECT_EQ(fake::requests(qp())[3].opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(fake::requests(qp())[3].length, 0u);
    for (int i = 0; i < 3; ++i) fake::finish_request(qp());
    EXPECT_EQ(next_dto(request_evd).user_cookie.as_64, 2u);
    EXPECT_EQ(fake::disconnects(), before) << "the last one may not be done yet";
    fake::finish_request(qp());
    EXPECT_TRUE(eventually([&] { return fake::disconnects() == before + 1; }, 60s));
    EXPECT_TRUE(empty(request_evd)) << "the library's own request makes no event";
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECT_PENDING) << "until the peer has answered";
}

TEST_F(DataPath, NobodyWaitsAtTheEndForARequestThatLeavesNoCompletion) {
    connect_ep();
    ASSERT_EQ(send(1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    fake::finish_request(qp());
    const int before = fake::polls();
    ASSERT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_LT(fake::polls() - before, 10) << "something else tells that all is flushed";
    EXPECT_TRUE(empty(request_evd)) << "and makes no event";
}

TEST_F(DataPath, AGracefulDisconnectOfAnIdleEndpointTakesTheConnectionDownAtOnce) {
    connect_ep();
    const int before = fake::disconnects();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    fake::finish_request(qp());
    next(request_evd);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(fake::disconnects(), before + 1);
    EXPECT_TRUE(fake::requests(qp()).empty());
}

TEST_F(DataPath, AnAbruptDisconnectEndsAGracefulOneThatWaits) {
    connect_ep();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), 0x80060026u);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_FLUSHED);
    EXPECT_TRUE(empty(request_evd));
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

TEST_F(DataPath, AFailedRequestBreaksAConnectionThatDisconnectsGracefully) {
    connect_ep();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_ERR_REMOTE_ACCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_BROKEN);
}

TEST_F(DataPath, CompletionsOfAnEarlierQueuePairAreDropped) {
    connect_ep();
    ASSERT_EQ(send(1), DAT_SUCCESS);
    const std::uint64_t old = fake::requests(qp())[0].id;
    fake::finish_request(qp());
    ASSERT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    ASSERT_EQ(entry::ep_reset(ep), DAT_SUCCESS);
    next(request_evd);
    fake::inject(qp(), old, IBV_WC_SUCCESS);
    fake::inject(qp(), ~0ULL, IBV_WC_SUCCESS);
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(DataPath, WriteWithImmediateIsAnExtensionEventOnBothSides) {
    connect_ep();
    ASSERT_EQ(extended(DAT_IB_RDMA_WRITE_IMMED_OP, 1, &segment, cookie(1), &target, 0x11223344u,
                       DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    EXPECT_EQ(fake::requests(qp())[0].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(fake::requests(qp())[0].immediate, 0x11223344u);
    fake::finish_request(qp());
    const DAT_EVENT sent = next(request_evd);
    EXPECT_EQ(static_cast<int>(sent.event_number), 0x40000);
    EXPECT_EQ(static_cast<int>(sent.event_data.dto_completion_event_data.operation), 8);
    EXPECT_EQ(sent.event_data.dto_completion_event_data.transfered_length, 100u);
    EXPECT_EQ(extension_of(sent).type, DAT_IB_RDMA_WRITE_IMMED);

    ASSERT_EQ(receive(2), DAT_SUCCESS);
    fake::finish_receive(qp(), 100, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 0x11223344);
    const DAT_EVENT received = next(recv_evd);
    EXPECT_EQ(static_cast<int>(received.event_number), 0x40000);
    EXPECT_EQ(static_cast<int>(received.event_data.dto_completion_event_data.operation), 9);
    EXPECT_EQ(extension_of(received).type, DAT_IB_RDMA_WRITE_IMMED_DATA);
    EXPECT_EQ(extension_of(received).val.immed.data, 0x11223344u);
}

TEST_F(DataPath, AtomicsAreExtensionEvents) {
    connect_ep();
    segment.segment_length = 8;
    ASSERT_EQ(extended(DAT_IB_FETCH_AND_ADD_OP, DAT_UINT64{5}, &segment, cookie(1), &target,
                       DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    ASSERT_EQ(extended(DAT_IB_CMP_AND_SWAP_OP, DAT_UINT64{5}, DAT_UINT64{6}, &segment, cookie(2),
                       &target, DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    EXPECT_EQ(fake::requests(qp())[0].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
    EXPECT_EQ(fake::requests(qp())[1].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
    for (int i = 0; i < 2; ++i) {
        fake::finish_request(qp());
        const DAT_EVENT event = next(request_evd);
        EXPECT_EQ(static_cast<int>(event.event_number), 0x40000);
        EXPECT_EQ(static_cast<int>(event.event_data.dto_completion_event_data.operation), 10 + i);
        EXPECT_EQ(event.event_data.dto_completion_event_data.transfered_length, 8u);
        EXPECT_EQ(static_cast<int>(extension_of(event).type), i);
    }
    EXPECT_EQ(extended(DAT_IB_COLLECTIVE_BARRIER_OP), 0x3FFF0000u);
}

TEST_F(DataPath, AQueuePairErrorIsAnAsyncEventAndEndsTheConnection) {
    connect_ep();
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_FATAL;
    event.element.qp = qp();
    fake::raise(event);
    DAT_EVENT told;
    DAT_COUNT more;
    ASSERT_EQ(entry::evd_wait(open.async, DAT_TIMEOUT_INFINITE, 1, &told, &more), DAT_SUCCESS);
    EXPECT_EQ(told.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    EXPECT_EQ(told.event_data.asynch_error_event_data.dat_handle, ep);
    EXPECT_EQ(state(), DAT_EP_STATE_DISCONNECTED);
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

}  // namespace
}  // namespace test
