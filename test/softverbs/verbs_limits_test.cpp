// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The limits that ibv_query_device reports: so many objects can be created, and not one more.
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsLimits : public testing::Test {
  protected:
    void SetUp() override {
        if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "takes minutes there";
    }
    TemporaryFabric fabric_;
};

/// Makes `limit` objects in addition to those that exist, and checks that one more is refused until
/// one is destroyed.
template <class Object>
void expect_limit(int limit, const std::function<Object*()>& make, int (*destroy)(Object*)) {
    std::vector<Object*> made;
    made.reserve(static_cast<std::size_t>(limit));
    while (made.size() < static_cast<std::size_t>(limit)) {
        Object* const object = make();
        ASSERT_NE(object, nullptr) << strerror(errno) << " after " << made.size();
        made.push_back(object);
    }
    errno = 0;
    EXPECT_EQ(make(), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(destroy(made.back()), 0);
    made.back() = make();
    EXPECT_NE(made.back(), nullptr);
    for (Object* object : made) ASSERT_EQ(destroy(object), 0);
}

ibv_device_attr limits_of(Host& host) {
    ibv_device_attr limits;
    require(ibv_query_device(host.context, &limits) == 0, "the limits are told");
    return limits;
}

TEST_F(VerbsLimits, OfProtectionDomains) {
    Host host;
    expect_limit<ibv_pd>(
        limits_of(host).max_pd - 1, [&] { return ibv_alloc_pd(host.context); }, ibv_dealloc_pd);
}

TEST_F(VerbsLimits, OfAddressHandles) {
    Host host;
    ibv_ah_attr attributes{};
    attributes.port_num = 1;
    attributes.dlid = host.port.lid;
    expect_limit<ibv_ah>(
        limits_of(host).max_ah, [&] { return ibv_create_ah(host.pd, &attributes); },
        ibv_destroy_ah);
}

TEST_F(VerbsLimits, OfRegions) {
    Host host;
    expect_limit<ibv_mr>(
        limits_of(host).max_mr - 1,
        [&] { return ibv_reg_mr(host.pd, host.buffer.data(), 64, kLocalWrite); }, ibv_dereg_mr);
}

TEST_F(VerbsLimits, OfWindows) {
    Host host;
    ibv_dereg_mr(host.mr);
    expect_limit<ibv_mw>(
        limits_of(host).max_mw, [&] { return ibv_alloc_mw(host.pd, IBV_MW_TYPE_2); },
        ibv_dealloc_mw);
    host.mr = ibv_reg_mr(host.pd, host.buffer.data(), 64, kLocalWrite);
}

TEST_F(VerbsLimits, OfCompletionQueues) {
    Host host;
    expect_limit<ibv_cq>(
        limits_of(host).max_cq - 1,
        [&] { return ibv_create_cq(host.context, 1, nullptr, nullptr, 0); }, ibv_destroy_cq);
}

TEST_F(VerbsLimits, OfSharedReceiveQueues) {
    Host host;
    expect_limit<ibv_srq>(
        limits_of(host).max_srq,
        [&] {
            ibv_srq_init_attr attributes{};
            attributes.attr.max_wr = attributes.attr.max_sge = 1;
            return ibv_create_srq(host.pd, &attributes);
        },
        ibv_destroy_srq);
}

TEST_F(VerbsLimits, OfQueuePairs) {
    Host host;
    expect_limit<ibv_qp>(
        limits_of(host).max_qp,
        [&] {
            ibv_qp_init_attr attributes{};
            attributes.send_cq = attributes.recv_cq = host.cq;
            attributes.qp_type = IBV_QPT_RC;
            attributes.cap = {16, 16, 1, 1, 0};
            return ibv_create_qp(host.pd, &attributes);
        },
        ibv_destroy_qp);
}

TEST_F(VerbsLimits, OfReadsAndAtomicsUnderWay) {
    Host host;
    const int most = limits_of(host).max_qp_rd_atom;
    Qp qp(host);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_4096;
    attributes.dest_qp_num = qp.get()->qp_num;
    attributes.ah_attr.dlid = host.port.lid;
    attributes.ah_attr.port_num = 1;
    constexpr int kMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(most + 1);
    EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, kMask), EINVAL);
    attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(most);
    EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, kMask), 0);
}

}  // namespace
}  // namespace test
