// SPDX-License-Identifier: BSD-2-Clause
// Exact return codes of the objects of an adapter instance, for wrong and for correct use.
#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>

#include "test/api/side.hpp"

namespace {

using namespace test;

class Codes : public testing::Test {
  protected:
    DAT_RETURN register_memory(void* address, DAT_VLEN length, unsigned privileges,
                               DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL) {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = address;
        return dat_lmr_create(side.ia, type, region, length, side.pz,
                              static_cast<DAT_MEM_PRIV_FLAGS>(privileges), DAT_VA_TYPE_VA, &lmr,
                              nullptr, nullptr, nullptr, nullptr);
    }
    DAT_RETURN create(const DAT_EP_ATTR& attributes) {
        return dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections,
                             &attributes, &ep);
    }
    /// Creates `ep` with default attributes. @return them, as dat_ep_query reports them.
    DAT_EP_ATTR defaults() {
        ep = side.endpoint();
        DAT_EP_PARAM parameters;
        succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
        return parameters.ep_attr;
    }

    TemporaryFabric fabric;
    Side side;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    char memory[4096] = {};
};

TEST_F(Codes, MemoryThatCannotBeRegisteredIsRefusedWithOneCodeWhateverTheCause) {
    const void* read_only = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(read_only, MAP_FAILED);
    void* const fixed = const_cast<void*>(read_only);
    if (!side.is_iwarp()) {  // iWARP allows remote writes without local writes
        EXPECT_EQ(register_memory(memory, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG), 0x00030000u);
        EXPECT_EQ(register_memory(memory, 4096, 0x40), 0x00030000u);
    }
    EXPECT_EQ(register_memory(nullptr, 4096, DAT_MEM_PRIV_ALL_FLAG), 0x00030000u);
    EXPECT_EQ(register_memory(fixed, 4096, DAT_MEM_PRIV_READ_FLAG), DAT_SUCCESS);
    EXPECT_EQ(dat_lmr_free(lmr), DAT_SUCCESS);
    EXPECT_EQ(register_memory(memory, 4096, 0x40, DAT_MEM_TYPE_LMR), 0x8005000Du);
    EXPECT_EQ(register_memory(memory, 4096, 0, static_cast<DAT_MEM_TYPE>(3)), 0x80060026u);
}

TEST_F(Codes, ARegistrationSaysWhatItIsAndKeepsItsZone) {
    ASSERT_EQ(register_memory(memory + 5, 77, 0x71), DAT_SUCCESS);
    DAT_LMR_PARAM parameters;
    ASSERT_EQ(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.ia_handle, side.ia);
    EXPECT_EQ(parameters.pz_handle, side.pz);
    EXPECT_EQ(parameters.length, 77u);
    EXPECT_EQ(parameters.registered_size, 77u);
    EXPECT_EQ(parameters.registered_address, reinterpret_cast<DAT_VADDR>(memory + 5));
    EXPECT_EQ(static_cast<unsigned>(parameters.mem_priv), 0x71u);
    EXPECT_EQ(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(dat_pz_free(side.pz), 0x80070053u);
    EXPECT_EQ(dat_lmr_free(lmr), DAT_SUCCESS);
    EXPECT_EQ(dat_lmr_free(lmr), 0x8005000Du);
    EXPECT_EQ(dat_pz_free(side.pz), DAT_SUCCESS);
}

TEST_F(Codes, AZoneStaysAsLongAsAnythingIsMadeInItAndServesItsOwnAdapterInstanceOnly) {
    DAT_PZ_HANDLE pz;
    EXPECT_EQ(dat_pz_create(side.ia, nullptr), 0x80060026u);
    ASSERT_EQ(dat_pz_create(side.ia, &pz), DAT_SUCCESS);
    DAT_PZ_PARAM parameters{};
    EXPECT_EQ(dat_pz_query(pz, DAT_PZ_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.ia_handle, side.ia);

    const auto create_ep = [&](DAT_IA_HANDLE ia) {
        return dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, nullptr,
                             &ep);
    };
    ASSERT_EQ(create_ep(side.ia), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(pz), 0x80070053u) << "an endpoint";
    DAT_EP_PARAM other_zone;
    other_zone.pz_handle = side.pz;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &other_zone), DAT_SUCCESS);
    DAT_SRQ_ATTR attributes{};
    attributes.max_recv_dtos = 8;
    attributes.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq;
    ASSERT_EQ(dat_srq_create(side.ia, pz, &attributes, &srq), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(pz), 0x80070053u) << "a shared receive queue";
    EXPECT_EQ(dat_srq_free(srq), DAT_SUCCESS);
    if (side.has_rmrs()) {
        DAT_RMR_HANDLE rmr;
        ASSERT_EQ(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
        EXPECT_EQ(dat_pz_free(pz), 0x80070053u) << "a remote memory region";
        EXPECT_EQ(dat_rmr_free(rmr), DAT_SUCCESS);
    }

    const Side other;
    EXPECT_EQ(create_ep(other.ia), 0x8005000Fu);
    EXPECT_EQ(dat_srq_create(other.ia, pz, &attributes, &srq), 0x8005000Fu);
    EXPECT_EQ(dat_pz_free(pz), DAT_SUCCESS);
    EXPECT_EQ(dat_pz_free(pz), 0x8005000Fu);
    EXPECT_EQ(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &parameters), 0x8005000Fu);
    EXPECT_EQ(create_ep(side.ia), 0x8005000Fu);
}

