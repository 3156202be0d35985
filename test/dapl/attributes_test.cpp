// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Attributes of adapter instances on different adapters, and the asynchronous events that they
/// get.
#include <cstring>
#include <map>
#include <string>

#include "test/dapl/core_fixture.hpp"

namespace test {
namespace {

using Names = std::map<std::string, std::string>;

Names as_map(DAT_COUNT count, const DAT_NAMED_ATTR* list) {
    Names names;
    for (DAT_COUNT i = 0; i < count; ++i) names[list[i].name] = list[i].value;
    return names;
}

struct Answers {
    explicit Answers(DAT_IA_HANDLE handle) {
        std::memset(static_cast<void*>(&provider), 0xaa, sizeof provider);
        EXPECT_EQ(entry::ia_query(handle, nullptr, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
                                  &provider),
                  DAT_SUCCESS);
    }
    Names provider_names() const {
        return as_map(provider.num_provider_specific_attr, provider.provider_specific_attr);
    }
    Names transport() const { return as_map(ia.num_transport_attr, ia.transport_attr); }
    Names vendor() const { return as_map(ia.num_vendor_attr, ia.vendor_attr); }

    DAT_IA_ATTR ia;
    DAT_PROVIDER_ATTR provider{};
};

DAT_UINT64 counter(DAT_IA_HANDLE ia, int which) {
    DAT_UINT64 value = ~DAT_UINT64{0};
    EXPECT_EQ(entry::query_counters(ia, which, &value, false), DAT_SUCCESS);
    return value;
}

DAT_EVENT wait(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    DAT_COUNT more;
    EXPECT_EQ(entry::evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_SUCCESS);
    return event;
}
bool is_empty(DAT_EVD_HANDLE evd) {
    DAT_EVENT event;
    return DAT_GET_TYPE(entry::evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY;
}

TEST(Attributes, OfTwoAdaptersAreEachOnesOwn) {
    const fake::OpenIa first(0);
    const fake::OpenIa second(1);
    const Answers one(first.ia);
    const Answers two(second.ia);
    EXPECT_STREQ(one.ia.adapter_name, "fake0");
    EXPECT_STREQ(two.ia.adapter_name, "fake1");
    EXPECT_EQ(one.ia.max_eps, 1000);
    EXPECT_EQ(two.ia.max_eps, 500);
    EXPECT_STREQ(one.provider.provider_name, "fake");
    EXPECT_STREQ(two.provider.provider_name, "second");
    EXPECT_EQ(one.provider_names()["DAT_IB_DEVICE_NAME"], "fake0");
    EXPECT_EQ(two.provider_names()["DAT_IB_DEVICE_NAME"], "fake1");
    EXPECT_EQ(one.provider_names()["DAT_IB_PORT_STATUS"], "ACTIVE");
    EXPECT_EQ(two.provider_names()["DAT_IB_PORT_STATUS"], "DOWN");
    EXPECT_EQ(one.provider_names()["DAT_IB_TRANSPORT_MTU"], "4096");
    EXPECT_EQ(two.provider_names()["DAT_IB_TRANSPORT_MTU"], "1024");
    EXPECT_EQ(one.provider_names()["DAT_IB_FETCH_AND_ADD"], "TRUE");
    EXPECT_EQ(two.provider_names()["DAT_IB_FETCH_AND_ADD"], "FALSE");
    const Answers again(first.ia);
    EXPECT_EQ(again.provider_names(), one.provider_names()) << "whatever was asked in between";
}

TEST(Attributes, NameTransportVendorAndFirmware) {
    const fake::OpenIa first(0);
    const fake::OpenIa second(1);
    const Answers one(first.ia);
    const Answers two(second.ia);
    EXPECT_EQ(one.ia.hardware_version_major, 7u);
    EXPECT_EQ(one.ia.firmware_version_major, 12u);
    EXPECT_EQ(one.ia.firmware_version_minor, 34u);
    EXPECT_EQ(two.ia.firmware_version_major, 0u) << "its firmware has no number";
    EXPECT_EQ(one.vendor()["OPENDAT_FIRMWARE"], "12.34.5");
    EXPECT_EQ(one.vendor()["OPENDAT_VENDOR_ID"], "0x0002c9");
    EXPECT_EQ(one.vendor()["delayed_ack_supported"], "false") << "nobody has shown it";
    EXPECT_EQ(one.transport()["OPENDAT_TRANSPORT"], "InfiniBand");
    EXPECT_EQ(two.transport()["OPENDAT_TRANSPORT"], "iWARP");
}

TEST(Attributes, SayWhatDependsOnTheTransport) {
    const fake::OpenIa first(0);
    const fake::OpenIa second(1);
    const Answers one(first.ia);
    const Answers two(second.ia);
    EXPECT_EQ(one.ia.extension_supported, DAT_EXTENSION_IB);
    EXPECT_EQ(two.ia.extension_supported, DAT_EXTENSION_IW);
    EXPECT_EQ(one.ia.zb_supported, DAT_TRUE);
    EXPECT_EQ(two.ia.zb_supported, DAT_FALSE);
    EXPECT_EQ(two.ia.max_iov_segments_per_rdma_read, 1);
    EXPECT_EQ(one.provider.rdma_write_for_rdma_read_req, DAT_FALSE);
    EXPECT_EQ(two.provider.rdma_write_for_rdma_read_req, DAT_TRUE);
    EXPECT_EQ(two.provider.rdma_read_lmr_rmr_context_exposure, DAT_TRUE);
}

TEST(Attributes, SayWhetherThereAreSharedReceiveQueuesAndTheCallAgrees) {
    const fake::OpenIa first(0);
    const fake::OpenIa second(1);
    const Answers with(first.ia);
    EXPECT_EQ(with.provider.srq_supported, DAT_TRUE);
    EXPECT_EQ(with.ia.max_srqs, 1000);
    EXPECT_EQ(with.ia.max_ep_per_srq, with.ia.max_eps);
    EXPECT_EQ(with.ia.max_recv_per_srq, 4096);
    EXPECT_GT(with.provider.srq_watermarks_supported, 0);
    EXPECT_GT(with.provider.srq_info_supported, 0);
    EXPECT_GT(with.provider.ep_recv_info_supported, 0);
    const Answers without(second.ia);
    EXPECT_EQ(without.provider.srq_supported, DAT_FALSE);
    EXPECT_EQ(with.provider.srq_ep_pz_difference_supported, DAT_TRUE);
    EXPECT_EQ(without.provider.srq_watermarks_supported, 0);
    EXPECT_EQ(without.provider.srq_ep_pz_difference_supported, DAT_FALSE);
    EXPECT_EQ(without.provider.srq_info_supported, 0);
    EXPECT_EQ(without.ia.max_srqs, 0);
    EXPECT_EQ(without.ia.max_ep_per_srq, 0);
    DAT_PZ_HANDLE pz;
    ASSERT_EQ(entry::pz_create(second.ia, &pz), DAT_SUCCESS);
    DAT_SRQ_ATTR attributes{};
    attributes.max_recv_dtos = 8;
    attributes.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq;
    EXPECT_EQ(entry::srq_create(second.ia, pz, &attributes, &srq), 0x00090000u);
}

TEST(Attributes, OfTheProviderAreAllFilled) {
    const fake::OpenIa open;
    const Answers answers(open.ia);
    const DAT_PROVIDER_ATTR& provider = answers.provider;
    EXPECT_EQ(provider.provider_version_major, 2u);
    EXPECT_EQ(provider.provider_version_minor, 0u);
    EXPECT_EQ(provider.dapl_version_major, 2u);
    EXPECT_EQ(static_cast<int>(provider.lmr_mem_types_supported), 3);
    EXPECT_EQ(provider.iov_ownership_on_return, DAT_IOV_CONSUMER);
    EXPECT_EQ(provider.dat_qos_supported, DAT_QOS_BEST_EFFORT);
    EXPECT_EQ(provider.completion_flags_supported, DAT_COMPLETION_DEFAULT_FLAG);
    EXPECT_EQ(provider.is_thread_safe, DAT_FALSE) << "as registered";
    EXPECT_EQ(answers.provider_names().at("OPENDAT_THREAD_SAFE"), "TRUE") << "the truth";
    EXPECT_EQ(provider.supports_multipath, DAT_FALSE);
    EXPECT_EQ(provider.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
    EXPECT_EQ(provider.max_private_data_size, 56);
    EXPECT_EQ(provider.pz_support, DAT_PZ_UNIQUE);
    EXPECT_EQ(provider.optimal_buffer_alignment, 256u);
    EXPECT_EQ(provider.lmr_sync_req, DAT_FALSE);
    EXPECT_EQ(provider.dto_async_return_guaranteed, DAT_FALSE);
    EXPECT_EQ(provider.is_signal_safe, DAT_FALSE);
    EXPECT_EQ(provider.ha_supported, DAT_FALSE);
    EXPECT_EQ(provider.ha_loadbalancing, DAT_HA_LB_NONE);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < 6; ++b) {
            const bool dto_and_connection = (a == 2 && b == 3) || (a == 3 && b == 2);
            const bool merges = a != 5 && b != 5 && !dto_and_connection;
            EXPECT_EQ(provider.evd_stream_merging_supported[a][b], merges ? DAT_TRUE : DAT_FALSE)
                << a << ' ' << b;
        }
}

TEST(Attributes, AreGivenToWhoAsksForThemOnly) {
    const fake::OpenIa open;
    DAT_IA_ATTR ia;
    std::memset(&ia, 0x55, sizeof ia);
    DAT_EVD_HANDLE async = nullptr;
    EXPECT_EQ(entry::ia_query(open.ia, &async, 0, &ia, 0, nullptr), DAT_SUCCESS);
    EXPECT_EQ(async, open.async);
    EXPECT_EQ(ia.max_eps, 0x55555555) << "untouched";
    EXPECT_EQ(entry::ia_query(open.ia, nullptr, DAT_IA_FIELD_ALL + 1, &ia, 0, nullptr),
              0x80060027u);
    EXPECT_EQ(entry::ia_query(open.ia, nullptr, 1, nullptr, 0, nullptr), 0x80060028u);
    EXPECT_EQ(entry::ia_query(open.ia, nullptr, 0, nullptr, 1, nullptr), 0x8006002Au);
    EXPECT_EQ(entry::ia_query(open.async, nullptr, 1, &ia, 0, nullptr), 0x8005000Bu);
}

TEST(HighAvailability, RelatesAnAdapterInstanceToItsOwnNameAlone) {
    const fake::OpenIa open;
    char own[] = "fake";
    char other[] = "second";
    DAT_BOOLEAN related = DAT_FALSE;
    EXPECT_EQ(entry::ia_ha_related(open.ia, own, &related), DAT_SUCCESS);
    EXPECT_EQ(related, DAT_TRUE);
    EXPECT_EQ(entry::ia_ha_related(open.ia, other, &related), DAT_SUCCESS);
    EXPECT_EQ(related, DAT_FALSE);
    EXPECT_EQ(entry::ia_ha_related(open.ia, nullptr, &related), 0x80060026u);
    EXPECT_EQ(entry::ia_ha_related(open.ia, own, nullptr), 0x80060027u);
    EXPECT_EQ(entry::ia_ha_related(nullptr, own, &related), 0x8005000Bu);
}

TEST(AsyncEvents, OfAnAdapterGoToEveryInstanceOnItWithItsOwnHandleAndTheReason) {
    const fake::OpenIa first(0);
    const fake::OpenIa same(0);
    const fake::OpenIa elsewhere(1);
    const std::pair<ibv_event_type, DAT_COUNT> told[] = {
        {IBV_EVENT_DEVICE_FATAL, DAT_IA_CATASTROPHIC_ERROR},
        {IBV_EVENT_PORT_ERR, DAT_IA_OTHER_ERROR},
        {IBV_EVENT_LID_CHANGE, DAT_IA_OTHER_ERROR},
        {IBV_EVENT_PKEY_CHANGE, DAT_IA_OTHER_ERROR},
        {IBV_EVENT_SM_CHANGE, DAT_IA_OTHER_ERROR}};
    for (const auto& [type, reason] : told) {
        ibv_async_event event{};
        event.event_type = type;
        fake::raise(event);
        for (const fake::OpenIa* open : {&first, &same}) {
            const DAT_EVENT got = wait(open->async);
            EXPECT_EQ(got.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
            EXPECT_EQ(got.evd_handle, open->async);
            EXPECT_EQ(got.event_data.asynch_error_event_data.dat_handle, open->ia);
            EXPECT_EQ(got.event_data.asynch_error_event_data.reason, reason);
        }
    }
    for (const ibv_event_type good :
         {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_DEVICE_FATAL}) {
        ibv_async_event event{};
        event.event_type = good;
        fake::raise(event, 1);
    }
    EXPECT_EQ(wait(elsewhere.async).event_data.asynch_error_event_data.dat_handle, elsewhere.ia);
    for (const fake::OpenIa* open : {&first, &same, &elsewhere})
        EXPECT_TRUE(is_empty(open->async)) << "the only event, and its own adapter's";
    EXPECT_EQ(counter(same.ia, DCNT_IA_ASYNC_ERROR), std::size(told));
    EXPECT_EQ(counter(elsewhere.ia, DCNT_IA_ASYNC_ERROR), 1U);
}

class EndpointEvents : public CoreTest {};

TEST_F(EndpointEvents, OfAQueuePairOrCompletionQueueNameTheObjectAndItsInstance) {
    const fake::OpenIa same(0);
    connect_ep();
    ibv_async_event event{};
    event.event_type = IBV_EVENT_CQ_ERR;
    event.element.cq = qp()->send_cq;
    fake::raise(event);
    DAT_EVENT got = wait(open.async);
    EXPECT_EQ(got.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(got.event_data.asynch_error_event_data.dat_handle, request_evd);
    EXPECT_EQ(got.event_data.asynch_error_event_data.reason, DAT_EVD_OVERFLOW_ERROR);
    event.event_type = IBV_EVENT_QP_ACCESS_ERR;
    event.element.qp = qp();
    fake::raise(event);
    got = wait(open.async);
    EXPECT_EQ(got.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
    EXPECT_EQ(got.event_data.asynch_error_event_data.dat_handle, ep);
    EXPECT_EQ(got.event_data.asynch_error_event_data.reason, DAT_EP_TRANSFER_TO_ERROR);
    EXPECT_TRUE(is_empty(same.async)) << "another instance's objects are no matter of its";
    EXPECT_EQ(counter(open.ia, DCNT_IA_ASYNC_CQ_ERROR), 1U);
    EXPECT_EQ(counter(open.ia, DCNT_IA_ASYNC_QP_ERROR), 1U);
    EXPECT_EQ(counter(open.ia, DCNT_IA_ASYNC_ERROR), 0U);
    EXPECT_EQ(counter(same.ia, DCNT_IA_ASYNC_CQ_ERROR), 0U);
}

}  // namespace
}  // namespace test
