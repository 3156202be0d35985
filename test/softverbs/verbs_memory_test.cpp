// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registrations: their access flags and addresses, and their change by ibv_rereg_mr while a peer
/// uses them.
#include <sys/mman.h>

#include "test/softverbs/remote_requests.hpp"

namespace test {
namespace {

class VerbsMemory : public OnBothPaths {
  protected:
    void SetUp() override {
        if (kThreadSanitizer)
            GTEST_SKIP() << "it cannot follow threads of a child made beside threads";
    }
};
INSTANTIATE_ON_BOTH_PATHS(VerbsMemory);

TEST_P(VerbsMemory, ReregisteredMemoryIsReachedByTheNewKeyAlone) {
    Host host;
    Peer peer(host);
    std::vector<std::uint8_t> other(4096);
    const auto address = reinterpret_cast<std::uintptr_t>(other.data());
    ibv_mr* const mr = ibv_reg_mr(host.pd, host.buffer.data(), 4096, kAllAccess);
    ASSERT_TRUE(mr);
    const std::uint32_t before = mr->rkey;
    EXPECT_EQ(peer.write(host.address(), before), IBV_WC_SUCCESS);
    ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.data(), 4096, 0), 0);
    EXPECT_EQ(mr->addr, other.data());
    EXPECT_EQ(mr->length, 4096u);
    EXPECT_NE(mr->rkey, before);
    EXPECT_EQ(peer.write(host.address(), before), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(peer.write(host.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(peer.write(address + 64, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(&other[64], 8, 9));
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_P(VerbsMemory, ReregistrationChangesAccess) {
    Host host;
    Peer peer(host);
    ibv_mr* const mr = ibv_reg_mr(host.pd, host.buffer.data(), 4096, kLocalWrite);
    ASSERT_TRUE(mr);
    const std::uint32_t key = mr->rkey;
    EXPECT_EQ(peer.write(host.address(), key), IBV_WC_REM_ACCESS_ERR);
    ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess), 0);
    EXPECT_EQ(mr->addr, host.buffer.data());
    EXPECT_EQ(mr->rkey, key) << "the memory is the same";
    EXPECT_EQ(peer.write(host.address(), mr->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_P(VerbsMemory, ReregistrationChangesTheProtectionDomain) {
    Host host;
    Peer peer(host);
    ibv_pd* const domain = ibv_alloc_pd(host.context);
    ibv_mr* const mr = ibv_reg_mr(host.pd, host.buffer.data(), 4096, kAllAccess);
    ASSERT_TRUE(domain && mr);
    EXPECT_EQ(peer.write(host.address(), mr->rkey, domain), IBV_WC_REM_ACCESS_ERR);
    ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, domain, nullptr, 0, 0), 0);
    EXPECT_EQ(mr->pd, domain);
    EXPECT_EQ(peer.write(host.address(), mr->rkey, domain), IBV_WC_SUCCESS);
    EXPECT_EQ(peer.write(host.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY) << "the region is in it now";
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

TEST_P(VerbsMemory, ARefusedReregistrationLeavesTheRegionAsItWas) {
    Host host(Options{.access = kAllAccess | IBV_ACCESS_MW_BIND});
    Peer peer(host);
    ibv_mr* const mr = host.mr;
    const std::uint32_t key = mr->rkey;
    void* const hole = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    const auto refusal = [&](int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
        errno = 0;
        EXPECT_EQ(ibv_rereg_mr(mr, flags, pd, address, length, access), IBV_REREG_MR_ERR_INPUT);
        return errno;
    };
    EXPECT_EQ(refusal(0, nullptr, nullptr, 0, 0), EINVAL);
    EXPECT_EQ(refusal(IBV_REREG_MR_FLAGS_SUPPORTED + 1, nullptr, nullptr, 0, 0), EINVAL);
    EXPECT_EQ(refusal(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), EINVAL);
    const int move = IBV_REREG_MR_CHANGE_TRANSLATION;
    EXPECT_EQ(refusal(move, nullptr, host.buffer.data(), 0, 0), EINVAL);
    EXPECT_NE(refusal(move, nullptr, hole, 4096, 0), 0);
    EXPECT_EQ(refusal(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
              EINVAL);
    EXPECT_EQ(refusal(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 1 << 19), EOPNOTSUPP);
    EXPECT_EQ(mr->rkey, key);
    EXPECT_EQ(peer.write(host.address(), key), IBV_WC_SUCCESS);

    Qp qp(host);
    qp.connect(qp.address());
    ibv_mw* const window = ibv_alloc_mw(host.pd, IBV_MW_TYPE_1);
    ASSERT_TRUE(window);
    ibv_mw_bind bind{};
    bind.wr_id = 1;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {mr, host.address(), 64, IBV_ACCESS_REMOTE_WRITE};
    ASSERT_EQ(ibv_bind_mw(qp.get(), window, &bind), 0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(refusal(move, nullptr, host.buffer.data(), 64, 0), EBUSY) << "a window stands on it";
    EXPECT_EQ(peer.write(host.address(), window->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    munmap(hole, 4096);
}

TEST_P(VerbsMemory, ARegionOfNoBytesServesRequestsOfNoBytes) {
    Host host;
    Peer peer(host);
    for (void* address :
         {static_cast<void*>(host.buffer.data() + 4100), static_cast<void*>(nullptr)}) {
        ibv_mr* const empty = ibv_reg_mr(host.pd, address, 0, kAllAccess | IBV_ACCESS_MW_BIND);
        ASSERT_NE(empty, nullptr) << strerror(errno);
        EXPECT_EQ(empty->length, 0u);
        EXPECT_EQ(empty->addr, address);
        EXPECT_NE(empty->rkey, host.mr->rkey);
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        EXPECT_EQ(peer.write(at, empty->rkey), IBV_WC_REM_ACCESS_ERR);
        Qp qp(host);
        qp.connect(qp.address());
        const ibv_sge nothing{at, 0, empty->lkey};
        ASSERT_EQ(qp.post_receive(1, {nothing}), 0);
        ASSERT_EQ(qp.send(2, {nothing}), 0);
        for (const ibv_wc& wc : {host.wait(), host.wait()}) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(qp.rdma(3, IBV_WR_RDMA_READ, {nothing}, at, empty->rkey), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        ASSERT_EQ(qp.send(4, {{at, 1, empty->lkey}}), 0);
        EXPECT_EQ(host.wait().status, IBV_WC_LOC_PROT_ERR);
        EXPECT_EQ(ibv_dereg_mr(empty), 0);
    }
}

TEST_P(VerbsMemory, AddressesBeginWhereTheProgramWants) {
    Host host;
    Peer peer(host);
    std::uint8_t* const memory = host.buffer.data();
    constexpr std::uint64_t kBase = std::uint64_t{7} << 40;
    ibv_mr* const mapped = ibv_reg_mr_iova2(host.pd, memory, 4096, kBase, kAllAccess);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(peer.write(kBase + 100, mapped->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(memory + 100, 8, 9));
    EXPECT_EQ(peer.write(host.address(), mapped->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dereg_mr(mapped), 0);
    ibv_mr* const zero = ibv_reg_mr(host.pd, memory, 4096, kAllAccess | IBV_ACCESS_ZERO_BASED);
    ASSERT_TRUE(zero);
    EXPECT_EQ(peer.write(200, zero->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(memory + 200, 8, 9));
    ASSERT_EQ(ibv_rereg_mr(zero, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory + 4096, 64, 0),
              0);
    EXPECT_EQ(peer.write(0, zero->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(memory + 4096, 8, 9)) << "it stays zero-based";
    EXPECT_EQ(ibv_dereg_mr(zero), 0);
}

TEST_P(VerbsMemory, AccessFlagsAreServedOrRefused) {
    Host host;
    Peer peer(host);
    std::uint8_t* const memory = host.buffer.data();
    // Flags that only allow an adapter to be faster are accepted and change nothing here.
    for (const int flag : {int(IBV_ACCESS_RELAXED_ORDERING), int(IBV_ACCESS_HUGETLB), 1 << 29}) {
        ibv_mr* const mr = ibv_reg_mr(host.pd, memory, 4096, kAllAccess | flag);
        ASSERT_TRUE(mr) << flag;
        EXPECT_EQ(peer.write(host.address(), mr->rkey), IBV_WC_SUCCESS);
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
    }
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(host.pd, memory, 4096, kAllAccess | 1 << 19), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(host.pd, memory, 4096, int{IBV_ACCESS_REMOTE_ATOMIC}), nullptr);
    EXPECT_EQ(errno, EINVAL) << "what peers change must be ours to write";
}

}  // namespace
}  // namespace test
