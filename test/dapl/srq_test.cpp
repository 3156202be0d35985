// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues on a device whose completions the test controls and that never reports the
/// last receive.
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "dapl/ep/shared_slots.hpp"
#include "dapl/ep/srq.hpp"
#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

class SharedQueue : public CoreTest {
  protected:
    void make_srq(DAT_COUNT receives = 8, DAT_COUNT low_watermark = 0) {
        DAT_SRQ_ATTR attributes{receives, 2, low_watermark};
        ASSERT_EQ(entry::srq_create(open.ia, pz, &attributes, &srq), DAT_SUCCESS);
    }
    DAT_EP_HANDLE unconnected_ep() {
        DAT_EP_HANDLE made = nullptr;
        EXPECT_EQ(entry::ep_create_with_srq(open.ia, pz, recv_evd, request_evd, connect_evd, srq,
                                            nullptr, &made),
                  DAT_SUCCESS);
        return made;
    }
    DAT_EP_HANDLE connected_ep() {
        const DAT_EP_HANDLE made = unconnected_ep();
        connect(made);
        return made;
    }
    void connect(DAT_EP_HANDLE made) {
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        EXPECT_EQ(
            entry::ep_connect(made, reinterpret_cast<sockaddr*>(&peer), 1, DAT_TIMEOUT_INFINITE, 0,
                              nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
            DAT_SUCCESS);
        fake::establish();
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    DAT_RETURN post_shared(DAT_UINT64 value) {
        return entry::srq_post_recv(srq, 1, &segment, cookie(value));
    }
    static ibv_qp* qp_of(DAT_EP_HANDLE of) NO_THREAD_SAFETY_ANALYSIS {
        return dapl::from_handle<dapl::Ep>(of)->queue_pair();
    }
    ibv_srq* device_queue() { return dapl::from_handle<dapl::Srq>(srq)->queue(); }
    DAT_SRQ_PARAM queried() {
        DAT_SRQ_PARAM parameters{};
        EXPECT_EQ(entry::srq_query(srq, DAT_SRQ_FIELD_ALL, &parameters), DAT_SUCCESS);
        return parameters;
    }
    DAT_ASYNCH_ERROR_EVENT_DATA next_async() {
        DAT_EVENT event{};
        DAT_COUNT more;
        EXPECT_EQ(entry::evd_wait(open.async, in_microseconds(kDeadline), 1, &event, &more),
                  DAT_SUCCESS);
        EXPECT_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
        return event.event_data.asynch_error_event_data;
    }

    DAT_SRQ_HANDLE srq = nullptr;
};

TEST_F(SharedQueue, CompletionsNameTheEndpointAndTheCookieWhicheverEndpointTookTheReceive) {
    make_srq();
    const DAT_EP_HANDLE eps[] = {connected_ep(), connected_ep(), connected_ep()};
    for (DAT_UINT64 i = 0; i < 6; ++i) ASSERT_EQ(post_shared(100 + i), DAT_SUCCESS);
    const int takers[] = {2, 0, 0, 1, 2, 1};
    for (const int taker : takers) fake::finish_receive(qp_of(eps[taker]), 7);
    for (DAT_UINT64 i = 0; i < 6; ++i) {
        const auto dto = next_dto(recv_evd);
        EXPECT_EQ(dto.ep_handle, eps[takers[i]]);
        EXPECT_EQ(dto.user_cookie.as_64, 100 + i);
        EXPECT_EQ(dto.operation, DAT_DTO_RECEIVE);
        EXPECT_EQ(dto.transfered_length, 7u);
    }
}

TEST_F(SharedQueue, ItIsFullAfterExactlyAsManyReceivesAsAskedAndASlotComesBackWhenItsEventIsTaken) {
    make_srq(3);
    const DAT_EP_HANDLE taker = connected_ep();
    for (DAT_UINT64 i = 0; i < 3; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    EXPECT_EQ(post_shared(9), 0x80030002u);
    fake::finish_receive(qp_of(taker), 1);
    EXPECT_EQ(post_shared(9), 0x80030002u);
    next_dto(recv_evd);
    EXPECT_EQ(post_shared(9), DAT_SUCCESS);
    EXPECT_EQ(post_shared(10), 0x80030002u);
}

TEST_F(SharedQueue, AReceiveThatTheDeviceRefusesTakesNoSlot) {
    make_srq(2);
    fake::refuse(EINVAL);
    EXPECT_EQ(post_shared(1), 0x00060000u);
    fake::refuse(0);
    EXPECT_EQ(post_shared(1), DAT_SUCCESS);
    EXPECT_EQ(post_shared(2), DAT_SUCCESS);
    EXPECT_EQ(post_shared(3), 0x80030002u);
}

TEST_F(SharedQueue, CountsTellWhatIsAvailableFromWhatLiesCompleteAndUntaken) {
    make_srq();
    const DAT_EP_HANDLE taker = connected_ep();
    for (DAT_UINT64 i = 0; i < 5; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    EXPECT_EQ(queried().available_dto_count, 5);
    fake::finish_receive(qp_of(taker), 1);
    fake::finish_receive(qp_of(taker), 1);
    EXPECT_EQ(queried().available_dto_count, 3);
    EXPECT_EQ(queried().outstanding_dto_count, 5);
    next_dto(recv_evd);
    EXPECT_EQ(queried().available_dto_count, 3);
    EXPECT_EQ(queried().outstanding_dto_count, 4);
}

TEST_F(SharedQueue, AnEndpointTellsHowManyReceivesItHoldsAndOverWhichSpan) {
    make_srq();
    const DAT_EP_HANDLE eps[] = {connected_ep(), connected_ep()};
    for (DAT_UINT64 i = 0; i < 6; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    for (const int taker : {0, 1, 1, 0, 1}) fake::finish_receive(qp_of(eps[taker]), 1);
    DAT_COUNT held = -1, span = -1;
    ASSERT_EQ(entry::ep_recv_query(eps[0], &held, &span), DAT_SUCCESS);
    EXPECT_EQ(held, 2);
    EXPECT_EQ(span, 4);
    next_dto(recv_evd);
    ASSERT_EQ(entry::ep_recv_query(eps[0], &held, &span), DAT_SUCCESS);
    EXPECT_EQ(held, 1);
    EXPECT_EQ(span, 1);
    ASSERT_EQ(entry::ep_recv_query(eps[1], &held, nullptr), DAT_SUCCESS);
    EXPECT_EQ(held, 3);
}

TEST_F(SharedQueue, TheCoreTellsTheLastReceiveOfADeviceThatDoesNotOnceForEachConnection) {
    make_srq();
    const DAT_EP_HANDLE taker = connected_ep();
    ASSERT_EQ(post_shared(1), DAT_SUCCESS);
    ASSERT_EQ(entry::ep_disconnect(taker, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
    EXPECT_EQ(next_async().dat_handle, taker);
    ASSERT_EQ(entry::ep_reset(taker), DAT_SUCCESS);
    ASSERT_EQ(entry::ep_free(taker), DAT_SUCCESS);
    EXPECT_TRUE(empty(open.async));
    EXPECT_TRUE(empty(recv_evd)) << "receives on the SRQ are not flushed";
    EXPECT_EQ(queried().outstanding_dto_count, 1);
}

TEST_F(SharedQueue, WhatAnEndedEndpointReceivedStaysAndGivesItsSlotsBack) {
    make_srq(4);
    const DAT_EP_HANDLE taker = connected_ep();
    for (DAT_UINT64 i = 0; i < 4; ++i) ASSERT_EQ(post_shared(50 + i), DAT_SUCCESS);
    for (int i = 0; i < 3; ++i) fake::finish_receive(qp_of(taker), 1);
    ASSERT_EQ(entry::ep_free(taker), DAT_SUCCESS);
    EXPECT_EQ(queried().outstanding_dto_count, 1);
    for (DAT_UINT64 i = 0; i < 3; ++i) {
        const auto dto = next_dto(recv_evd);
        EXPECT_EQ(dto.ep_handle, taker);
        EXPECT_EQ(dto.user_cookie.as_64, 50 + i);
    }
    for (DAT_UINT64 i = 0; i < 3; ++i) EXPECT_EQ(post_shared(i), DAT_SUCCESS);
    EXPECT_EQ(post_shared(9), 0x80030002u);
}

TEST_F(SharedQueue, TheLowWatermarkOfItsCreationIsArmedWhenSoManyReceivesArePosted) {
    make_srq(8, 3);
    ASSERT_EQ(post_shared(1), DAT_SUCCESS);
    ASSERT_EQ(post_shared(2), DAT_SUCCESS);
    EXPECT_EQ(fake::limit(device_queue()), 0u);
    ASSERT_EQ(post_shared(3), DAT_SUCCESS);
    EXPECT_EQ(fake::limit(device_queue()), 3u);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
    event.element.srq = device_queue();
    fake::raise(event);
    const auto told = next_async();
    EXPECT_EQ(told.dat_handle, srq);
    EXPECT_EQ(told.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}

TEST_F(SharedQueue, ALowWatermarkAboveWhatIsPostedIsToldAtOnce) {
    make_srq();
    ASSERT_EQ(post_shared(1), DAT_SUCCESS);
    ASSERT_EQ(entry::srq_set_lw(srq, 2), DAT_SUCCESS);
    EXPECT_EQ(next_async().dat_handle, srq);
    EXPECT_EQ(fake::limit(device_queue()), 0u);
    ASSERT_EQ(entry::srq_set_lw(srq, 1), DAT_SUCCESS);
    EXPECT_EQ(fake::limit(device_queue()), 1u);
    EXPECT_TRUE(empty(open.async));
}

TEST_F(SharedQueue, ALowWatermarkAboveWhatIsNotYetCompleteIsToldAtOnce) {
    make_srq();
    ep = connected_ep();
    for (DAT_UINT64 i = 1; i <= 3; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    fake::finish_receive(qp_of(ep), 1);
    fake::finish_receive(qp_of(ep), 1);
    ASSERT_EQ(entry::srq_set_lw(srq, 2), DAT_SUCCESS);
    EXPECT_EQ(next_async().reason, DAT_SRQ_LOW_WATERMARK_EVENT);
    EXPECT_EQ(fake::limit(device_queue()), 0u);
}

TEST_F(SharedQueue, ADeviceThatCannotGrowItSaysSoByTheResource) {
    make_srq(8);
    fake::refuse(EOPNOTSUPP);
    EXPECT_EQ(entry::srq_resize(srq, 1000),
              dapl::error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
    fake::refuse(0);
    EXPECT_EQ(queried().max_recv_dtos, 8);
}

TEST_F(SharedQueue, ADeviceErrorIsToldAndNoEndpointIsMadeWithTheQueueAfterwards) {
    make_srq();
    ibv_async_event event{};
    event.event_type = IBV_EVENT_SRQ_ERR;
    event.element.srq = device_queue();
    fake::raise(event);
    const auto told = next_async();
    EXPECT_EQ(told.dat_handle, srq);
    EXPECT_EQ(told.reason, DAT_SRQ_TRANSFER_TO_ERROR);
    EXPECT_EQ(queried().srq_state, DAT_SRQ_STATE_ERROR);
    DAT_EP_HANDLE made = nullptr;
    EXPECT_EQ(entry::ep_create_with_srq(open.ia, pz, recv_evd, request_evd, connect_evd, srq,
                                        nullptr, &made),
              dapl::error(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR));
}

TEST_F(SharedQueue, TheSoftHighWatermarkIsToldOnceForEachSetting) {
    make_srq();
    const DAT_EP_HANDLE taker = connected_ep();
    ASSERT_EQ(entry::ep_set_watermark(taker, 1, DAT_HW_DEFAULT), DAT_SUCCESS);
    for (DAT_UINT64 i = 0; i < 5; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    fake::finish_receive(qp_of(taker), 1);
    next_dto(recv_evd);
    EXPECT_TRUE(empty(open.async));
    for (int i = 0; i < 3; ++i) fake::finish_receive(qp_of(taker), 1);
    next_dto(recv_evd);
    const auto told = next_async();
    EXPECT_EQ(told.dat_handle, taker);
    EXPECT_EQ(told.reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
    fake::finish_receive(qp_of(taker), 1);
    next_dto(recv_evd);
    EXPECT_TRUE(empty(open.async));
    ASSERT_EQ(entry::ep_set_watermark(taker, 1, DAT_HW_DEFAULT), DAT_SUCCESS);
    EXPECT_EQ(next_async().dat_handle, taker) << "it holds two: told at once";
}

TEST_F(SharedQueue, ModifySetsTheSoftHighWatermarkAndNoOtherQueue) {
    make_srq();
    const DAT_EP_HANDLE taker = unconnected_ep();
    DAT_EP_PARAM parameters{};
    ASSERT_EQ(entry::ep_query(taker, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.srq_handle, srq);
    const ibv_qp* before = qp_of(taker);
    parameters.ep_attr.srq_soft_hw = 1;
    ASSERT_EQ(entry::ep_modify(taker, DAT_EP_FIELD_SRQ_HANDLE | DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW,
                               &parameters),
              DAT_SUCCESS);
    EXPECT_EQ(qp_of(taker), before);
    parameters.ep_attr.srq_soft_hw = -7;
    EXPECT_EQ(entry::ep_modify(taker, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &parameters), 0x80060027u);
    parameters.srq_handle = nullptr;
    EXPECT_EQ(entry::ep_modify(taker, DAT_EP_FIELD_SRQ_HANDLE, &parameters), 0x80060027u)
        << "an endpoint keeps its SRQ";
    ASSERT_EQ(entry::ep_query(taker, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.ep_attr.srq_soft_hw, 1);
    connect(taker);
    for (DAT_UINT64 i = 0; i < 2; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    for (int i = 0; i < 2; ++i) fake::finish_receive(qp_of(taker), 1);
    next_dto(recv_evd);
    EXPECT_EQ(next_async().dat_handle, taker);
}

TEST_F(SharedQueue, AGracefulDisconnectOfItsEndpointsWaitsForTheirRequests) {
    make_srq();
    ep = connected_ep();
    const int before = fake::disconnects();
    ASSERT_EQ(post_shared(1), DAT_SUCCESS);
    ASSERT_EQ(send(1), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    EXPECT_EQ(fake::disconnects(), before);
    fake::finish_request(qp_of(ep));
    fake::finish_request(qp_of(ep));
    EXPECT_TRUE(eventually([&] { return fake::disconnects() == before + 1; }));
    EXPECT_EQ(next_dto(request_evd).user_cookie.as_64, 1u);
    EXPECT_TRUE(empty(request_evd));
    EXPECT_TRUE(empty(recv_evd)) << "the library's own request is no receive";
}

TEST_F(SharedQueue, TheHardHighWatermarkBreaksTheConnection) {
    make_srq();
    const DAT_EP_HANDLE taker = connected_ep();
    ASSERT_EQ(entry::ep_set_watermark(taker, DAT_WATERMARK_INFINITE, 2), DAT_SUCCESS);
    for (DAT_UINT64 i = 0; i < 3; ++i) ASSERT_EQ(post_shared(i), DAT_SUCCESS);
    for (int i = 0; i < 3; ++i) fake::finish_receive(qp_of(taker), 1);
    next_dto(recv_evd);
    DAT_EVENT event{};
    DAT_COUNT more;
    ASSERT_EQ(entry::evd_wait(connect_evd, in_microseconds(kDeadline), 1, &event, &more),
              DAT_SUCCESS);
    EXPECT_EQ(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
    EXPECT_EQ(next_async().dat_handle, taker);
}

TEST_F(SharedQueue, WatermarksAreChecked) {
    make_srq();
    const DAT_EP_HANDLE taker = connected_ep();
    EXPECT_EQ(entry::ep_set_watermark(nullptr, 1, 1), 0x8005000Cu);
    EXPECT_EQ(entry::ep_set_watermark(taker, -2, 1), 0x80060026u);
    EXPECT_EQ(entry::ep_set_watermark(taker, 1, -2), 0x80060027u);
    EXPECT_EQ(entry::ep_set_watermark(taker, 3, 2), 0x80060027u);
    ASSERT_EQ(post_shared(1), DAT_SUCCESS);
    fake::finish_receive(qp_of(taker), 1);
    constexpr DAT_RETURN kRefused =
        dapl::error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
    EXPECT_EQ(entry::ep_set_watermark(taker, 0, 0), kRefused) << "it holds one already";
    make_ep();
    EXPECT_EQ(entry::ep_set_watermark(ep, 1, 1), kRefused) << "it has no SRQ";
}

TEST_F(SharedQueue, ClosingTheAdapterEndsEndpointsThenTheirQueue) {
    const int before = fake::objects();
    make_srq();
    connected_ep();
    EXPECT_EQ(entry::srq_free(srq), 0x80070057u);
    EXPECT_EQ(entry::ia_close(open.ia, DAT_CLOSE_GRACEFUL_FLAG),
              dapl::error(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
    EXPECT_GT(fake::objects(), before);
    EXPECT_EQ(entry::ia_close(open.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    open.ia = nullptr;
    EXPECT_EQ(fake::objects(), 0);
    EXPECT_EQ(entry::srq_free(srq), 0x80050019u);
}

TEST(SharedSlots, ComeBackFromManyThreadsWithoutALockEachWithItsCookie) {
    constexpr int kTakers = 3;
    constexpr std::uint32_t kSlots = 200, kRounds = 30000;
    dapl::SharedSlots slots;
    slots.reserve(kSlots);
    std::array<std::atomic<std::uint32_t>, 256> handed{};  // slot + 1; stands in for the device
    std::atomic<std::uint32_t> taken_all{0};
    std::atomic<bool> wrong{false};
    std::vector<Thread> takers;
    for (int t = 0; t < kTakers; ++t)
        takers.emplace_back([&] {
            while (taken_all.load() < kRounds) {
                std::this_thread::yield();
                for (auto& place : handed) {
                    const std::uint32_t slot = place.exchange(0);
                    if (slot == 0) continue;
                    dapl::SharedSlots::Receive receive{};
                    if (!slots.take(slot - 1, receive) || receive.cookie.as_64 != receive.order)
                        wrong = true;
                    ++taken_all;
                }
            }
        });
    for (std::uint32_t posted = 0; posted < kRounds;) {
        std::uint32_t none = 0;
        if (slots.posted() >= kSlots) continue;
        auto& place = handed[posted % handed.size()];
        if (place.load() != 0) continue;
        const std::uint32_t slot = slots.post(cookie(posted++));
        place.compare_exchange_strong(none, slot + 1);
    }
    for (auto& taker : takers) taker.join();
    EXPECT_FALSE(wrong);
    EXPECT_EQ(slots.posted(), 0u);
}

}  // namespace
}  // namespace test
