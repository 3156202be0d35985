// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S: memory that the library provides, whose pages peers map.
#include <sys/mman.h>

#include "test/softverbs/verbs_pages.hpp"

namespace test {
namespace {

class VerbsPages : public testing::Test {
  protected:
    VerbsPages() { provided_memory = true; }
    ~VerbsPages() override { provided_memory = false; }
    TemporaryFabric fabric_;
};

TEST_F(VerbsPages, AWriteToMemoryThatTheLibraryProvidesNeedsNoRightToTouchTheProcess) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(holds(host.buffer.data() + 5, 100001, 3), "all is there");
        channel.meet();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    fill(host.buffer.data(), 100001, 3);
    const int before = mappings_of("softverbs-pages");
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 100001)}, peer.address + 5, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(mappings_of("softverbs-pages"), before + 2)
        << "the peer's pages are mapped here, and ours once more";
    child.channel().meet();
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(VerbsPages, TheMappingOfAPeersPagesGoesWithTheLastQueuePair) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
    });
    Host host;
    const int before = mappings_of("softverbs-pages");
    {
        Qp qp(host);
        const Address peer = qp.connect(child.channel());
        qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey);
        EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
        EXPECT_EQ(mappings_of("softverbs-pages"), before + 2);
        child.channel().meet();
        EXPECT_EQ(child.wait(), 0);
    }
    EXPECT_EQ(mappings_of("softverbs-pages"), before + 1) << "our own stay";
}

TEST_F(VerbsPages, ProvidedMemoryIsZeroedBeginsOnAPageAndGoesWhenItIsFreed) {
    auto* memory = static_cast<std::uint8_t*>(softverbs_memory_alloc(10000));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    EXPECT_EQ(std::count(memory, memory + 10000, 0), 10000);
    std::memset(memory, 1, 10000);
    EXPECT_EQ(mappings_of("softverbs-pages"), 1);
    softverbs_memory_free(memory);
    EXPECT_EQ(mappings_of("softverbs-pages"), 0);
    errno = 0;
    EXPECT_EQ(softverbs_memory_alloc(0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(softverbs_memory_alloc(~std::size_t{0}), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    softverbs_memory_free(nullptr);
    softverbs_memory_free(&errno);
}

TEST_F(VerbsPages, MemoryThatIsFreedWhileItIsRegisteredGoesWithItsLastRegion) {
    Options small;
    small.buffer = 4096;
    Host host(small);
    const int before = mappings_of("softverbs-pages");
    auto* memory = static_cast<std::uint8_t*>(softverbs_memory_alloc(8192));
    ibv_mr* first = ibv_reg_mr(host.pd, memory, 8192, kAllAccess);
    ibv_mr* second = ibv_reg_mr(host.pd, memory + 100, 5000, kAllAccess);
    ASSERT_TRUE(first && second);
    softverbs_memory_free(memory);
    memory[0] = 1;
    ibv_dereg_mr(first);
    memory[8191] = 1;
    EXPECT_GE(mappings_of("softverbs-pages"), before);
    ibv_dereg_mr(second);
    EXPECT_EQ(mappings_of("softverbs-pages"), before);
}

TEST_F(VerbsPages, HolesThatTheOwnerPunchesHurtNobody) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
        require(madvise(host.buffer.data(), host.buffer.size(), MADV_REMOVE) == 0, "punched");
        channel.meet();
        channel.meet();
        require(holds(host.buffer.data(), 100000, 5), "what was written then is there");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    fill(host.buffer.data(), 100000, 5);
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    child.channel().meet();
    qp.rdma(2, IBV_WR_RDMA_READ, {host.sge(1 << 20, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.buffer[(1 << 20) + 50], 0);
    qp.rdma(3, IBV_WR_RDMA_WRITE, {host.sge(0, 100000)}, peer.address, peer.rkey);
    ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// Two processes add at once: the requester by verbs, the owner by its processor's instructions.
TEST_F(VerbsPages, AtomicsAreTheProcessorsOwnAndGoTogetherWithThoseOfTheOwner) {
    constexpr int kAdds = 20000;
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        auto* word = reinterpret_cast<std::uint64_t*>(host.buffer.data());
        for (int i = 0; i < kAdds; ++i) __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        channel.meet();
        require(__atomic_load_n(word, __ATOMIC_SEQ_CST) == 2 * kAdds, "nothing is lost");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    for (int i = 0; i < kAdds; ++i) {
        qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), peer.address, peer.rkey, 1);
        ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
