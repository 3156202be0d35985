// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S: ordinary memory whose pages are exchanged for shared ones. That it stays the
/// application's own, and what happens at its limits.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "test/api/verbs_pages.hpp"

namespace test {
namespace {

/// Ordinary memory whose pages are exchanged when it is registered.
class ExchangedPages : public testing::Test {
  protected:
    ExchangedPages() { setenv("SOFTVERBS_SHARED_PAGES", "always", 1); }
    ~ExchangedPages() override { unsetenv("SOFTVERBS_SHARED_PAGES"); }
    TemporaryFabric fabric_;
};

TEST_F(ExchangedPages, KeepWhatTheyHoldAndAreThePrivateOnesAgainAtDeregistration) {
    Host host(no_buffer());
    Anonymous memory(64 << 10);
    fill(memory.data(), memory.size(), 7);
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    ASSERT_NE(mr, nullptr);
    EXPECT_TRUE(is_shared(memory.data()));
    EXPECT_TRUE(is_shared(memory.data() + memory.size() - 1));
    EXPECT_TRUE(holds(memory.data(), memory.size(), 7));
    fill(memory.data(), memory.size(), 8);
    ibv_dereg_mr(mr);
    EXPECT_FALSE(is_shared(memory.data()));
    EXPECT_FALSE(is_shared(memory.data() + memory.size() - 1));
    EXPECT_TRUE(holds(memory.data(), memory.size(), 8));
}

TEST_F(ExchangedPages, AreOnlyThoseThatLieWhollyInTheRegion) {
    Host host(no_buffer());
    Anonymous memory(5 * 4096);
    fill(memory.data(), memory.size(), 7);
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data() + 100, 3 * 4096, kAllAccess);
    EXPECT_FALSE(is_shared(memory.data()));
    EXPECT_TRUE(is_shared(memory.data() + 4096));
    EXPECT_TRUE(is_shared(memory.data() + 2 * 4096));
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    ibv_dereg_mr(mr);
    EXPECT_TRUE(holds(memory.data(), memory.size(), 7));
}

TEST_F(ExchangedPages, AreNotMadeOfFilesDevicesOrSharedMemory) {
    Host host(no_buffer());
    FILE* file = tmpfile();
    ASSERT_EQ(ftruncate(fileno(file), 8192), 0);
    for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
        auto* memory = static_cast<std::uint8_t*>(
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE, flags, fileno(file), 0));
        ibv_mr* mr = ibv_reg_mr(host.pd, memory, 8192, kAllAccess);
        ASSERT_NE(mr, nullptr);
        EXPECT_FALSE(is_shared(memory));
        ibv_dereg_mr(mr);
        munmap(memory, 8192);
    }
    fclose(file);
}

TEST_F(ExchangedPages, HaveOnePathWhateverRegionsHoldThem) {
    Host host(no_buffer());
    Anonymous memory(8 * 4096);
    // Page 3 is the edge of the first region, and stays private for the second.
    ibv_mr* edge = ibv_reg_mr(host.pd, memory.data() + 3 * 4096 + 64, 2 * 4096, kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096));
    ibv_mr* all = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096));
    ibv_dereg_mr(edge);
    EXPECT_TRUE(is_shared(memory.data() + 4 * 4096)) << "the other region holds it";
    ibv_dereg_mr(all);
    EXPECT_FALSE(is_shared(memory.data() + 4 * 4096));
}

TEST_F(ExchangedPages, AreNotMadeOfPagesThatAnotherRegionHasAsAnEdge) {
    Host host(no_buffer());
    Anonymous memory(8 * 4096);
    ibv_mr* edge = ibv_reg_mr(host.pd, memory.data() + 3 * 4096 + 64, 128, kAllAccess);
    ibv_mr* all = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_FALSE(is_shared(memory.data() + 3 * 4096));
    ibv_dereg_mr(edge);
    ibv_dereg_mr(all);
}

/// What a swap without care does: copy, then map over.
void exchange_naively(std::uint8_t* page, int file) {
    (void)!pwrite(file, page, 4096, 0);
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
}
void restore_naively(std::uint8_t* page) {
    static std::uint8_t copy[4096];
    std::memcpy(copy, page, 4096);
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    std::memcpy(page, copy, 4096);
}

