// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the registration broker asks of the device: counts of what peers do with a region, and
/// regions that are taken away and come back under the same key. The owner is a child process that
/// does as it is told; the test is the peer.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/region_extensions.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

class VerbsRegionAbsence : public OnBothPaths {
  protected:
    ~VerbsRegionAbsence() override { softverbs::at_fault_point = nullptr; }
};
INSTANTIATE_ON_BOTH_PATHS(VerbsRegionAbsence);

constexpr std::size_t kSize = 1 << 20;  // several pieces
constexpr std::uint32_t kShort = 64;
constexpr std::uint64_t kPage = 4096;

Options sized(ibv_qp_type type = IBV_QPT_RC) {
    Options options;
    options.buffer = kSize;
    options.access = kAllAccess | IBV_ACCESS_MW_BIND;
    options.type = type;
    return options;
}

/// What the owner is told to do; it answers each with a number.
enum class Order : char {
    kSuspend,
    kSuspendSoon,  ///< tries until it succeeds
    kResume,
    kResumeWhenWanted,
    kDeregister,
    kDeregisterWhenWanted,
    kUnmapAndResume,
    kIsWanted,
    kCount,
    kUses,
    kLastUse,
    kUseLocally,  ///< makes a request; answers with its status
    kReceive,     ///< waits for a message; answers with its status
    kHolds,       ///< whether its memory has the pattern that the test writes
    kEnd,
};

const verbs::RegionUses* uses = nullptr;
std::atomic<int> told{0};
void count_wanted(void* context) {
    ++*static_cast<std::atomic<int>*>(context);
}
bool suspend(Host& host) {
    return softverbs_suspend_region(host.mr, count_wanted, &told);
}
bool is_told() {
    return eventually([] { return told.load() != 0; });
}

std::uint64_t obey(Host& host, Qp& qp, const Address& peer, Order order) {
    switch (order) {
        case Order::kSuspend:
            return suspend(host);
        case Order::kSuspendSoon:
            return eventually([&] { return suspend(host); });
        case Order::kResume:
            return softverbs_resume_region(host.mr);
        case Order::kResumeWhenWanted:
            return is_told() && softverbs_resume_region(host.mr);
        case Order::kDeregister:
        case Order::kDeregisterWhenWanted:
            return (order == Order::kDeregister || is_told()) && ibv_dereg_mr(host.mr) == 0;
        case Order::kUnmapAndResume:
            munmap(reinterpret_cast<void*>((host.address() + kPage) & ~(kPage - 1)), kPage);
            return softverbs_resume_region(host.mr);
        case Order::kIsWanted:
            return static_cast<std::uint64_t>(told.load());
        case Order::kCount:
            uses = softverbs_count_region_uses(host.mr);
            return uses != nullptr;
        case Order::kUses:
            return uses ? uses->count.load() : 0;
        case Order::kLastUse:
            return uses ? uses->last.load() : 0;
        case Order::kUseLocally:
            require(qp.rdma(9, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, peer.address, peer.rkey) == 0,
                    "posted");
            return host.wait().status;
        case Order::kReceive:
            require(qp.post_receive(5, {host.sge(0, kShort)}) == 0, "posted");
            return host.wait().status;
        case Order::kHolds:
            return holds(host.buffer.data(), kSize, 99);
        case Order::kEnd:
            return 1;
    }
    return 0;
}

void own(Channel& channel, ibv_qp_type type) {
    Host host(sized(type));
    Qp qp(host);
    const Address peer = qp.connect(channel);
    for (;;) {
        const auto order = channel.receive<Order>();
        channel.send(obey(host, qp, peer, order));
        if (order == Order::kEnd) _exit(0);
        if (order == Order::kDeregister || order == Order::kDeregisterWhenWanted) host.mr = nullptr;
    }
}

