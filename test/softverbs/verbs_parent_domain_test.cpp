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
    /// A queue pair that builds sends.
    ibv_qp* queue_pair_of(ibv_pd* pd, ibv_cq* cq) {
        ibv_qp_init_attr_ex attributes{};
        attributes.send_cq = attributes.recv_cq = cq;
        attributes.qp_type = IBV_QPT_RC;
        attributes.cap = {4, 4, 1, 1, 0};
        attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attributes.pd = pd;
        attributes.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
        return ibv_create_qp_ex(host_.context, &attributes);
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

/// A second start would wait for the end of the first one, which never comes, if it took a lock.
TEST_F(ParentDomain, ThePollsOfOneThreadTakeNoLock) {
    ibv_td* const td = thread_domain();
    ibv_pd* const parent = parent_of(host_.pd, td);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    attributes.parent_domain = parent;
    ibv_cq_ex* const cq = ibv_create_cq_ex(host_.context, &attributes);
    ASSERT_TRUE(cq);
    Qp one(host_, queue_pair_of(host_.pd, ibv_cq_ex_to_cq(cq))), other(host_);
    one.connect(other.address());
    other.connect(one.address());
    for (std::uint64_t id = 1; id <= 3; ++id)
        ASSERT_EQ(one.rdma(id, IBV_WR_RDMA_WRITE, {}, host_.address(), host_.mr->rkey), 0);
    ibv_poll_cq_attr none{};
    for (std::uint64_t id = 1; id <= 3; ++id) {
        ASSERT_EQ(ibv_start_poll(cq, &none), 0);
        EXPECT_EQ(cq->wr_id, id);
    }
    ibv_end_poll(cq);
    one.destroy();
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(ParentDomain, TheSendsOfOneThreadAreBuiltWithoutALock) {
    ibv_td* const td = thread_domain();
    ibv_pd* const parent = parent_of(host_.pd, td);
    Qp one(host_, queue_pair_of(parent, host_.cq)), other(host_);
    one.connect(other.address());
    other.connect(one.address());
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(one.get());
    const auto write = [&](std::uint64_t id) {
        ibv_wr_start(qp);
        qp->wr_id = id;
        qp->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_rdma_write(qp, host_.mr->rkey, host_.address(64));
    };
    write(1);
    write(2);  // the first list is dropped
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(host_.wait().wr_id, 2u);
    write(3);
    ibv_wr_abort(qp);
    ibv_wr_start(qp);
    EXPECT_EQ(ibv_wr_complete(qp), 0) << "an empty list";
    EXPECT_TRUE(host_.is_empty());
    ibv_wr_start(qp);
    ibv_wr_send_tso(qp, nullptr, 0, 0);
    EXPECT_EQ(ibv_wr_complete(qp), EOPNOTSUPP);
    one.destroy();
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_td(td), 0);
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