/// Counts in the page for as long as `exchange` runs. @return updates that got lost.
std::uint64_t lost_updates(std::uint8_t* page, const std::function<void()>& exchange) {
    auto* counter = reinterpret_cast<std::uint64_t*>(page + 1024);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> counted{0};
    __atomic_store_n(counter, 0, __ATOMIC_SEQ_CST);
    std::thread writer([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1,
                             __ATOMIC_RELAXED);
            counted.fetch_add(1, std::memory_order_relaxed);
        }
    });
    while (counted.load() < 1000) sched_yield();
    exchange();
    stop.store(true);
    writer.join();
    return counted.load() - __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

TEST_F(ExchangedPages, LoseNoUpdateOfAThreadThatWritesMeanwhile) {
    if (!may_hold_writers()) GTEST_SKIP() << "userfaultfd is not permitted here";
    Host host(no_buffer());
    Anonymous memory(16 * 4096);
    const std::uint64_t lost = lost_updates(memory.data() + 4096, [&] {
        for (int i = 0; i < scaled(50); ++i) {
            ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
            require(mr && is_shared(memory.data() + 4096), "the page is shared");
            ibv_dereg_mr(mr);
            require(!is_shared(memory.data() + 4096), "the page is private");
        }
    });
    EXPECT_EQ(lost, 0u);
}

/// The proof that the check can fail.
TEST(ExchangedPagesCheck, TheSameCheckCatchesASwapThatOnlyCopiesAndMapsOver) {
    if (kThreadSanitizer) GTEST_SKIP() << "it slows the writer down so much that little is lost";
    Anonymous memory(4096);
    const int file = memfd_create("naive", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 4096), 0);
    const auto end = Clock::now() + kDeadline;
    std::uint64_t lost = 0;
    while (lost == 0 && Clock::now() < end) {
        lost += lost_updates(memory.data(), [&] {
            for (int i = 0; i < 200; ++i) {
                exchange_naively(memory.data(), file);
                restore_naively(memory.data());
            }
        });
    }
    close(file);
    EXPECT_GT(lost, 0u);
}