/// The owner, and the peer that the test is.
struct Pair {
    explicit Pair(ibv_qp_type type = IBV_QPT_RC, const Timing& timing = {})
        : owner([type](Channel& channel) { own(channel, type); }), host(sized(type)), qp(host) {
        at = qp.connect(owner.channel(), timing);
        fill(host.buffer.data(), kSize, 99);
    }
    std::uint64_t order(Order order) {
        give(order);
        return answer();
    }
    void give(Order order) { owner.channel().send(order); }
    std::uint64_t answer() { return owner.channel().receive<std::uint64_t>(); }

    void post(ibv_wr_opcode opcode, std::uint32_t length = kShort) {
        const bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
        const int cause = is_atomic
                              ? qp.atomic(1, opcode, host.sge(0, 8), at.address, at.rkey, 1)
                              : qp.rdma(1, opcode, {host.sge(0, length)}, at.address, at.rkey);
        require(cause == 0, "posted");
    }
    ibv_wc_status wait() { return host.wait().status; }
    ibv_wc_status run(ibv_wr_opcode opcode, std::uint32_t length = kShort) {
        post(opcode, length);
        return wait();
    }
    bool is_waiting() {
        const auto end = Clock::now() + std::chrono::milliseconds(20);
        while (Clock::now() < end)
            if (!host.is_empty()) return false;
        return true;
    }

    Child owner;
    Host host;
    Qp qp;
    Address at;
};

TEST_P(VerbsRegionAbsence, WhatPeersDoIsCountedFromTheFirstCallOn) {
    Pair pair;
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    EXPECT_EQ(pair.order(Order::kUses), 0u);
    EXPECT_EQ(pair.order(Order::kLastUse), 0u);
    ASSERT_TRUE(pair.order(Order::kCount));
    for (const std::uint32_t length : {8u, kShort, static_cast<std::uint32_t>(kSize)}) {
        EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE, length), IBV_WC_SUCCESS);
        EXPECT_EQ(pair.run(IBV_WR_RDMA_READ, length), IBV_WC_SUCCESS);
    }
    EXPECT_EQ(pair.run(IBV_WR_ATOMIC_FETCH_AND_ADD), IBV_WC_SUCCESS);
    const std::uint64_t counted = pair.order(Order::kUses);
    EXPECT_GE(counted, 7u) << "long requests count several times";
    const std::uint64_t last = pair.order(Order::kLastUse);
    EXPECT_NE(last, 0u);
    EXPECT_EQ(pair.order(Order::kUseLocally), std::uint64_t{IBV_WC_SUCCESS});
    EXPECT_EQ(pair.order(Order::kUses), counted) << "its own use is none of a peer";
    EXPECT_TRUE(eventually([&] {
        return pair.run(IBV_WR_RDMA_READ) == IBV_WC_SUCCESS && pair.order(Order::kLastUse) > last;
    }));
}

TEST_P(VerbsRegionAbsence, ARequestWaitsUntilTheRegionIsBackAndThenSucceeds) {
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        Pair pair;
        ASSERT_TRUE(pair.order(Order::kSuspend));
        pair.post(opcode);
        EXPECT_TRUE(pair.is_waiting());
        EXPECT_NE(pair.order(Order::kIsWanted), 0u);
        ASSERT_TRUE(pair.order(Order::kResume));
        EXPECT_EQ(pair.wait(), IBV_WC_SUCCESS) << opcode;
        EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS) << "under the same key";
    }
}

TEST_P(VerbsRegionAbsence, TheOwnerIsToldOnceSomebodyWaitsAndAllOfItsMemoryIsWritten) {
    Pair pair;
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(pair.order(Order::kSuspendSoon));
        EXPECT_EQ(pair.order(Order::kHolds), round == 0 ? 0u : 1u);
        pair.give(Order::kResumeWhenWanted);
        EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE, kSize), IBV_WC_SUCCESS);
        EXPECT_TRUE(pair.answer());
    }
    EXPECT_TRUE(pair.order(Order::kHolds));
}

