// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Regions on demand: their memory need not be there when they are registered, and may change.
#include <sys/mman.h>

#include "test/softverbs/remote_requests.hpp"

namespace test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kOnDemand = kAllAccess | IBV_ACCESS_ON_DEMAND;

class OnDemand : public OnBothPaths {
  protected:
    void SetUp() override {
        if (kThreadSanitizer)
            GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    }
};
INSTANTIATE_ON_BOTH_PATHS(OnDemand);

/// Addresses with no memory, until map() puts some there.
class Place {
  public:
    explicit Place(std::size_t size) : size_(size) { reserve(0); }
    ~Place() { munmap(start_, size_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void map() { place(PROT_READ | PROT_WRITE, MAP_FIXED); }
    void unmap() { place(PROT_NONE, MAP_FIXED); }
    std::uint8_t* data() const { return static_cast<std::uint8_t*>(start_); }
    std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(start_); }
    /// Whether its pages take memory.
    bool is_resident() const {
        unsigned char resident[16] = {};
        return mincore(start_, size_, resident) == 0 && (resident[0] & 1) != 0;
    }

  private:
    void reserve(int flags) { place(PROT_NONE, flags); }
    void place(int protection, int flags) {
        start_ = mmap(start_, size_, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
        require(start_ != MAP_FAILED, "mapped");
    }
    const std::size_t size_;
    void* start_ = nullptr;
};

TEST_P(OnDemand, TheDeviceSaysWhatItCanDo) {
    Host host;
    ibv_device_attr_ex attributes{};
    ASSERT_EQ(ibv_query_device_ex(host.context, nullptr, &attributes), 0);
    const auto& transports = attributes.odp_caps.per_transport_caps;
    EXPECT_EQ(attributes.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
    EXPECT_EQ(transports.rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC, IBV_ODP_SUPPORT_ATOMIC);
    EXPECT_EQ(attributes.xrc_odp_caps, transports.rc_odp_caps);
    EXPECT_EQ(transports.ud_odp_caps & IBV_ODP_SUPPORT_WRITE, 0u);
}

TEST_P(OnDemand, MemoryMayComeAfterItsRegistrationAndGo) {
    Host host;
    Peer peer(host);
    Place place(kPage);
    ibv_mr* const mr = ibv_reg_mr(host.pd, place.data(), kPage, kOnDemand);
    ASSERT_TRUE(mr);
    EXPECT_EQ(ibv_reg_mr(host.pd, place.data(), kPage, int{kAllAccess}), nullptr)
        << "another region needs it now";
    EXPECT_EQ(peer.write(place.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    place.map();
    EXPECT_FALSE(place.is_resident());
    EXPECT_EQ(peer.write(place.address(), mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds_written(place.data()));
    const Answer read = peer.request(IBV_WR_RDMA_READ, place.address(), mr->rkey);
    EXPECT_EQ(read.status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(&read.word, place.data(), 8), 0);
    std::memset(place.data(), 0, 8);
    EXPECT_EQ(peer.request(IBV_WR_ATOMIC_FETCH_AND_ADD, place.address(), mr->rkey).status,
              IBV_WC_SUCCESS);
    EXPECT_EQ(place.data()[0], 1);
    place.unmap();
    EXPECT_EQ(peer.write(place.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

/// One region for all memory that the program has or will have, whatever path another region gives
/// it.
TEST_P(OnDemand, AnImplicitRegionIsTheWholeAddressSpace) {
    Host host;
    Peer peer(host);
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(host.pd, nullptr, SIZE_MAX, int{kAllAccess}), nullptr);
    ibv_mr* const all = ibv_reg_mr(host.pd, nullptr, SIZE_MAX, kOnDemand);
    ASSERT_TRUE(all);
    Place place(kPage);
    place.map();
    for (std::uint8_t* const at : {place.data() + 64, host.buffer.data() + 128}) {
        const std::uint64_t address = reinterpret_cast<std::uintptr_t>(at);
        EXPECT_EQ(peer.write(address, all->rkey), IBV_WC_SUCCESS);
        EXPECT_TRUE(holds_written(at));
        std::memset(at, 0, 8);
        for (const std::uint32_t key : {all->rkey, host.mr->rkey}) {
            if (key == host.mr->rkey && at == place.data() + 64) continue;
            EXPECT_EQ(peer.request(IBV_WR_ATOMIC_FETCH_AND_ADD, address, key).status,
                      IBV_WC_SUCCESS);
        }
        EXPECT_EQ(*at, at == place.data() + 64 ? 1 : 2);
    }
    EXPECT_EQ(peer.write(8, all->rkey), IBV_WC_REM_ACCESS_ERR) << "nothing is mapped there";
    EXPECT_EQ(ibv_dereg_mr(all), 0);
}

TEST_P(OnDemand, ReceivesAndSendsFindTheirPages) {
    Host host;
    Place place(2 * kPage);
    place.map();
    ibv_mr* const mr = ibv_reg_mr(host.pd, place.data(), 2 * kPage, kOnDemand);
    ASSERT_TRUE(mr);
    Qp one(host), other(host);
    one.connect(other.address());
    other.connect(one.address());
    for (const std::uint32_t length : {8u, 100u, 4096u}) {
        ASSERT_EQ(other.post_receive(1, {{place.address() + kPage, length, mr->lkey}}), 0);
        fill(place.data(), length, length);
        ASSERT_EQ(one.send(2, {{place.address(), length, mr->lkey}}), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_TRUE(holds(place.data() + kPage, length, length));
    }
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_P(OnDemand, AdviceBringsPagesIn) {
    Host host;
    Place place(kPage), hole(kPage);
    place.map();
    ibv_mr* const mr = ibv_reg_mr(host.pd, place.data(), kPage, kOnDemand);
    ibv_mr* const nothing = ibv_reg_mr(host.pd, hole.data(), kPage, kOnDemand);
    ibv_mr* const readable = ibv_reg_mr(host.pd, place.data(), kPage, int{IBV_ACCESS_ON_DEMAND});
    ASSERT_TRUE(mr && nothing && readable);
    const auto advise = [&](ibv_advise_mr_advice advice, ibv_sge sge, std::uint32_t flags = 0) {
        return ibv_advise_mr(host.pd, advice, flags, &sge, 1);
    };
    const ibv_sge whole{place.address(), kPage, mr->lkey};
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, whole), 0);
    EXPECT_FALSE(place.is_resident());
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, whole, IBV_ADVISE_MR_FLAG_FLUSH), 0);
    EXPECT_TRUE(place.is_resident());
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, whole), 0);
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {place.address(), kPage + 1, mr->lkey}),
              EFAULT);
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {hole.address(), kPage, nothing->lkey}),
              EFAULT);
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, {place.address(), kPage, readable->lkey}),
              EPERM);
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, host.sge(0, 64)), EINVAL) << "not on demand";
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, whole, 2), EINVAL) << "an unknown flag";
    EXPECT_EQ(advise(static_cast<ibv_advise_mr_advice>(77), whole), EOPNOTSUPP);
    EXPECT_EQ(ibv_advise_mr(host.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EINVAL);
    for (ibv_mr* each : {mr, nothing, readable}) EXPECT_EQ(ibv_dereg_mr(each), 0);
}

}  // namespace
}  // namespace test