/// What an application may do with its memory, and what it then finds. Each of these is a limit
/// that doc/compatibility.md names.
class LimitsOfSharedPages : public ExchangedPages {
  protected:
    LimitsOfSharedPages() : host_(no_buffer()), memory_(64 << 10) {
        fill(memory_.data(), memory_.size(), 4);
        mr_ = ibv_reg_mr(host_.pd, memory_.data(), memory_.size(), kAllAccess);
        require(mr_ && is_shared(memory_.data()), "pages are shared");
    }
    ~LimitsOfSharedPages() override { ibv_dereg_mr(mr_); }
    /// What a child that `make` made sees and changes. @return its exit status.
    int in_child(const std::function<pid_t()>& make) {
        const pid_t child = make();
        if (child == 0) {
            const bool whole = holds(memory_.data(), memory_.size(), 4);
            memory_.data()[5000] = 99;
            _exit(whole ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    Host host_;
    Anonymous memory_;
    ibv_mr* mr_ = nullptr;
};

TEST_F(LimitsOfSharedPages, ForkGivesTheChildACopyOfItsOwn) {
    const std::uint8_t before = memory_.data()[5000];
    EXPECT_EQ(in_child([] { return fork(); }), 0);
    EXPECT_EQ(memory_.data()[5000], before);
    EXPECT_TRUE(is_shared(memory_.data()));
}

TEST_F(LimitsOfSharedPages, ForkGivesTheChildACopyOfProvidedMemoryWhichItMayFree) {
    auto* provided = static_cast<std::uint8_t*>(softverbs_memory_alloc(10000));
    fill(provided, 10000, 6);
    const pid_t child = fork();
    if (child == 0) {
        const bool whole = holds(provided, 10000, 6);
        std::memset(provided, 0, 10000);
        softverbs_memory_free(provided);
        _exit(whole && !is_shared(provided) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(holds(provided, 10000, 6));
    softverbs_memory_free(provided);
}

TEST_F(LimitsOfSharedPages, ARawCloneSharesThePagesWithItsParent) {
    EXPECT_EQ(in_child([] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }),
              0);
    EXPECT_EQ(memory_.data()[5000], 99);
}

TEST_F(LimitsOfSharedPages, MadvDontneedKeepsWhatThePagesHold) {
    ASSERT_EQ(madvise(memory_.data(), memory_.size(), MADV_DONTNEED), 0);
    EXPECT_TRUE(holds(memory_.data(), memory_.size(), 4));
}

TEST_F(LimitsOfSharedPages, MadvRemoveZeroesThePagesForPeersToo) {
    ASSERT_EQ(madvise(memory_.data(), memory_.size(), MADV_REMOVE), 0);
    EXPECT_EQ(std::count(memory_.data(), memory_.data() + memory_.size(), 0),
              static_cast<std::ptrdiff_t>(memory_.size()));
    EXPECT_TRUE(is_shared(memory_.data()));
}

TEST_F(LimitsOfSharedPages, WhatMremapMovedStaysShared) {
    void* moved = mremap(memory_.data(), memory_.size(), memory_.size(), MREMAP_MAYMOVE);
    ASSERT_EQ(moved, memory_.data()) << "nothing needs to move";
    void* place = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(memory_.data(), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    ASSERT_EQ(moved, place);
    EXPECT_TRUE(is_shared(place));
    EXPECT_TRUE(holds(static_cast<std::uint8_t*>(place), 4096, 4));
    ibv_dereg_mr(mr_);
    EXPECT_FALSE(is_shared(memory_.data() + 4096)) << "the others are private again";
    EXPECT_TRUE(is_shared(place)) << "these have left";
    EXPECT_TRUE(holds(static_cast<std::uint8_t*>(place), 4096, 4));
    munmap(place, 4096);
    mr_ = ibv_reg_mr(host_.pd, memory_.data() + 4096, 4096, kAllAccess);
}

TEST_F(ExchangedPages, StayPrivateWhileAQuarterOfAllMappingsIsInUse) {
    Host host(no_buffer());
    unsigned long most = 0;
    FILE* file = fopen("/proc/sys/vm/max_map_count", "re");
    ASSERT_EQ(fscanf(file, "%lu", &most), 1);
    fclose(file);
    if (most > 200000) GTEST_SKIP() << "vm.max_map_count is " << most;
    Anonymous memory(64 << 10);
    {
        // Every other page has other rights, so each is a mapping of its own.
        Anonymous many((most / 4 + 2) * 4096);
        for (std::size_t at = 0; at < many.size(); at += 8192)
            ASSERT_EQ(mprotect(many.data() + at, 4096, PROT_READ), 0);
        ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
        EXPECT_FALSE(is_shared(memory.data()));
        ibv_dereg_mr(mr);
    }
    ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
    EXPECT_TRUE(is_shared(memory.data()));
    ibv_dereg_mr(mr);
}

TEST_F(ExchangedPages, StayPrivateWhileAnythingHasPinnedPagesOfTheProcess) {
    Host host(no_buffer());
    Anonymous memory(64 << 10);
    Anonymous pinned(64 << 10);
    std::uint64_t parameters[15] = {};  // struct io_uring_params
    const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, parameters));
    if (ring < 0) GTEST_SKIP() << "io_uring is not permitted here";
    const iovec buffer{pinned.data(), pinned.size()};
    constexpr int kRegisterBuffers = 0;
    if (syscall(SYS_io_uring_register, ring, kRegisterBuffers, &buffer, 1) != 0) {
        close(ring);
        GTEST_SKIP() << "pages cannot be pinned here";
    }
    const auto becomes_shared = [&] {
        ibv_mr* mr = ibv_reg_mr(host.pd, memory.data(), memory.size(), kAllAccess);
        const bool shared = is_shared(memory.data());
        ibv_dereg_mr(mr);
        return shared;
    };
    EXPECT_FALSE(becomes_shared());
    close(ring);
    EXPECT_TRUE(eventually(becomes_shared)) << "the kernel lets go of them a while later";
}

}  // namespace
}  // namespace test