/// The region goes and comes while requests of several pieces are under way.
TEST_P(VerbsRegionAbsence, GoingInTheMiddleOfTransfersLosesNothing) {
    auto* const completed = static_cast<std::atomic<int>*>(
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(completed, MAP_FAILED);
    Child owner([&](Channel& channel) {
        Host host(sized());
        Qp qp(host);
        qp.connect(channel);
        const auto is_over = [&] { return is_readable(channel.input(), {}); };
        while (!is_over()) {
            told = 0;
            if (!suspend(host)) continue;
            require(eventually([&] { return told != 0 || is_over(); }), "somebody wants it");
            const int before = *completed;
            require(softverbs_resume_region(host.mr), "it comes back");
            // A region that hardly ever stands is no use to anybody.
            require(eventually([&] { return *completed != before || is_over(); }), "it is used");
        }
        channel.receive<char>();
        require(holds(host.buffer.data(), kSize, 99), "all is written");
    });
    Host host(sized());
    Qp qp(host);
    const Address at = qp.connect(owner.channel());
    fill(host.buffer.data(), kSize, 99);
    for (int round = 0; round < scaled(100); ++round)
        for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
            ASSERT_EQ(qp.rdma(1, opcode, {host.sge(0, kSize)}, at.address, at.rkey), 0);
            ASSERT_EQ(host.wait().status, IBV_WC_SUCCESS);
            ++*completed;
        }
    EXPECT_TRUE(holds(host.buffer.data(), kSize, 99)) << "what was read";
    owner.channel().send('.');
    EXPECT_EQ(owner.wait(), 0);
    munmap(completed, kPage);
}

