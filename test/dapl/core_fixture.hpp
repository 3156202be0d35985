// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fixture with an adapter instance on the fake device and an endpoint that a test creates or
/// connects.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "dapl/ep/ep.hpp"
#include "dapl/provider/entry.hpp"
#include "test/dapl/fake_device.hpp"

namespace test {

namespace entry = dapl::entry;

inline DAT_DTO_COOKIE cookie(DAT_UINT64 value) {
    DAT_DTO_COOKIE result;
    result.as_64 = value;
    return result;
}

class CoreTest : public testing::Test {
  protected:
    /// @param number of the fake device.
    explicit CoreTest(int number = 0) : open(number) {
        EXPECT_EQ(entry::pz_create(open.ia, &pz), DAT_SUCCESS);
        recv_evd = evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
        request_evd = evd(DAT_EVD_DTO_FLAG);
        connect_evd = evd(DAT_EVD_CONNECTION_FLAG);
    }

    DAT_EVD_HANDLE evd(unsigned flags, DAT_COUNT length = 8, DAT_CNO_HANDLE cno = nullptr) {
        DAT_EVD_HANDLE made = nullptr;
        EXPECT_EQ(entry::evd_create(open.ia, length, cno, static_cast<DAT_EVD_FLAGS>(flags), &made),
                  DAT_SUCCESS);
        return made;
    }

    void make_ep(const DAT_EP_ATTR* attributes = nullptr) {
        ASSERT_EQ(
            entry::ep_create(open.ia, pz, recv_evd, request_evd, connect_evd, attributes, &ep),
            DAT_SUCCESS);
    }
    /// Creates an EP for so many transfers each way, connects it and consumes the event.
    void connect_ep(DAT_COUNT transfers = 8) {
        make_ep();
        DAT_EP_PARAM parameters;
        ASSERT_EQ(entry::ep_query(ep, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
        parameters.ep_attr.max_recv_dtos = parameters.ep_attr.max_request_dtos = transfers;
        ASSERT_EQ(
            entry::ep_modify(
                ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
                &parameters),
            DAT_SUCCESS);
        connect_made_ep();
    }
    void connect_made_ep() {
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        ASSERT_EQ(entry::ep_connect(ep, reinterpret_cast<sockaddr*>(&peer), 1, DAT_TIMEOUT_INFINITE,
                                    0, nullptr, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                  DAT_SUCCESS);
        fake::establish();
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    }

    ibv_qp* qp() NO_THREAD_SAFETY_ANALYSIS { return dapl::from_handle<dapl::Ep>(ep)->queue_pair(); }
    DAT_EP_STATE state() {
        DAT_EP_STATE result;
        EXPECT_EQ(entry::ep_get_status(ep, &result, nullptr, nullptr), DAT_SUCCESS);
        return result;
    }
    DAT_RETURN send(DAT_UINT64 value, unsigned flags = 0) {
        return entry::ep_post_send(ep, 1, &segment, cookie(value),
                                   static_cast<DAT_COMPLETION_FLAGS>(flags));
    }
    DAT_RETURN receive(DAT_UINT64 value) {
        return entry::ep_post_recv(ep, 1, &segment, cookie(value), DAT_COMPLETION_DEFAULT_FLAG);
    }
    /// @return the next event; the test fails if there is none.
    DAT_EVENT next(DAT_EVD_HANDLE from) {
        DAT_EVENT event{};
        EXPECT_EQ(entry::evd_dequeue(from, &event), DAT_SUCCESS);
        return event;
    }
    DAT_DTO_COMPLETION_EVENT_DATA next_dto(DAT_EVD_HANDLE from) {
        return next(from).event_data.dto_completion_event_data;
    }
    bool empty(DAT_EVD_HANDLE evd) {
        DAT_EVENT event;
        return DAT_GET_TYPE(entry::evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY;
    }
    DAT_RETURN post(DAT_EVD_HANDLE evd, std::uintptr_t value) {
        DAT_EVENT event{};
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data.pointer = reinterpret_cast<void*>(value);
        return entry::evd_post_se(evd, &event);
    }

    fake::OpenIa open;
    DAT_PZ_HANDLE pz = nullptr;
    DAT_EVD_HANDLE recv_evd = nullptr;
    DAT_EVD_HANDLE request_evd = nullptr;
    DAT_EVD_HANDLE connect_evd = nullptr;
    DAT_EP_HANDLE ep = nullptr;
    char memory[4096] = {};
    DAT_LMR_TRIPLET segment{reinterpret_cast<DAT_VADDR>(memory), 100, 1};
    DAT_RMR_TRIPLET target{0x1000, 100, 2};
};

}  // namespace test
