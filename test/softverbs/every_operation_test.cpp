// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Every operation that a context may have (struct verbs_context): implemented, or absent in the
/// way that the headers' inline functions test for.
#include <set>
#include <tuple>

#include "test/softverbs/absent.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

TEST(EveryOperation, OfAContextIsRealOrAbsent) {
    TemporaryFabric fabric;
    Host host;
    verbs_context* const all = verbs_get_ctx(host.context);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->sz, sizeof(verbs_context));
    const std::set<std::size_t> real = {offsetof(verbs_context, query_port),
                                        offsetof(verbs_context, query_device_ex),
                                        offsetof(verbs_context, create_cq_ex),
                                        offsetof(verbs_context, create_qp_ex),
                                        offsetof(verbs_context, advise_mr),
                                        offsetof(verbs_context, alloc_dm),
                                        offsetof(verbs_context, free_dm),
                                        offsetof(verbs_context, reg_dm_mr),
                                        offsetof(verbs_context, alloc_td),
                                        offsetof(verbs_context, dealloc_td),
                                        offsetof(verbs_context, alloc_parent_domain),
                                        offsetof(verbs_context, query_rt_values),
                                        offsetof(verbs_context, modify_cq),
                                        offsetof(verbs_context, create_srq_ex),
                                        offsetof(verbs_context, get_srq_num),
                                        offsetof(verbs_context, open_qp),
                                        offsetof(verbs_context, open_xrcd),
                                        offsetof(verbs_context, close_xrcd)};
    for (std::size_t at = 0; at < offsetof(verbs_context, sz); at += sizeof(void*)) {
        void* operation;
        std::memcpy(&operation, reinterpret_cast<char*>(all) + at, sizeof operation);
        EXPECT_EQ(operation != nullptr, real.count(at) != 0) << "at " << at;
    }
}

TEST(EveryOperation, ThatIsAbsentSaysSo) {
    TemporaryFabric fabric;
    Options options;
    options.shared_receives = true;
    Host host(options);
    Qp qp(host);
    ibv_context* const context = host.context;
    absent([&] { return ibv_alloc_null_mr(host.pd); });
    absent([&] { return ibv_create_wq(context, nullptr); });
    absent([&] { return ibv_create_rwq_ind_table(context, nullptr); });
    absent([&] { return ibv_create_counters(context, nullptr); });
    absent([&] { return ibv_create_flow(qp.get(), nullptr); });
    absent([&] { return ibv_create_flow_action_esp(context, nullptr); });
    ibv_srq_init_attr_ex wish{};
    wish.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
    wish.pd = host.pd;
    wish.attr.max_wr = wish.attr.max_sge = 1;
    wish.srq_type = IBV_SRQT_TM;
    absent([&] { return ibv_create_srq_ex(context, &wish); });
    ibv_ops_wr operation{};
    ibv_ops_wr* bad_operation = nullptr;
    ABSENT_BY_CODE(ibv_post_srq_ops(host.srq, &operation, &bad_operation));
    ibv_qp_rate_limit_attr rate{};
    ABSENT_BY_CODE(ibv_modify_qp_rate_limit(qp.get(), &rate));
    wish.srq_type = IBV_SRQT_BASIC;
    ibv_srq* const basic = ibv_create_srq_ex(context, &wish);
    ASSERT_TRUE(basic) << "an ordinary one is none of the absent";
    EXPECT_EQ(ibv_destroy_srq(basic), 0);
}

