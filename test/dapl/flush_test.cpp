// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Each posted transfer gets one event when its queue pair ends, whatever the device reports.
#include <atomic>

#include "dapl/transfer/slot_ring.hpp"
#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

class Flush : public CoreTest {
  protected:
    ~Flush() override { fake::set_flushing(fake::Flushing::kAtOnce); }

    /// Disconnects abruptly and consumes the event of the connection's end.
    void end_connection() {
        ASSERT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
    }
    void expect_flushed(DAT_EVD_HANDLE evd, DAT_UINT64 value, DAT_DTOS operation) {
        const auto dto = next_dto(evd);
        EXPECT_EQ(dto.user_cookie.as_64, value);
        EXPECT_EQ(dto.status, DAT_DTO_ERR_FLUSHED);
        EXPECT_EQ(dto.operation, operation);
        EXPECT_EQ(dto.ep_handle, ep);
    }
    void reconnect() {
        ASSERT_EQ(entry::ep_reset(ep), DAT_SUCCESS);
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        ASSERT_EQ(entry::ep_connect(ep, reinterpret_cast<sockaddr*>(&peer), 1, DAT_TIMEOUT_INFINITE,
                                    0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                  DAT_SUCCESS);
        fake::establish();
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
};

TEST_F(Flush, OfWhatTheDeviceSaysNothingOfComesFromTheCoreInTheOrderOfThePosts) {
    connect_ep();
    for (DAT_UINT64 i = 1; i <= 3; ++i) ASSERT_EQ(receive(i), DAT_SUCCESS);
    for (DAT_UINT64 i = 4; i <= 6; ++i) ASSERT_EQ(send(i), DAT_SUCCESS);
    fake::finish_receive(qp(), 10);
    fake::finish_request(qp());
    fake::set_flushing(fake::Flushing::kNever);
    end_connection();
    EXPECT_EQ(next_dto(recv_evd).status, DAT_DTO_SUCCESS);
    EXPECT_EQ(next_dto(request_evd).status, DAT_DTO_SUCCESS);
    for (DAT_UINT64 i = 2; i <= 3; ++i) expect_flushed(recv_evd, i, DAT_DTO_RECEIVE);
    for (DAT_UINT64 i = 5; i <= 6; ++i) expect_flushed(request_evd, i, DAT_DTO_SEND);
    EXPECT_TRUE(empty(recv_evd));
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(Flush, WhatTheDeviceSaysAfterwardsIsDropped) {
    connect_ep();
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    fake::set_flushing(fake::Flushing::kNever);
    end_connection();
    fake::flush(qp());
    expect_flushed(recv_evd, 1, DAT_DTO_RECEIVE);
    expect_flushed(request_evd, 2, DAT_DTO_SEND);
    EXPECT_TRUE(empty(recv_evd));
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(Flush, OfASuppressedRequestThatTheDeviceDidWithoutAWordMakesNoEvent) {
    connect_ep();
    ASSERT_EQ(send(1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    fake::finish_request(qp());
    ASSERT_EQ(send(2), DAT_SUCCESS);
    fake::set_flushing(fake::Flushing::kNever);
    end_connection();
    expect_flushed(request_evd, 2, DAT_DTO_SEND);
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(Flush, NeedsNoPatienceWithADeviceThatTakesNoRequestInTheErrorState) {
    connect_ep();
    ASSERT_EQ(send(1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
    fake::finish_request(qp());
    fake::set_flushing(fake::Flushing::kOnEntry);
    const int before = fake::polls();
    end_connection();
    EXPECT_LT(fake::polls() - before, 10);
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(Flush, OfWhatIsPostedAfterTheEndNeedsNoDevice) {
    fake::set_flushing(fake::Flushing::kOnEntry);
    connect_ep();
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    ASSERT_EQ(send(2), DAT_SUCCESS);
    end_connection();
    ASSERT_EQ(receive(3), DAT_SUCCESS);
    ASSERT_EQ(send(4, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS) << "errors are told all the same";
    ASSERT_EQ(
        entry::ep_post_rdma_write(ep, 1, &segment, cookie(5), &target, DAT_COMPLETION_DEFAULT_FLAG),
        DAT_SUCCESS);
    EXPECT_TRUE(fake::receives(qp()).empty());
    EXPECT_TRUE(fake::requests(qp()).empty());
    expect_flushed(recv_evd, 1, DAT_DTO_RECEIVE);
    expect_flushed(recv_evd, 3, DAT_DTO_RECEIVE);
    expect_flushed(request_evd, 2, DAT_DTO_SEND);
    expect_flushed(request_evd, 4, DAT_DTO_SEND);
    expect_flushed(request_evd, 5, DAT_DTO_RDMA_WRITE);
    EXPECT_TRUE(empty(recv_evd));
    EXPECT_TRUE(empty(request_evd));
}

TEST_F(Flush, WakesWhoWaits) {
    connect_ep();
    end_connection();
    Thread waiter([this] {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        EXPECT_EQ(entry::evd_wait(recv_evd, 60'000'000, 2, &event, &more), DAT_SUCCESS);
    });
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    ASSERT_EQ(receive(2), DAT_SUCCESS);
    waiter.join();
}

TEST_F(Flush, LeavesNoMoreRoomThanTheEndpointHas) {
    connect_ep(2);
    end_connection();
    for (int round = 0; round < 20; ++round) {
        ASSERT_EQ(receive(1), DAT_SUCCESS);
        ASSERT_EQ(receive(2), DAT_SUCCESS);
        ASSERT_EQ(DAT_GET_TYPE(receive(3)), DAT_INSUFFICIENT_RESOURCES);
        expect_flushed(recv_evd, 1, DAT_DTO_RECEIVE);
        expect_flushed(recv_evd, 2, DAT_DTO_RECEIVE);
    }
    reconnect();
    ASSERT_EQ(receive(4), DAT_SUCCESS);
    EXPECT_EQ(fake::receives(qp()).size(), 1u) << "the device is back";
}

TEST_F(Flush, CountsWhatIsPostedWhileTheEndpointIsReset) {
    fake::set_flushing(fake::Flushing::kOnEntry);
    connect_ep();
    std::atomic<bool> over{false};
    long posted = 0, taken = 0;
    Thread poster([&] {
        while (!over)
            if (receive(1) == DAT_SUCCESS) ++posted;
    });
    const auto take_all = [&] {
        DAT_EVENT event;
        while (entry::evd_dequeue(recv_evd, &event) == DAT_SUCCESS) ++taken;
    };
    for (int cycle = 0; cycle < scaled(100); ++cycle) {
        ASSERT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
        take_all();
        reconnect();
    }
    over = true;
    poster.join();
    take_all();
    DAT_BOOLEAN left{};
    ASSERT_EQ(entry::ep_get_status(ep, nullptr, &left, nullptr), DAT_SUCCESS);
    EXPECT_EQ(taken + static_cast<long>(left), posted);
}

TEST(Slots, AreFullAlsoWhereTheSequenceBeginsAnew) {
    dapl::SlotRing slots;
    dapl::SlotRing::Storage storage = dapl::SlotRing::storage(2);
    slots.reset(2, 0, storage);
    for (std::uint32_t i = 0; i < dapl::SlotRing::kSequenceMask - 1; ++i) {
        ASSERT_TRUE(slots.has_room());
        slots.release(slots.fill(0, 0, 0));
        slots.commit();
    }
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(slots.has_room());
        slots.fill(0, 0, 0);
        slots.commit();
    }
    EXPECT_FALSE(slots.has_room());
    EXPECT_FALSE(slots.has_room()) << "asked again";
    slots.stop();
    slots.release(dapl::SlotRing::kSequenceMask - 1);
    EXPECT_EQ(slots.add(0, 0, 0), 0u);
    EXPECT_TRUE(slots.is_full());
}

}  // namespace
}  // namespace test