TEST_P(VerbsRegionAbsence, ARequestFailsWhenThePeersRetriesHaveEnded) {
    Timing timing;
    timing.rnr_retry = 2;
    timing.min_rnr_timer = 14;  // 1 ms
    Pair pair(IBV_QPT_RC, timing);
    ASSERT_TRUE(pair.order(Order::kSuspend));
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_P(VerbsRegionAbsence, ARegionThatEndsWhileItIsAwayIsRefusedToThoseWhoWait) {
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    pair.give(Order::kDeregisterWhenWanted);
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(pair.answer());
}

TEST_P(VerbsRegionAbsence, ARegionThatHasEndedWhileItWasAwayIsRefused) {
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    EXPECT_TRUE(pair.order(Order::kDeregister));
    EXPECT_EQ(pair.run(IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsRegionAbsence, AKeyThatTheRegionNeverHadIsRefusedWhileItIsAway) {
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    ++pair.at.rkey;
    EXPECT_EQ(pair.run(IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(VerbsRegionAbsence, WhatTheRegionDoesNotPermitIsRefusedWhenItIsBack) {
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    pair.give(Order::kResumeWhenWanted);
    pair.at.address += kSize;
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(pair.answer());
}

/// The local memory of a request may be away as well.
TEST_P(VerbsRegionAbsence, ARequestOfItsOwnWaitsLikeThatOfAPeer) {
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND}) {
        Pair pair;
        told = 0;
        ASSERT_TRUE(suspend(pair.host));
        if (opcode == IBV_WR_SEND) {
            pair.give(Order::kReceive);
            ASSERT_EQ(pair.qp.send(1, {pair.host.sge(0, kShort)}), 0);
        } else {
            pair.post(opcode);
        }
        EXPECT_TRUE(pair.is_waiting());
        ASSERT_TRUE(is_told());
        ASSERT_TRUE(softverbs_resume_region(pair.host.mr));
        EXPECT_EQ(pair.wait(), IBV_WC_SUCCESS) << opcode;
        if (opcode == IBV_WR_SEND) {
            EXPECT_EQ(pair.answer(), std::uint64_t{IBV_WC_SUCCESS});
        }
    }
}

TEST_P(VerbsRegionAbsence, ARequestFailsWhenItsOwnRegionEndsWhileItIsAway) {
    Pair pair;
    told = 0;
    ASSERT_TRUE(suspend(pair.host));
    pair.post(IBV_WR_RDMA_WRITE);
    ASSERT_TRUE(is_told());
    ASSERT_EQ(ibv_dereg_mr(pair.host.mr), 0);
    pair.host.mr = nullptr;
    EXPECT_EQ(pair.wait(), IBV_WC_LOC_PROT_ERR);
}

/// A region of the requester goes and comes while its requests of several pieces are under way.
TEST_P(VerbsRegionAbsence, GoingInTheMiddleOfItsOwnRequestsLosesNothing) {
    Pair pair;
    std::atomic<bool> over{false};
    std::atomic<int> wanted{0}, completed{0};
    Thread taker([&] {
        while (!over) {
            wanted = 0;
            if (!softverbs_suspend_region(pair.host.mr, count_wanted, &wanted)) continue;
            eventually([&] { return wanted != 0 || over; });
            const int before = completed;
            if (!softverbs_resume_region(pair.host.mr)) over = true;
            // A region that hardly ever stands is no use to anybody.
            eventually([&] { return completed != before || over; });
        }
    });
    const ibv_sge all = pair.host.sge(0, kSize);
    bool succeeds = true;
    for (int round = 0; round < scaled(50) && succeeds && !over; ++round)
        for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
            const int cause = pair.qp.rdma(1, opcode, {all}, pair.at.address, pair.at.rkey);
            EXPECT_EQ(cause, 0);
            succeeds = succeeds && cause == 0 && pair.wait() == IBV_WC_SUCCESS;
            ++completed;
        }
    EXPECT_TRUE(succeeds);
    EXPECT_FALSE(over);
    over = true;
    taker.join();
    EXPECT_TRUE(holds(pair.host.buffer.data(), kSize, 99));
    EXPECT_TRUE(pair.order(Order::kHolds));
}

TEST_P(VerbsRegionAbsence, ASecondTimeItIsRefusedAndSoIsAReturnWithoutAbsence) {
    Pair pair;
    EXPECT_FALSE(pair.order(Order::kResume));
    ASSERT_TRUE(pair.order(Order::kSuspend));
    EXPECT_FALSE(pair.order(Order::kSuspend));
    EXPECT_TRUE(pair.order(Order::kResume));
    EXPECT_FALSE(pair.order(Order::kResume));
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
}

TEST_P(VerbsRegionAbsence, MemoryThatIsUnmappedMeanwhileDoesNotComeBack) {
    if (provided_memory) GTEST_SKIP() << "the library's memory stays mapped";
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    EXPECT_FALSE(pair.order(Order::kUnmapAndResume));
    pair.give(Order::kDeregisterWhenWanted);
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(pair.answer());
}

TEST_P(VerbsRegionAbsence, AnUnreliablePeersWriteIsLost) {
    Pair pair(IBV_QPT_UC);
    ASSERT_TRUE(pair.order(Order::kSuspend));
    EXPECT_EQ(pair.run(IBV_WR_RDMA_WRITE, kSize), IBV_WC_SUCCESS);
    ASSERT_TRUE(pair.order(Order::kResume));
    EXPECT_FALSE(pair.order(Order::kHolds));
}

TEST_P(VerbsRegionAbsence, APeerWaitsForAnOwnerThatDiesAsForAnyOther) {
    Pair pair;
    ASSERT_TRUE(pair.order(Order::kSuspend));
    pair.post(IBV_WR_RDMA_WRITE);
    EXPECT_TRUE(pair.is_waiting());
    pair.owner.kill();
    EXPECT_EQ(pair.wait(), IBV_WC_RETRY_EXC_ERR);
}

/// Two hosts of this process, connected with each other.
struct Couple {
    Couple() {
        one.connect(two.address());
        two.connect(one.address());
    }
    Host host{sized()}, other{sized()};
    Qp one{host}, two{other};
};

TEST_P(VerbsRegionAbsence, AProcessMayUseItsOwnRegionThatIsAway) {
    Couple couple;
    Host &host = couple.host, &other = couple.other;
    const verbs::RegionUses* const counted = softverbs_count_region_uses(other.mr);
    ASSERT_NE(counted, nullptr);
    told = 0;
    ASSERT_TRUE(softverbs_suspend_region(other.mr, count_wanted, &told));
    fill(host.buffer.data(), kShort, 99);
    ASSERT_EQ(couple.one.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, kShort)}, other.address(),
                              other.mr->rkey),
              0);
    ASSERT_TRUE(is_told());
    ASSERT_TRUE(softverbs_resume_region(other.mr));
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(other.buffer.data(), kShort, 99));
    EXPECT_EQ(counted->count, 1u);
}