/// Calls on objects of kinds that cannot be created, whatever a program passes as one.
TEST(EveryOperation, OnAnObjectThatCannotBeIsAbsentToo) {
    TemporaryFabric fabric;
    Host host;
    const auto object = [&](auto made) {
        made.context = host.context;
        return made;
    };
    ibv_wq queue = object(ibv_wq{});
    ibv_wq_attr queue_attributes{};
    ABSENT_BY_CODE(ibv_modify_wq(&queue, &queue_attributes));
    ABSENT_BY_CODE(ibv_destroy_wq(&queue));
    ibv_rwq_ind_table table = object(ibv_rwq_ind_table{});
    ABSENT_BY_CODE(ibv_destroy_rwq_ind_table(&table));
    ibv_flow flow = object(ibv_flow{});
    ABSENT_BY_CODE(ibv_destroy_flow(&flow));
    ibv_flow_action action = object(ibv_flow_action{});
    ABSENT_BY_CODE(ibv_destroy_flow_action(&action));
    ABSENT_BY_CODE(ibv_modify_flow_action_esp(&action, nullptr));
    ibv_counters counters = object(ibv_counters{});
    ABSENT_BY_CODE(ibv_read_counters(&counters, nullptr, 0, 0));
    ABSENT_BY_CODE(ibv_attach_counters_point_flow(&counters, nullptr, &flow));
    ABSENT_BY_CODE(ibv_destroy_counters(&counters));
}

TEST(EveryOperation, TheDevicesClockRuns) {
    TemporaryFabric fabric;
    Host host;
    ibv_device_attr_ex attributes{};
    ASSERT_EQ(ibv_query_device_ex(host.context, nullptr, &attributes), 0);
    EXPECT_EQ(attributes.hca_core_clock, 1'000'000u) << "in kHz: it counts nanoseconds";
    ibv_values_ex before{IBV_VALUES_MASK_RAW_CLOCK, {}}, after = before, unknown{2, {}};
    ASSERT_EQ(ibv_query_rt_values_ex(host.context, &before), 0);
    ASSERT_EQ(ibv_query_rt_values_ex(host.context, &after), 0);
    EXPECT_LE(std::tie(before.raw_clock.tv_sec, before.raw_clock.tv_nsec),
              std::tie(after.raw_clock.tv_sec, after.raw_clock.tv_nsec));
    EXPECT_EQ(ibv_query_rt_values_ex(host.context, &unknown), EINVAL);
}

TEST(EveryOperation, ThatAnswersHasTheCallersLengthInMind) {
    TemporaryFabric fabric;
    Host host;
    verbs_context* const all = verbs_get_ctx(host.context);
    struct {
        ibv_device_attr_ex attributes;
        std::uint64_t behind[8];
    } longer;
    std::memset(static_cast<void*>(&longer), 0x5a, sizeof longer);
    EXPECT_EQ(all->query_device_ex(host.context, nullptr, &longer.attributes, sizeof longer), 0);
    EXPECT_EQ(longer.behind[7], 0u) << "what a newer caller has is zero";
    EXPECT_GT(longer.attributes.orig_attr.max_qp, 0);
    EXPECT_EQ(longer.attributes.completion_timestamp_mask, (std::uint64_t{1} << 48) - 1);
    EXPECT_NE(longer.attributes.odp_caps.general_caps, 0u);
    std::memset(static_cast<void*>(&longer), 0x5a, sizeof longer);
    const std::size_t shorter = offsetof(ibv_device_attr_ex, odp_caps);
    EXPECT_EQ(all->query_device_ex(host.context, nullptr, &longer.attributes, shorter), 0);
    EXPECT_EQ(longer.behind[0], 0x5a5a5a5a5a5a5a5au);
    EXPECT_EQ(longer.attributes.odp_caps.general_caps, 0x5a5a5a5a5a5a5a5au) << "not the callee's";
    EXPECT_EQ(all->query_device_ex(host.context, nullptr, &longer.attributes, 8), EINVAL);
    ibv_query_device_ex_input input{};
    input.comp_mask = 1;
    EXPECT_EQ(ibv_query_device_ex(host.context, &input, &longer.attributes), EINVAL);
    ibv_port_attr port;
    std::memset(static_cast<void*>(&port), 0x5a, sizeof port);
    EXPECT_EQ(all->query_port(host.context, 1, &port, offsetof(ibv_port_attr, flags)), 0);
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(port.flags, 0x5a);
}

}  // namespace
}  // namespace test
