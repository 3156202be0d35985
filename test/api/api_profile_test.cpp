// SPDX-License-Identifier: BSD-2-Clause
// OPENDAT_API_PROFILE=aix: calls that uDAPL on AIX lacks fail with the codes that its guide
// documents.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "test/api/side.hpp"

#include <dat2/dat_registry.h>

namespace {

using namespace test;

constexpr DAT_RETURN kNotImplemented = DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED;
constexpr DAT_RETURN kModelNotSupported = DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;

class ApiProfile : public testing::Test {
  protected:
    explicit ApiProfile(const char* profile = "aix") {
        setenv("OPENDAT_API_PROFILE", profile, 1);
        side = std::make_unique<Side>();
    }
    ~ApiProfile() override {
        side.reset();
        unsetenv("OPENDAT_API_PROFILE");
    }
    DAT_PROVIDER_ATTR provider_attributes() const {
        DAT_PROVIDER_ATTR result{};
        succeed(dat_ia_query(side->ia, nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &result),
                "dat_ia_query");
        return result;
    }
    TemporaryFabric fabric;
    std::unique_ptr<Side> side;
};

TEST_F(ApiProfile, OfAixTheAttributesSayWhatIsNotThere) {
    const DAT_IA_ATTR adapter = side->attributes();
    EXPECT_EQ(adapter.max_srqs, 0);
    EXPECT_EQ(adapter.max_ep_per_srq, 0);
    EXPECT_EQ(adapter.max_recv_per_srq, 0);
    EXPECT_GT(adapter.max_eps, 0) << "all else is there";
    const DAT_PROVIDER_ATTR provider = provider_attributes();
    EXPECT_FALSE(provider.srq_supported);
    EXPECT_EQ(provider.srq_watermarks_supported, 0);
    EXPECT_FALSE(provider.srq_ep_pz_difference_supported);
    EXPECT_EQ(provider.srq_info_supported, 0);
    EXPECT_EQ(provider.ep_recv_info_supported, 0);
    EXPECT_FALSE(provider.lmr_sync_req);
}

TEST_F(ApiProfile, OfAixHasNoSharedReceiveQueues) {
    DAT_SRQ_ATTR attributes{};
    attributes.max_recv_dtos = 4;
    attributes.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_srq_create(side->ia, side->pz, &attributes, &srq), kModelNotSupported);
    EXPECT_EQ(srq, DAT_HANDLE_NULL);
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_ep_create_with_srq(side->ia, side->pz, side->receives, side->sends,
                                     side->connections, srq, nullptr, &ep),
              kModelNotSupported);
    EXPECT_EQ(ep, DAT_HANDLE_NULL);
    // No SRQ handle can exist, but a handle of another kind also leads into the provider.
    const DAT_SRQ_HANDLE other = side->pz;
    DAT_SRQ_PARAM parameters{};
    EXPECT_EQ(dat_srq_query(other, DAT_SRQ_FIELD_ALL, &parameters), kModelNotSupported);
    EXPECT_EQ(dat_srq_post_recv(other, 0, nullptr, {}), kModelNotSupported);
    EXPECT_EQ(dat_srq_resize(other, 8), kModelNotSupported);
    EXPECT_EQ(dat_srq_set_lw(other, 1), kModelNotSupported);
    EXPECT_EQ(dat_srq_free(other), kModelNotSupported);
}

TEST_F(ApiProfile, OfAixTellsNothingAboutReceives) {
    const DAT_EP_HANDLE ep = side->endpoint();
    DAT_COUNT allocated = -1;
    DAT_COUNT span = -1;
    EXPECT_EQ(dat_ep_recv_query(ep, &allocated, &span), kModelNotSupported);
    EXPECT_EQ(allocated, -1);
    EXPECT_EQ(dat_ep_set_watermark(ep, 1, 2), kModelNotSupported);
}