TEST_P(VerbsRegionAbsence, ARegionWithAWindowBoundToItStays) {
    Couple couple;
    Host &host = couple.host, &other = couple.other;
    ibv_mw* const window = ibv_alloc_mw(other.pd, IBV_MW_TYPE_1);
    ASSERT_NE(window, nullptr);
    const verbs::RegionUses* const counted = softverbs_count_region_uses(other.mr);
    ASSERT_NE(counted, nullptr);
    ibv_mw_bind bind{};
    bind.wr_id = 3;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {other.mr, other.address(), kShort,
                      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
    ASSERT_EQ(ibv_bind_mw(couple.two.get(), window, &bind), 0);
    ASSERT_EQ(other.wait().status, IBV_WC_SUCCESS);
    EXPECT_FALSE(softverbs_suspend_region(other.mr, count_wanted, &told));
    ASSERT_EQ(
        couple.one.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, kShort)}, other.address(), window->rkey),
        0);
    EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(counted->count, 1u) << "through the window";
    ASSERT_EQ(ibv_dealloc_mw(window), 0);
    ASSERT_TRUE(softverbs_suspend_region(other.mr, count_wanted, &told));
}

/// A peer that writes into a region that is away, and may die when it asks for it.
void write_when_told(Channel& channel, FaultPoint fatal) {
    static FaultPoint point;
    point = fatal;
    Host host(sized());
    Qp qp(host);
    const Address at = qp.connect(channel);
    softverbs::at_fault_point = [](FaultPoint reached) {
        if (reached == point) raise(SIGKILL);
    };
    channel.receive<char>();
    require(qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, kShort)}, at.address, at.rkey) == 0,
            "posted");
    require(host.wait().status == IBV_WC_SUCCESS, "written");
}

/// Whoever asks may die before the owner is told. The next one asks again.
TEST_P(VerbsRegionAbsence, APeerThatDiesWhileItAsksKeepsNobodyElseWaiting) {
    for (const FaultPoint point : {FaultPoint::kRegionWanted, FaultPoint::kRegionsWanted}) {
        Child dying([point](Channel& channel) { write_when_told(channel, point); });
        Child other([](Channel& channel) { write_when_told(channel, FaultPoint::kCount); });
        Host host(sized());
        Qp first(host), second(host);
        first.connect(dying.channel());
        second.connect(other.channel());
        told = 0;
        ASSERT_TRUE(suspend(host));
        dying.channel().send('w');
        EXPECT_EQ(dying.wait(), 128 + SIGKILL);
        EXPECT_EQ(told, 0);
        other.channel().send('w');
        ASSERT_TRUE(is_told());
        ASSERT_TRUE(softverbs_resume_region(host.mr));
        EXPECT_EQ(other.wait(), 0);
    }
}

TEST_P(VerbsRegionAbsence, TheProtectionDomainCannotGoBeforeTheRegion) {
    Host host(sized());
    ASSERT_TRUE(softverbs_suspend_region(host.mr, count_wanted, &told));
    EXPECT_EQ(ibv_dealloc_pd(host.pd), EBUSY);
    EXPECT_EQ(ibv_dereg_mr(host.mr), 0);
    host.mr = nullptr;
    EXPECT_EQ(host.destroy(), 0);
}

TEST_P(VerbsRegionAbsence, ARegionThatIsAwayIsNotChanged) {
    Host host(sized());
    ASSERT_TRUE(softverbs_suspend_region(host.mr, count_wanted, &told));
    EXPECT_EQ(ibv_rereg_mr(host.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kLocalWrite),
              IBV_REREG_MR_ERR_INPUT);
    ASSERT_TRUE(softverbs_resume_region(host.mr));
}

}  // namespace
}  // namespace test