TEST_F(Codes, AnEndpointsDefaultsAreAcceptedAgain) {
    const DAT_EP_ATTR standard = defaults();
    EXPECT_EQ(standard.max_recv_dtos, 16);
    EXPECT_EQ(standard.max_request_dtos, 16);
    EXPECT_EQ(standard.max_recv_iov, 4);
    EXPECT_EQ(standard.max_rdma_read_in, 4);
    EXPECT_EQ(static_cast<int>(standard.recv_completion_flags), 0x10);
    EXPECT_EQ(create(standard), DAT_SUCCESS);
}

TEST_F(Codes, AnEndpointsAttributesAreCheckedAgainstItsEvdsAndItsAdapter) {
    const DAT_EP_ATTR standard = defaults();
    const auto with = [&](auto member, auto value) {
        DAT_EP_ATTR changed = standard;
        changed.*member = value;
        return create(changed);
    };
    EXPECT_EQ(with(&DAT_EP_ATTR::max_recv_dtos, 0), 0x8006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_request_dtos, 0), 0x8006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_recv_iov, 0), 0x8006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG), 0x8006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_recv_dtos, 1 << 30), 0x0006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_request_iov, 1 << 20), 0x0006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_rdma_read_out, 1 << 20), 0x0006002Au);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_recv_dtos, -1), 0x00060000u);
    for (const DAT_SEG_LENGTH size : {0u, 1u})
        EXPECT_EQ(with(&DAT_EP_ATTR::max_rdma_size, size), DAT_SUCCESS);
    EXPECT_EQ(with(&DAT_EP_ATTR::max_rdma_write_iov, 1 << 20), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_create(side.ia, side.sends, side.receives, side.sends, side.connections,
                            nullptr, &ep),
              0x8005000Fu);
    EXPECT_EQ(dat_ep_create(side.ia, side.pz, side.connections, side.sends, side.connections,
                            nullptr, &ep),
              0x80050016u);
    EXPECT_EQ(dat_ep_create(side.ia, side.pz, side.receives, side.connections, side.connections,
                            nullptr, &ep),
              0x80050015u);
    EXPECT_EQ(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.sends, nullptr, &ep),
              0x80050017u);
    EXPECT_EQ(dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections, nullptr,
                            nullptr),
              0x8006002Bu);
}