TEST_F(ApiProfile, OfAixHandsNoRequestOnAndSynchronisesNoMemory) {
    DAT_LMR_TRIPLET segment{};
    EXPECT_EQ(dat_lmr_sync_rdma_read(side->ia, &segment, 1), kNotImplemented);
    EXPECT_EQ(dat_lmr_sync_rdma_write(side->ia, &segment, 1), kNotImplemented);
    const DAT_PSP_HANDLE psp = side->listen(5000);
    const DAT_EP_HANDLE ep = side->endpoint();
    succeed(Side::connect(ep, 5000), "dat_ep_connect");
    const DAT_CR_HANDLE request = side->request();
    EXPECT_EQ(dat_cr_handoff(request, 5001), kNotImplemented);
    EXPECT_EQ(dat_cr_reject(request, 0, nullptr), DAT_SUCCESS) << "the request is still there";
    side->connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, ep);
    EXPECT_EQ(dat_psp_free(psp), DAT_SUCCESS);
}

TEST_F(ApiProfile, OfAixLetsProvidersRegisterThemselvesAndProgramsNone) {
    DAT_PROVIDER table{};
    DAT_PROVIDER_INFO info{};
    std::snprintf(info.ia_name, sizeof info.ia_name, "mine");
    info.dapl_version_major = 2;
    EXPECT_EQ(dat_registry_add_provider(&table, &info), kNotImplemented);
    EXPECT_EQ(dat_registry_remove_provider(&table, &info), kNotImplemented);
    // Closing the last instance unloads the provider; opening loads it again, and it registers
    // itself.
    side.reset();
    side = std::make_unique<Side>();
    unsetenv("OPENDAT_API_PROFILE");
    EXPECT_EQ(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
    EXPECT_EQ(dat_registry_remove_provider(&table, &info), DAT_SUCCESS);
}

/// The profile does not affect connections and transfers.
TEST_F(ApiProfile, OfAixTransfersAsEver) {
    const DAT_PSP_HANDLE psp = side->listen(5000);
    Side peer;
    const DAT_EP_HANDLE from = peer.endpoint();
    succeed(Side::connect(from, 5000), "dat_ep_connect");
    const DAT_EP_HANDLE to = side->accept_next();
    peer.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, from);
    Buffer source(peer, 16);
    Buffer sink(*side, 16);
    source.bytes.replace(0, 5, "hello");
    DAT_LMR_TRIPLET local = source.all();
    DAT_RMR_TRIPLET remote{};
    remote.virtual_address = reinterpret_cast<DAT_VADDR>(sink.bytes.data());
    remote.segment_length = 16;
    remote.rmr_context = sink.remote_key;
    DAT_DTO_COOKIE cookie{};
    ASSERT_EQ(dat_ep_post_rdma_write(from, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    EXPECT_EQ(Side::wait(peer.sends, DAT_DTO_COMPLETION_EVENT)
                  .event_data.dto_completion_event_data.status,
              DAT_DTO_SUCCESS);
    EXPECT_EQ(dat_ep_free(to), DAT_SUCCESS);
    EXPECT_EQ(dat_psp_free(psp), DAT_SUCCESS);
}

class OtherProfile : public testing::Test {
  protected:
    ~OtherProfile() override { unsetenv("OPENDAT_API_PROFILE"); }
    TemporaryFabric fabric;
};

TEST_F(OtherProfile, WithoutTheSettingOrWithFullEverythingIsThere) {
    for (const char* profile : {"", "full"}) {
        if (*profile)
            setenv("OPENDAT_API_PROFILE", profile, 1);
        else
            unsetenv("OPENDAT_API_PROFILE");
        Side side;
        EXPECT_GT(side.attributes().max_srqs, 0);
        DAT_COUNT allocated = -1;
        DAT_COUNT span = -1;
        EXPECT_EQ(dat_ep_recv_query(side.endpoint(), &allocated, &span), DAT_SUCCESS);
    }
}

TEST_F(OtherProfile, ThatThereIsNotIsReportedAndMeansFull) {
    setenv("OPENDAT_API_PROFILE", "solaris", 1);
    const std::string told = captured_stderr([] {
        Side side;
        EXPECT_GT(side.attributes().max_srqs, 0);
    });
    EXPECT_NE(told.find("DAT902"), std::string::npos) << told;
    EXPECT_NE(told.find("solaris"), std::string::npos) << told;
}

}  // namespace
