// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Service points, with a connection manager whose answers the test sets.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/listen/cr.hpp"
#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"

namespace test {
namespace {

class ServicePointsOfTheCore : public CoreTest {
  protected:
    ServicePointsOfTheCore() : requests_(evd(DAT_EVD_CR_FLAG)) { fake::take_listened(); }
    ~ServicePointsOfTheCore() override {
        fake::refuse_listeners(0);
        fake::refuse_accepts(0);
    }
    DAT_RETURN create_any() {
        return entry::psp_create_any(open.ia, &qualifier_, requests_, DAT_PSP_CONSUMER_FLAG, &psp_);
    }
    DAT_CR_HANDLE take_request() {
        return next(requests_).event_data.cr_arrival_event_data.cr_handle;
    }
    /// Makes a service point, to which a peer sends a request.
    DAT_CR_HANDLE request_at_new_psp() {
        EXPECT_EQ(entry::psp_create(open.ia, 1, requests_, DAT_PSP_CONSUMER_FLAG, &psp_),
                  DAT_SUCCESS);
        fake::request();
        return take_request();
    }

    DAT_EVD_HANDLE requests_;
    DAT_CONN_QUAL qualifier_ = 0;
    DAT_PSP_HANDLE psp_ = nullptr;
};

TEST_F(ServicePointsOfTheCore, AnyQualifierIsUnavailableWhenEachOneWasTriedOnce) {
    fake::refuse_listeners(0x00020000);
    EXPECT_EQ(create_any(), 0x00140000u);
    EXPECT_EQ(psp_, nullptr);
    EXPECT_EQ(qualifier_, 0u);
    std::vector<std::uint64_t> tried = fake::take_listened();
    std::sort(tried.begin(), tried.end());
    ASSERT_EQ(tried.size(), 64512u);
    EXPECT_EQ(tried.front(), 1024u);
    EXPECT_EQ(tried.back(), 65535u);
    EXPECT_EQ(std::adjacent_find(tried.begin(), tried.end()), tried.end());
    EXPECT_EQ(entry::evd_free(requests_), DAT_SUCCESS) << "no PSP is left behind";
}

TEST_F(ServicePointsOfTheCore, AnyQualifierEndsAtAnErrorThatIsAboutSomethingElse) {
    fake::refuse_listeners(0x00030000);
    EXPECT_EQ(create_any(), 0x00030000u);
    EXPECT_EQ(fake::take_listened().size(), 1u);
    fake::refuse_listeners(0);
    EXPECT_EQ(create_any(), DAT_SUCCESS);
    EXPECT_GE(qualifier_, 1024u);
    EXPECT_LT(qualifier_, 65536u);
}

TEST_F(ServicePointsOfTheCore, AnAcceptThatTheManagerRefusesLeavesRequestAndEndpointAsTheyWere) {
    const DAT_CR_HANDLE for_any = request_at_new_psp();
    make_ep();
    fake::refuse_accepts(0x00040000);
    EXPECT_EQ(entry::cr_accept(for_any, ep, 0, nullptr), 0x00040000u);
    EXPECT_EQ(state(), DAT_EP_STATE_UNCONNECTED);

    DAT_RSP_HANDLE rsp;
    ASSERT_EQ(entry::rsp_create(open.ia, 2, ep, requests_, &rsp), DAT_SUCCESS);
    fake::request();
    const DAT_CR_HANDLE reserved = take_request();
    EXPECT_EQ(entry::cr_accept(reserved, nullptr, 0, nullptr), 0x00040000u);
    EXPECT_EQ(state(), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
    fake::refuse_accepts(0);
    EXPECT_EQ(entry::cr_accept(reserved, nullptr, 0, nullptr), DAT_SUCCESS);
    EXPECT_EQ(state(), DAT_EP_STATE_COMPLETION_PENDING);
    EXPECT_EQ(entry::cr_reject(for_any, 0, nullptr), DAT_SUCCESS);
}

TEST_F(ServicePointsOfTheCore, OtherConnectionsGoOnWhileTheDeviceConnectsTheQueuePairOfAnAccept) {
    const DAT_CR_HANDLE first = request_at_new_psp();
    make_ep();
    const DAT_EP_HANDLE other = std::exchange(ep, nullptr);
    make_ep();
    fake::during_answer([&] {
        Thread thread([&] {
            EXPECT_EQ(DAT_GET_TYPE(entry::cr_reject(first, 0, nullptr)), DAT_INVALID_HANDLE)
                << "it has been accepted";
            fake::request();
            EXPECT_EQ(entry::cr_accept(take_request(), other, 0, nullptr), DAT_SUCCESS);
        });
        thread.join();
    });
    EXPECT_EQ(entry::cr_accept(first, ep, 0, nullptr), DAT_SUCCESS);
    EXPECT_TRUE(fake::last_answer_went_on());
    EXPECT_EQ(state(), DAT_EP_STATE_COMPLETION_PENDING);
}

TEST_F(ServicePointsOfTheCore, AnEndpointMayBeFreedWhileTheDeviceConnectsItsQueuePair) {
    const DAT_CR_HANDLE cr = request_at_new_psp();
    make_ep();
    const int before = fake::disconnects();
    std::atomic<bool> is_freed{false};
    std::optional<Thread> thread;
    fake::during_answer([&] {
        thread.emplace([&] {
            EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
            is_freed = true;
        });
        while (fake::disconnects() == before) std::this_thread::yield();
        EXPECT_FALSE(is_freed);
    });
    EXPECT_EQ(entry::cr_accept(cr, ep, 0, nullptr), DAT_SUCCESS);
    EXPECT_FALSE(fake::last_answer_went_on());
    thread->join();
    EXPECT_TRUE(is_freed);
}

TEST_F(ServicePointsOfTheCore, ARefusedAcceptLeavesAnEndpointOfTheProvidersTentative) {
    DAT_PSP_HANDLE psp;
    ASSERT_EQ(entry::psp_create(open.ia, 1, requests_, DAT_PSP_PROVIDER_FLAG, &psp), DAT_SUCCESS);
    fake::request();
    const DAT_CR_HANDLE cr = take_request();
    DAT_CR_PARAM request{};
    ASSERT_EQ(entry::cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
    ep = request.local_ep_handle;
    DAT_EP_PARAM parts{};
    parts.pz_handle = pz;
    parts.connect_evd_handle = connect_evd;
    ASSERT_EQ(
        entry::ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &parts),
        DAT_SUCCESS);
    fake::refuse_accepts(0x00040000);
    EXPECT_EQ(entry::cr_accept(cr, ep, 0, nullptr), 0x00040000u);
    EXPECT_EQ(state(), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
    EXPECT_EQ(entry::cr_reject(cr, 0, nullptr), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_free(ep), 0x8005000Cu) << "it is gone with the request";
}

/// Length of the EVD, which holds this many software events and as many other events.
constexpr DAT_COUNT kEvents = 65536;

TEST_F(ServicePointsOfTheCore, RequestsForWhichTheEvdHasNoRoomEndAndAreToldAsAnOverflow) {
    const DAT_EVD_HANDLE full = evd(DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG, kEvents);
    DAT_PSP_HANDLE psp;
    ASSERT_EQ(entry::psp_create(open.ia, 1, full, DAT_PSP_PROVIDER_FLAG, &psp), DAT_SUCCESS);
    for (DAT_COUNT i = 0; i < kEvents; ++i) ASSERT_EQ(post(full, 1), DAT_SUCCESS);
    const auto in_lists = [&]() {
        const support::MutexLock guard(dapl::connection_lock);
        const auto& ia = *dapl::from_handle<dapl::Ia>(open.ia);
        DAT_COUNT eps = 0, requests = 0;
        for (const auto* of = ia.eps.first(); of; of = ia.eps.after(*of)) ++eps;
        for (const auto* of = ia.requests.first(); of; of = ia.requests.after(*of)) ++requests;
        EXPECT_EQ(eps, requests);
        return requests;
    };
    for (DAT_COUNT i = 0; i < kEvents; ++i) fake::request();
    EXPECT_EQ(in_lists(), kEvents);
    EXPECT_TRUE(empty(open.async));
    fake::request();
    EXPECT_EQ(in_lists(), kEvents) << "the peer is sent away, the endpoint made for it is gone";
    const DAT_EVENT overflow = next(open.async);
    EXPECT_EQ(overflow.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(overflow.event_data.asynch_error_event_data.dat_handle, full);
    next(full);
    fake::request();
    EXPECT_EQ(in_lists(), kEvents + 1);
}

TEST_F(ServicePointsOfTheCore, AModificationThatTheDeviceRefusesChangesNothing) {
    make_ep();
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    DAT_EP_PARAM wanted{};
    wanted.ep_attr.max_recv_dtos = 3;
    fake::refuse(ENOMEM);
    const std::string told = captured_stderr([&] {
        EXPECT_EQ(entry::ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &wanted), 0x00030000u);
    });
    EXPECT_NE(told.find("fake0 refuses a queue pair"), std::string::npos) << told;
    fake::refuse(0);
    DAT_EP_PARAM present{};
    ASSERT_EQ(entry::ep_query(ep, DAT_EP_FIELD_ALL, &present), DAT_SUCCESS);
    EXPECT_EQ(present.ep_attr.max_recv_dtos, 16);
    EXPECT_EQ(fake::receives(qp()).size(), 1u) << "the receive is still posted";
}

TEST_F(ServicePointsOfTheCore, AModificationRenewsTheQueuePairOnlyWhereItHasToDiffer) {
    make_ep();
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    const ibv_qp* before = qp();
    DAT_EP_PARAM p{};
    ASSERT_EQ(entry::ep_query(ep, DAT_EP_FIELD_ALL, &p), DAT_SUCCESS);
    p.ep_attr.max_rdma_read_in = p.ep_attr.max_rdma_read_out = 2;
    p.ep_attr.max_message_size = p.ep_attr.max_rdma_size = 4096;
    p.connect_evd_handle = evd(DAT_EVD_CONNECTION_FLAG);
    const DAT_EP_PARAM_MASK all_but_fixed =
        (DAT_EP_FIELD_EP_ATTR_ALL & ~DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW) | DAT_EP_FIELD_PZ_HANDLE |
        DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
        DAT_EP_FIELD_CONNECT_EVD_HANDLE;
    ASSERT_EQ(entry::ep_modify(ep, all_but_fixed, &p), DAT_SUCCESS);
    EXPECT_EQ(qp(), before);
    EXPECT_EQ(fake::receives(qp()).size(), 1u);

    p.ep_attr.max_recv_dtos = 5;
    ASSERT_EQ(entry::ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p), DAT_SUCCESS);
    const DAT_DTO_COMPLETION_EVENT_DATA flushed = next_dto(recv_evd);
    EXPECT_EQ(flushed.user_cookie.as_64, 1u);
    EXPECT_EQ(flushed.status, DAT_DTO_ERR_FLUSHED) << "what was posted comes back";
    EXPECT_TRUE(fake::receives(qp()).empty());
    DAT_EP_PARAM now{};
    ASSERT_EQ(entry::ep_query(ep, DAT_EP_FIELD_ALL, &now), DAT_SUCCESS);
    EXPECT_EQ(now.ep_attr.max_recv_dtos, 5);
    EXPECT_EQ(now.ep_attr.max_rdma_read_in, 2);
    EXPECT_EQ(now.ep_attr.max_rdma_read_out, 2);
    EXPECT_EQ(now.ep_attr.max_message_size, 4096u);
    EXPECT_EQ(now.ep_attr.max_rdma_size, 4096u);
    EXPECT_EQ(now.connect_evd_handle, p.connect_evd_handle);
}

}  // namespace
}  // namespace test