TEST_F(Codes, AnEndpointIsModifiedInAnyWayBeforeItIsConnectedAndWorksThen) {
    side.listen(1);
    DAT_EP_PARAM parameters;
    ep = side.endpoint();
    ASSERT_EQ(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &parameters), 0x80060026u);
    parameters.ep_attr.max_recv_dtos = 1 << 30;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &parameters), 0x80060027u);
    parameters.ep_attr.max_recv_dtos = 2;
    parameters.recv_evd_handle = side.sends;
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_RECV_EVD_HANDLE,
                            &parameters),
              DAT_SUCCESS);
    EXPECT_EQ(dat_evd_free(side.receives), DAT_SUCCESS) << "no longer used";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(dat_ep_post_recv(ep, 0, nullptr, {}, DAT_COMPLETION_DEFAULT_FLAG),
                  i < 2 ? 0u : 0x80030002u);
    succeed(Side::connect(ep, 1), "dat_ep_connect");
    side.request();
    EXPECT_EQ(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &parameters), 0x80070030u);
}

TEST_F(Codes, EveryKindOfHandleSaysWhatItIsAndKeepsAWordOfTheConsumers) {
    if (!side.has_rmrs()) GTEST_SKIP() << "the device has no memory windows";
    Buffer buffer(side);
    DAT_CNO_HANDLE cno;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    const DAT_PSP_HANDLE psp = side.listen(1);
    DAT_RSP_HANDLE rsp;
    succeed(dat_rsp_create(side.ia, 2, side.endpoint(), side.requests, &rsp), "dat_rsp_create");
    DAT_IA_ATTR attributes;
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr),
            "dat_ia_query");
    DAT_COMM comm{};
    comm.domain = AF_INET;
    comm.type = SOCK_STREAM;
    comm.protocol = IPPROTO_TCP;
    DAT_CSP_HANDLE csp;
    sockaddr_in address;
    std::memcpy(&address, attributes.ia_address_ptr, sizeof address);
    address.sin_port = htons(4713);
    succeed(dat_csp_create(side.ia, &comm, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&address),
                           side.requests, &csp),
            "dat_csp_create");
    DAT_SRQ_ATTR srq_attributes{};
    srq_attributes.max_recv_dtos = 8;
    srq_attributes.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq;
    succeed(dat_srq_create(side.ia, side.pz, &srq_attributes, &srq), "dat_srq_create");
    DAT_RMR_HANDLE rmr;
    succeed(dat_rmr_create(side.pz, &rmr), "dat_rmr_create");
    ep = side.endpoint();
    succeed(Side::connect(ep, 1), "dat_ep_connect");
    const std::pair<DAT_HANDLE, DAT_HANDLE_TYPE> handles[] = {
        {side.ia, DAT_HANDLE_TYPE_IA},
        {side.pz, DAT_HANDLE_TYPE_PZ},
        {side.sends, DAT_HANDLE_TYPE_EVD},
        {cno, DAT_HANDLE_TYPE_CNO},
        {ep, DAT_HANDLE_TYPE_EP},
        {psp, DAT_HANDLE_TYPE_PSP},
        {rsp, DAT_HANDLE_TYPE_RSP},
        {csp, DAT_HANDLE_TYPE_CSP},
        {side.request(), DAT_HANDLE_TYPE_CR},
        {buffer.lmr, DAT_HANDLE_TYPE_LMR},
        {srq, DAT_HANDLE_TYPE_SRQ},
        {rmr, DAT_HANDLE_TYPE_RMR},
    };
    DAT_UINT64 value = 1;
    for (const auto& [handle, wanted] : handles) {
        DAT_HANDLE_TYPE type{};
        EXPECT_EQ(dat_get_handle_type(handle, &type), DAT_SUCCESS);
        EXPECT_EQ(type, wanted);
        EXPECT_EQ(dat_get_handle_type(handle, nullptr), 0x80060026u);
        DAT_CONTEXT context;
        context.as_64 = 1;
        EXPECT_EQ(dat_get_consumer_context(handle, &context), DAT_SUCCESS);
        EXPECT_EQ(context.as_64, 0u) << "before the first set";
        EXPECT_EQ(dat_get_consumer_context(handle, nullptr), 0x80060026u);
        context.as_64 = ++value;
        EXPECT_EQ(dat_set_consumer_context(handle, context), DAT_SUCCESS);
    }
    value = 1;
    for (const auto& [handle, wanted] : handles) {
        DAT_CONTEXT context{};
        EXPECT_EQ(dat_get_consumer_context(handle, &context), DAT_SUCCESS);
        EXPECT_EQ(context.as_64, ++value) << "each keeps its own, of kind " << wanted;
    }
    EXPECT_STREQ(DAT_HANDLE_TO_PROVIDER(ep)->device_name, test::ia_name())
        << "the first word of an object";
}

