// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Remote memory regions: a device without memory windows, and one whose binds fail when the test
/// wants.
#include "test/dapl/core_fixture.hpp"

namespace test {
namespace {

TEST(Rmr, ADeviceWithoutMemoryWindowsSaysSoInItsAttributesAndInEveryCall) {
    fake::OpenIa open(1);
    DAT_IA_ATTR attributes{};
    ASSERT_EQ(entry::ia_query(open.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
              DAT_SUCCESS);
    EXPECT_EQ(attributes.max_rmrs, 0);
    EXPECT_EQ(attributes.max_rmr_target_address, 0u);
    DAT_PZ_HANDLE pz = nullptr;
    ASSERT_EQ(entry::pz_create(open.ia, &pz), DAT_SUCCESS);
    DAT_RMR_HANDLE rmr = nullptr;
    EXPECT_EQ(entry::rmr_create(pz, &rmr), dapl::raw(DAT_MODEL_NOT_SUPPORTED));
    EXPECT_EQ(entry::rmr_create(pz, nullptr), dapl::raw(DAT_MODEL_NOT_SUPPORTED));
    EXPECT_EQ(entry::rmr_create_for_ep(pz, &rmr), dapl::raw(DAT_MODEL_NOT_SUPPORTED));
    EXPECT_EQ(entry::rmr_create(nullptr, &rmr), dapl::bad_handle(DAT_INVALID_HANDLE_PZ));
    DAT_EP_HANDLE ep = nullptr;
    ASSERT_EQ(entry::ep_create(open.ia, pz, nullptr, nullptr, nullptr, nullptr, &ep), DAT_SUCCESS);
    DAT_RMR_TRIPLET triplet{};
    EXPECT_EQ(entry::ep_post_send_with_invalidate(ep, 0, nullptr, cookie(1),
                                                  DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 1),
              dapl::raw(DAT_MODEL_NOT_SUPPORTED));
    EXPECT_EQ(entry::ep_post_rdma_read_to_rmr(ep, &triplet, cookie(1), &triplet,
                                              DAT_COMPLETION_DEFAULT_FLAG),
              dapl::raw(DAT_MODEL_NOT_SUPPORTED));
}

class RmrBinds : public CoreTest {
  protected:
    RmrBinds() {
        connect_ep();
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory;
        EXPECT_EQ(entry::lmr_create(open.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz,
                                    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
                                    &segment.lmr_context, nullptr, nullptr, nullptr),
                  DAT_SUCCESS);
    }
    DAT_RMR_HANDLE make(bool for_ep) {
        DAT_RMR_HANDLE rmr = nullptr;
        EXPECT_EQ(for_ep ? entry::rmr_create_for_ep(pz, &rmr) : entry::rmr_create(pz, &rmr),
                  DAT_SUCCESS);
        return rmr;
    }
    DAT_RETURN bind(DAT_RMR_HANDLE rmr) {
        return entry::rmr_bind(rmr, lmr, &segment, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
                               cookie(9), DAT_COMPLETION_DEFAULT_FLAG, &context);
    }
    DAT_RMR_BIND_COMPLETION_EVENT_DATA next_bind() {
        const DAT_EVENT event = next(request_evd);
        EXPECT_EQ(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
        return event.event_data.rmr_completion_event_data;
    }
    bool is_bound(DAT_RMR_HANDLE rmr) {
        DAT_RMR_PARAM parameters;
        return entry::rmr_query(rmr, DAT_RMR_FIELD_ALL, &parameters) == DAT_SUCCESS;
    }

    DAT_LMR_HANDLE lmr = nullptr;
    DAT_RMR_CONTEXT context = 0;
};

TEST_F(RmrBinds, ABindThatFailsLeavesItUnboundAndBreaksTheConnection) {
    for (const bool for_ep : {false, true}) {
        const DAT_RMR_HANDLE rmr = make(for_ep);
        ASSERT_EQ(bind(rmr), DAT_SUCCESS);
        EXPECT_TRUE(is_bound(rmr));
        EXPECT_EQ(entry::lmr_free(lmr), dapl::raw(DAT_INVALID_STATE));
        ASSERT_EQ(fake::requests(qp()).size(), 1u);
        EXPECT_EQ(fake::requests(qp())[0].opcode, IBV_WR_BIND_MW);
        fake::finish_request(qp(), IBV_WC_MW_BIND_ERR);
        const auto event = next_bind();
        EXPECT_EQ(event.rmr_handle, rmr);
        EXPECT_EQ(event.user_cookie.as_64, 9u);
        EXPECT_EQ(event.status, DAT_RMR_OPERATION_FAILED);
        EXPECT_FALSE(is_bound(rmr));
        EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_BROKEN);
        EXPECT_EQ(entry::rmr_free(rmr), DAT_SUCCESS);
        EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
        connect_ep();
    }
    EXPECT_EQ(entry::lmr_free(lmr), DAT_SUCCESS);
}

TEST_F(RmrBinds, AFlushedBindLeavesItUnbound) {
    const DAT_RMR_HANDLE rmr = make(true);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next_bind().status, DAT_DTO_ERR_FLUSHED);
    EXPECT_FALSE(is_bound(rmr));
    EXPECT_TRUE(empty(connect_evd));
}

TEST_F(RmrBinds, OneOfAnEndpointIsInvalidatedBeforeItIsBoundAnewWithOneEvent) {
    const DAT_RMR_HANDLE rmr = make(true);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp());
    EXPECT_EQ(next_bind().status, DAT_RMR_BIND_SUCCESS);
    const DAT_RMR_CONTEXT before = context;
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    ASSERT_EQ(fake::requests(qp()).size(), 2u);
    EXPECT_EQ(fake::requests(qp())[0].opcode, IBV_WR_LOCAL_INV);
    EXPECT_EQ(fake::requests(qp())[0].immediate, before);
    EXPECT_EQ(fake::requests(qp())[1].opcode, IBV_WR_BIND_MW);
    fake::finish_request(qp());
    fake::finish_request(qp());
    EXPECT_EQ(next_bind().status, DAT_RMR_BIND_SUCCESS);
    EXPECT_TRUE(empty(request_evd));
    EXPECT_TRUE(is_bound(rmr));
}

TEST_F(RmrBinds, AnInvalidationThatFailsFailsTheBindBehindItOnce) {
    const DAT_RMR_HANDLE rmr = make(true);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp());
    EXPECT_EQ(next_bind().status, DAT_RMR_BIND_SUCCESS);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_LOC_QP_OP_ERR);
    fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next_bind().status, DAT_RMR_OPERATION_FAILED);
    EXPECT_TRUE(empty(request_evd));
    EXPECT_EQ(next(connect_evd).event_number, DAT_CONNECTION_EVENT_BROKEN);
    EXPECT_FALSE(is_bound(rmr));
}

TEST_F(RmrBinds, AnInvalidationThatIsFlushedIsNoEventAndFinishesNothingElse) {
    const DAT_RMR_HANDLE rmr = make(true);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp());
    EXPECT_EQ(next_bind().status, DAT_RMR_BIND_SUCCESS);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(empty(request_evd));
    EXPECT_FALSE(dapl::from_handle<dapl::Ep>(ep)->requests.finished);
    fake::finish_request(qp(), IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next_bind().status, DAT_DTO_ERR_FLUSHED);
    EXPECT_TRUE(empty(connect_evd));
}

TEST_F(RmrBinds, AnEventNamesItsRmrAlsoWhenThatHasBeenFreed) {
    const DAT_RMR_HANDLE rmr = make(false);
    ASSERT_EQ(bind(rmr), DAT_SUCCESS);
    EXPECT_EQ(entry::rmr_free(rmr), DAT_SUCCESS);
    fake::finish_request(qp());
    EXPECT_EQ(next_bind().rmr_handle, rmr);
}

}  // namespace
}  // namespace test
