// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Thread domains and parent domains.
#include "test/softverbs/remote_requests.hpp"

namespace test {
namespace {

class ParentDomain : public testing::Test {
  protected:
    ibv_td* thread_domain() {
        ibv_td_init_attr attributes{};
        ibv_td* const made = ibv_alloc_td(host_.context, &attributes);
        require(made != nullptr, "a thread domain");
        return made;
    }
    ibv_pd* parent_of(ibv_pd* pd, ibv_td* td = nullptr, std::uint32_t mask = 0) {
        ibv_parent_domain_init_attr attributes{};
        attributes.pd = pd;
        attributes.td = td;
        attributes.comp_mask = mask;
        return ibv_alloc_parent_domain(host_.context, &attributes);
    }
    TemporaryFabric fabric_;
    Host host_;
};

TEST_F(ParentDomain, ItsObjectsGoTogetherWithThoseOfItsDomain) {
    ibv_td* const td = thread_domain();
    ibv_pd* const parent = parent_of(host_.pd, td);
    ASSERT_TRUE(parent);
    ibv_mr* const mr = ibv_reg_mr(parent, host_.buffer.data(), 64, int{kAllAccess});
    ASSERT_TRUE(mr);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = host_.cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {4, 4, 1, 1, 0};
    {
        Qp one(host_, ibv_create_qp(parent, &attributes)), other(host_);
        one.connect(other.address());
        other.connect(one.address());
        host_.buffer[0] = 5;
        ASSERT_EQ(one.rdma(1, IBV_WR_RDMA_WRITE, {{host_.address(), 1, mr->lkey}},
                           host_.address(64), host_.mr->rkey),
                  0);
        EXPECT_EQ(host_.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(host_.buffer[64], 5);
        ASSERT_EQ(other.rdma(1, IBV_WR_RDMA_WRITE, {host_.sge(64, 1)}, host_.address(1), mr->rkey),
                  0);
        EXPECT_EQ(host_.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(host_.buffer[1], 5);
        EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
    }
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_td(td), EBUSY) << "the parent domain has it";
    EXPECT_EQ(ibv_dealloc_pd(host_.pd), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(ParentDomain, ItsWindowsAreBoundToRegionsOfItsDomain) {
    ibv_pd* const parent = parent_of(host_.pd);
    ASSERT_TRUE(parent);
    ibv_mr* const mr =
        ibv_reg_mr(host_.pd, host_.buffer.data(), 4096, kAllAccess | IBV_ACCESS_MW_BIND);
    ibv_mw* const window = ibv_alloc_mw(parent, IBV_MW_TYPE_2);
    ASSERT_TRUE(mr && window);
    Qp one(host_), other(host_);
    one.connect(other.address());
    other.connect(one.address());
    ibv_send_wr request{};
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_mw = {
        window, ibv_inc_rkey(window->rkey), {mr, host_.address(), 64, IBV_ACCESS_REMOTE_WRITE}};
    EXPECT_EQ(one.post(request), 0);
    EXPECT_EQ(host_.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

TEST_F(ParentDomain, ACompletionQueueMayHaveOne) {
    ibv_pd* const parent = parent_of(host_.pd);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    attributes.parent_domain = parent;
    ibv_cq_ex* const cq = ibv_create_cq_ex(host_.context, &attributes);
    ASSERT_TRUE(cq);
    EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    attributes.parent_domain = host_.pd;
    EXPECT_EQ(ibv_create_cq_ex(host_.context, &attributes), nullptr) << "not a parent domain";
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

/// The device's queues are in memory that peers share, so it asks no allocator for any.
TEST_F(ParentDomain, AllocatorsAreAcceptedAndWhatMakesNoSenseIsNot) {
    ibv_pd* const parent =
        parent_of(host_.pd, nullptr,
                  IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT);
    ASSERT_TRUE(parent);
    EXPECT_EQ(parent_of(nullptr), nullptr);
    EXPECT_EQ(parent_of(parent), nullptr) << "a parent domain of a parent domain";
    EXPECT_EQ(parent_of(host_.pd, nullptr, 1 << 7), nullptr);
    EXPECT_EQ(errno, EINVAL);
    Host elsewhere;
    EXPECT_EQ(parent_of(elsewhere.pd), nullptr) << "of another open device";
    ibv_td_init_attr wish{1};
    EXPECT_EQ(ibv_alloc_td(host_.context, &wish), nullptr);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

}  // namespace
}  // namespace test