TEST_F(Codes, AnAdapterInstanceTellsTheTruthAboutItself) {
    DAT_IA_ATTR ia{};
    DAT_PROVIDER_ATTR provider{};
    DAT_EVD_HANDLE async;
    ASSERT_EQ(
        dat_ia_query(side.ia, &async, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider),
        DAT_SUCCESS);
    EXPECT_EQ(async, side.async);
    EXPECT_STREQ(provider.provider_name, test::ia_name());
    EXPECT_EQ(ia.ia_address_ptr->sa_family, AF_INET);
    const bool extensions = side.has_extensions();
    EXPECT_EQ(static_cast<int>(ia.extension_supported), side.is_iwarp() ? 2 : 1);
    EXPECT_EQ(ia.extension_version, 209);
    EXPECT_EQ(provider.is_thread_safe, DAT_FALSE) << "as it was registered";
    EXPECT_EQ(static_cast<int>(provider.lmr_mem_types_supported), 3) << "each of 0, 1 and 2";
    EXPECT_EQ(ia.zb_supported, side.is_iwarp() ? DAT_FALSE : DAT_TRUE);
    EXPECT_EQ(provider.max_private_data_size, 56);
    EXPECT_EQ(provider.evd_stream_merging_supported[2][3], DAT_FALSE);
    EXPECT_EQ(provider.evd_stream_merging_supported[1][3], DAT_TRUE);
    std::map<std::string, std::string> named;
    for (DAT_COUNT i = 0; i < provider.num_provider_specific_attr; ++i)
        named[provider.provider_specific_attr[i].name] = provider.provider_specific_attr[i].value;
    EXPECT_EQ(named["DAT_IB_PROVIDER_NAME"], "CMA");
    EXPECT_EQ(named["DAT_IB_DEVICE_NAME"], ia.adapter_name);
    EXPECT_EQ(named["DAT_IB_PORT_STATUS"], "ACTIVE");
    EXPECT_EQ(named["DAT_IB_PORT_NUMBER"], "1");
    EXPECT_EQ(named["DAT_IB_IMMED_DATA"], extensions ? "TRUE" : "FALSE");
    EXPECT_EQ(named["DAT_IB_FETCH_AND_ADD"], extensions ? "TRUE" : "FALSE");
    const std::string offered = extensions ? "TRUE" : "FALSE";
    for (const char* name : {"DAT_IB_CMP_AND_SWAP", "DAT_EXT_RECV_IMMED_EVENT",
                             "DAT_EXT_FETCH_AND_ADD", "DAT_EXT_CMP_AND_SWAP"})
        EXPECT_EQ(named[name], offered) << name;
    for (const char* name :
         {"DAT_EXTENSION_INTERFACE", "DAT_EXT_RDMA_WRITE_IMMED", "DAT_EXT_RECV_IMMED"})
        EXPECT_EQ(named[name], "TRUE") << name;
    EXPECT_EQ(named["DAT_EXT_RECV_IMMED_PAYLOAD"], extensions ? "FALSE" : "TRUE");
    EXPECT_EQ(named["OPENDAT_THREAD_SAFE"], "TRUE");
    EXPECT_EQ(named["DAT_IB_NODE_GUID"].size(), 19u);
    EXPECT_EQ(named["DAT_IB_GID"].size(), 39u);
    EXPECT_EQ(dat_ia_query(side.ia, nullptr, ~0ULL, &ia, 0, nullptr), 0x80060027u);
    EXPECT_EQ(dat_ia_query(side.ia, nullptr, 1, nullptr, 0, nullptr), 0x80060028u);
    EXPECT_EQ(dat_ia_query(side.ia, nullptr, 0, nullptr, 1, nullptr), 0x8006002Au);
}

}  // namespace
