// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory regions in the shared heap, which are on path S from the start.
#include <malloc.h>

#include <atomic>
#include <memory>

#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "test/softverbs/shared_heap.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class SharedHeapRegions : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

softverbs::PageReason reason_of(const void* memory, std::size_t length) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return softverbs::SharedPages::of_process().hold(address, length).reason;
}

TEST_F(SharedHeapRegions, RegionsInAllKindsOfItsMemoryAreShared) {
    Host host;
    void* posix = nullptr;
    ASSERT_EQ(posix_memalign(&posix, 4096, 10000), 0);
    const std::unique_ptr<char[]> made(new char[10000]);
    void* const memory[] = {malloc(8),  malloc(8 << 20),        calloc(10, 1000),
                            posix,      aligned_alloc(64, 128), realloc(nullptr, 10000),
                            made.get(), map_memory(1 << 20),    sbrk(10000)};
    for (const void* each : memory)
        EXPECT_EQ(reason_of(each, 8), softverbs::PageReason::kHeap) << each;
    EXPECT_NE(reason_of(&host, sizeof host), softverbs::PageReason::kHeap) << "a stack";
    void* const provided = softverbs_memory_alloc(1 << 20);
    EXPECT_EQ(reason_of(provided, 1 << 20), softverbs::PageReason::kProvided);
    softverbs_memory_free(provided);
}

/// Path P would need the right to access the process, or a process that is running.
TEST_F(SharedHeapRegions, AStoppedPeersMemoryIsWrittenReadAndAddedTo) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.send(getpid());
        channel.meet();
        require(host.buffer[100] == 7 && host.buffer[8] == 1, "all is there");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    const auto pid = child.channel().receive<pid_t>();
    kill(pid, SIGSTOP);
    host.buffer[0] = 7;
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 1)}, peer.address + 100, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    qp.atomic(2, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(64, 8), peer.address + 8, peer.rkey, 1);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    qp.rdma(3, IBV_WR_RDMA_READ, {host.sge(200, 1)}, peer.address + 100, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(host.buffer[200], 7);
    kill(pid, SIGCONT);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedHeapRegions, AtomicsGoTogetherWithThoseOfTheOwnersProcessor) {
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

TEST_F(SharedHeapRegions, WritesArriveInRegionsWhileThreadsAllocateAndFreeAroundThem) {
    constexpr std::uint32_t kLength = 5000;
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        std::atomic<bool> done = false;
        std::vector<Thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([&done] {
                while (!done)
                    for (std::size_t size = 16; size < 400000; size *= 3)
                        std::vector<char>(size, 'x');
            });
        for (std::uint8_t turn = 1; turn <= 50; ++turn) {
            auto* const memory = static_cast<std::uint8_t*>(calloc(kLength, 1));
            ibv_mr* const region = ibv_reg_mr(host.pd, memory, kLength, kAllAccess);
            require(region != nullptr, "registered");
            channel.send(Address{0, 0, region->rkey, reinterpret_cast<std::uintptr_t>(memory)});
            channel.meet();
            require(std::count(memory, memory + kLength, turn) == kLength, "all arrived");
            ibv_dereg_mr(region);
            free(memory);
        }
        done = true;
        for (Thread& thread : threads) thread.join();
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    for (int turn = 1; turn <= 50; ++turn) {
        const auto target = child.channel().receive<Address>();
        std::memset(host.buffer.data(), turn, kLength);
        qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, kLength)}, target.address, target.rkey);
        ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
        child.channel().meet();
    }
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedHeapRegions, WhatAPeerWritesAfterMunmapLeavesTheFileWithTheRegion) {
    constexpr std::size_t kLength = 1 << 20;
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        std::uint8_t* const memory = map_memory(kLength);
        ibv_mr* const region = ibv_reg_mr(host.pd, memory, kLength, kAllAccess);
        channel.send(Address{0, 0, region->rkey, reinterpret_cast<std::uintptr_t>(memory)});
        munmap(memory, kLength);
        channel.meet();
        channel.meet();
        ibv_dereg_mr(region);
        require(bytes_in_file(memory, kLength) == 0, "no page is left");
    });
    Host host;
    Qp qp(host);
    qp.connect(child.channel());
    const auto target = child.channel().receive<Address>();
    child.channel().meet();
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 100000)}, target.address, target.rkey);
    host.wait();
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(SharedHeapRegions, AForkedChildOfAnOwnerSeesNoLaterWrites) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        host.buffer[0] = 1;
        Channel between;
        const pid_t copy = fork();
        if (copy == 0) {
            between.be_child();
            between.meet();
            _exit(host.buffer[0] == 1 ? 0 : 1);
        }
        between.be_parent();
        channel.meet();
        channel.meet();
        const bool arrived = host.buffer[0] == 9;
        between.meet();
        int status = -1;
        waitpid(copy, &status, 0);
        require(arrived && status == 0, "the owner alone has it");
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    host.buffer[0] = 9;
    child.channel().meet();
    qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 1)}, peer.address, peer.rkey);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
