// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// After the end of a registration or of a queue nothing arrives any more: neither from a requester
/// that was stopped in the middle of a transfer, nor because of unrelated processes.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "test/softverbs/verbs_pair.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;
using namespace std::chrono_literals;

constexpr std::uint32_t kLong = 3 << 20;  ///< more than one piece

FaultPoint stop_point;
void stop_here(FaultPoint point) {
    if (point != stop_point) return;
    softverbs::at_fault_point = nullptr;
    raise(SIGSTOP);
}

/// What the owner orders the requester to do.
struct Order {
    ibv_wr_opcode opcode;
    std::uint32_t length;
    std::uint64_t address;
    std::uint32_t rkey;
    FaultPoint stop_at;
};

/// Carries out one request, stops itself at one point of it, and reports the status.
void request_and_stop(Channel& channel) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    const auto order = channel.receive<Order>();
    require(order.length <= host.buffer.size(), "it has so much");
    std::fill(host.buffer.begin(), host.buffer.end(), 0xee);
    stop_point = order.stop_at;
    softverbs::at_fault_point = stop_here;
    if (order.opcode == IBV_WR_SEND)
        qp.send(1, {host.sge(0, order.length)});
    else if (order.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        qp.atomic(1, order.opcode, host.sge(0, 8), order.address, order.rkey, 1);
    else
        qp.rdma(1, order.opcode, {host.sge(0, order.length)}, order.address, order.rkey);
    channel.send(host.wait().status);
    channel.meet();
}

class VerbsQuiet : public OnBothPaths {
  protected:
    void connect(const Options& options = {}) {
        child_ = std::make_unique<Child>(request_and_stop);
        host_ = std::make_unique<Host>(options);
        qp_ = std::make_unique<Qp>(*host_);
        qp_->connect(child_->channel());
    }
    /// Makes the child carry out the request up to the point, where it stops.
    void order(ibv_wr_opcode opcode, FaultPoint stop_at, std::uint32_t length = kLong) {
        order(opcode, stop_at, length, host_->address(), host_->mr->rkey);
    }
    void order(ibv_wr_opcode opcode, FaultPoint stop_at, std::uint32_t length,
               std::uint64_t address, std::uint32_t rkey) {
        child_->channel().send(Order{opcode, length, address, rkey, stop_at});
        child_->wait_until_stopped();
    }
    void bind(ibv_mw* window, const ibv_mw_bind_info& to) {
        ibv_mw_bind request{};
        request.send_flags = IBV_SEND_SIGNALED;
        request.bind_info = to;
        require(ibv_bind_mw(qp_->get(), window, &request) == 0, "a bind is posted");
    }
    /// Makes a window of type 1 that is bound to all of the region.
    ibv_mw* window_at(ibv_mr* region) {
        ibv_mw* const window = ibv_alloc_mw(host_->pd, IBV_MW_TYPE_1);
        require(window != nullptr, "a window");
        bind(window, {region, reinterpret_cast<std::uintptr_t>(region->addr), region->length,
                      IBV_ACCESS_REMOTE_WRITE});
        require(host_->wait().status == IBV_WC_SUCCESS, "the bind succeeds");
        return window;
    }
    ibv_wc_status go_on() {
        child_->kill(SIGCONT);
        return child_->channel().receive<ibv_wc_status>();
    }
    void expect_untouched(std::uint8_t value) {
        EXPECT_TRUE(std::all_of(host_->buffer.begin(), host_->buffer.end(),
                                [&](std::uint8_t byte) { return byte == value; }));
    }
    void end() {
        child_->channel().meet();
        EXPECT_EQ(child_->wait(), 0);
    }
    std::unique_ptr<Child> child_;
    std::unique_ptr<Host> host_;
    std::unique_ptr<Qp> qp_;
};
INSTANTIATE_TEST_SUITE_P(ByProcessVm, VerbsQuiet, testing::Values("process_vm"),
                         [](const auto&) { return std::string("soft0"); });
INSTANTIATE_TEST_SUITE_P(BySharedPages, VerbsQuiet, testing::Values("shared"),
                         [](const auto&) { return std::string("soft0"); });

TEST_P(VerbsQuiet, DeregFailsWhileARequesterIsStoppedInAPieceAndNothingArrivesAfterItSucceeds) {
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked);
    const std::string told = captured_stderr([&] { EXPECT_EQ(ibv_dereg_mr(host_->mr), EBUSY); });
    EXPECT_NE(told.find("DAT311"), std::string::npos) << told;
    Thread ending([&] { EXPECT_NE(go_on(), IBV_WC_SUCCESS); });
    EXPECT_EQ(ibv_dereg_mr(host_->mr), 0) << "the second call waits for the piece";
    std::fill(host_->buffer.begin(), host_->buffer.end(), 0x11);
    ending.join();
    expect_untouched(0x11);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, DeregSucceedsWhileARequesterIsStoppedBetweenPiecesOfItsTransfer) {
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kNextPiece);
    const ibv_mr region = *host_->mr;
    Thread ending([&] {
        std::this_thread::yield();
        EXPECT_EQ(go_on(), IBV_WC_REM_ACCESS_ERR);
    });
    while (ibv_dereg_mr(host_->mr) != 0) continue;
    std::fill(host_->buffer.begin(), host_->buffer.end(), 0x22);
    ending.join();
    expect_untouched(0x22);
    host_->mr = ibv_reg_mr(host_->pd, region.addr, 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, NothingArrivesInAPostedReceiveWhoseRegistrationHasEnded) {
    connect();
    ASSERT_EQ(qp_->post_receive(7, {host_->sge(0, kLong)}), 0);
    order(IBV_WR_SEND, FaultPoint::kNextPiece);
    Thread ending([&] { EXPECT_EQ(go_on(), IBV_WC_REM_OP_ERR); });
    while (ibv_dereg_mr(host_->mr) != 0) continue;
    std::fill(host_->buffer.begin(), host_->buffer.end(), 0x33);
    ending.join();
    expect_untouched(0x33);
    EXPECT_EQ(host_->wait().status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(qp_->state(), IBV_QPS_ERR);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, DeregSucceedsAtOnceWhenTheStoppedRequesterHasBeenKilled) {
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked);
    child_->kill();
    EXPECT_EQ(child_->wait(), 128 + SIGKILL);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), 0);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
}

constexpr int kWithWindows = kAllAccess | IBV_ACCESS_MW_BIND;

TEST_P(VerbsQuiet, DeregOfAnotherRegionDoesNotWaitForTheStoppedRequester) {
    connect();
    Buffer other(8192), another(8192);
    ibv_mr* mr = ibv_reg_mr(host_->pd, other.data(), other.size(), kAllAccess);
    ibv_mr* bindable = ibv_reg_mr(host_->pd, another.data(), another.size(), kWithWindows);
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dereg_mr(bindable), 0);
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    end();
}

TEST_P(VerbsQuiet, DeregOfAnotherRegionDoesNotWaitForAStoppedSender) {
    connect();
    Buffer other(8192);
    ibv_mr* mr = ibv_reg_mr(host_->pd, other.data(), other.size(), kWithWindows);
    ASSERT_EQ(qp_->post_receive(7, {host_->sge(0, kLong)}), 0);
    order(IBV_WR_SEND, FaultPoint::kPayloadPlaced);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), EBUSY);
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), 0);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, WhoeverCameByAWindowHoldsUpTheWindowAndItsRegionAndNoOther) {
    connect();
    Buffer memory(kLong), other(8192);
    ibv_mr* region = ibv_reg_mr(host_->pd, memory.data(), memory.size(), kWithWindows);
    ibv_mr* another = ibv_reg_mr(host_->pd, other.data(), other.size(), kWithWindows);
    ibv_mw* window = window_at(region);
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked, kLong,
          reinterpret_cast<std::uintptr_t>(memory.data()), window->rkey);
    EXPECT_EQ(ibv_dealloc_mw(window), EBUSY);
    EXPECT_EQ(ibv_dereg_mr(another), 0);
    EXPECT_EQ(ibv_dereg_mr(region), EBUSY);
    EXPECT_NE(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    end();
}

TEST_P(VerbsQuiet, AnUnbindThatWaitsForAStoppedRequesterCompletesOnceThatHasEnded) {
    connect();
    Buffer memory(kLong);
    ibv_mr* region = ibv_reg_mr(host_->pd, memory.data(), memory.size(), kWithWindows);
    ibv_mw* window = window_at(region);
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked, kLong,
          reinterpret_cast<std::uintptr_t>(memory.data()), window->rkey);
    bind(window, {});
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(host_->cq, 1, &wc), 0) << "the binding is gone, its user is not";
    EXPECT_NE(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(host_->wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    end();
}

/// Requests of 32 MiB that a thread carries out one after the other.
class LongQueue {
  public:
    static constexpr std::uint32_t kRequests = 16;

    explicit LongQueue(Host& host) : host_(host), left_(host), right_(host) {
        left_.connect(right_.address());
        right_.connect(left_.address());
    }
    ~LongQueue() {
        ibv_dereg_mr(source_);
        ibv_dereg_mr(target_);
    }
    LongQueue(const LongQueue&) = delete;
    LongQueue& operator=(const LongQueue&) = delete;

    /// Calls `work` when the first request has completed, and waits for the last one.
    /// @return how many had completed when `work` returned.
    std::uint32_t completed_behind(const std::function<void()>& work) {
        move(IBV_QPS_SQD);
        for (std::uint32_t i = 0; i < kRequests; ++i)
            EXPECT_EQ(left_.rdma(i, IBV_WR_RDMA_WRITE, {{address_of(from_), kBytes, source_->lkey}},
                                 address_of(to_), target_->rkey),
                      0);
        std::uint32_t completed = 0;
        const auto take = [&] {
            ibv_wc wc[kRequests];
            completed += static_cast<std::uint32_t>(ibv_poll_cq(host_.cq, kRequests, wc));
        };
        Thread sender([&] { move(IBV_QPS_RTS); });
        EXPECT_TRUE(eventually([&] { return take(), completed != 0; }));
        work();
        take();
        const std::uint32_t at_the_end_of_work = completed;
        sender.join();
        EXPECT_TRUE(eventually([&] { return take(), completed == kRequests; }));
        return at_the_end_of_work;
    }

  private:
    static constexpr std::uint32_t kBytes = 32 << 20;
    static std::uintptr_t address_of(const Buffer& buffer) {
        return reinterpret_cast<std::uintptr_t>(buffer.data());
    }
    void move(ibv_qp_state state) {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        EXPECT_EQ(ibv_modify_qp(left_.get(), &attributes, IBV_QP_STATE), 0);
    }

    Host& host_;
    Qp left_, right_;
    Buffer from_{kBytes}, to_{kBytes};
    ibv_mr* const source_ = ibv_reg_mr(host_.pd, from_.data(), from_.size(), kAllAccess);
    ibv_mr* const target_ = ibv_reg_mr(host_.pd, to_.data(), to_.size(), kAllAccess);
};

/// Queued requests are carried out one after the other: whoever deregisters something else waits
/// for at most one of them. On a busy machine all of them may be over before the thread that
/// deregisters runs again, so it has several tries.
TEST_P(VerbsQuiet, DeregDoesNotWaitForAllThatIsQueued) {
    constexpr int kTries = 20;
    Host host;
    LongQueue queue(host);
    Buffer other(8192);
    std::uint32_t completed = LongQueue::kRequests;
    for (int i = 0; i < kTries && completed == LongQueue::kRequests; ++i) {
        ibv_mr* mr = ibv_reg_mr(host.pd, other.data(), other.size(), kAllAccess);
        completed = queue.completed_behind([&] { EXPECT_EQ(ibv_dereg_mr(mr), 0); });
    }
    EXPECT_LT(completed, LongQueue::kRequests) << "it has waited for the last of them each time";
}

TEST_P(VerbsQuiet, OtherThreadsRegisterMemoryWhileOneWaitsForAStoppedRequester) {
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked);
    std::atomic<bool> waits{true};
    Thread waiter([&] {
        EXPECT_EQ(ibv_dereg_mr(host_->mr), EBUSY);
        waits = false;
    });
    Buffer other(8192);
    int registered = 0;
    while (waits) {
        ibv_mr* mr = ibv_reg_mr(host_->pd, other.data(), other.size(), kLocalWrite);
        ASSERT_NE(mr, nullptr);
        ibv_dereg_mr(mr);
        registered += waits;
    }
    waiter.join();
    EXPECT_GT(registered, 100);
    EXPECT_NE(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), 0);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, DestroyOfAQueuePairFailsWhileItsRequesterIsStoppedAndSucceedsLater) {
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kPayloadPlaced, 4096);
    EXPECT_EQ(ibv_destroy_qp(qp_->get()), EBUSY);
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_destroy_qp(qp_->get()), 0);
    ::operator delete(qp_.release());  // its destructor would destroy the queue pair again
    end();
}

TEST_P(VerbsQuiet, AQueuePairThatNamesTheVictimAsItsDestinationSetsNobodyFree) {
    if (kThreadSanitizer) GTEST_SKIP() << "it cannot follow a child that starts threads";
    connect();
    order(IBV_WR_RDMA_WRITE, FaultPoint::kTransferMarked);
    const Address victim = qp_->address();
    Child stranger([&](Channel& channel) {
        Host host;
        Qp qp(host);
        Timing timing;
        timing.timeout = 1, timing.retry_cnt = 0;
        require(qp.ready_to_receive(victim, timing) == 0, "RTR");
        require(qp.ready_to_send(timing) == 0, "RTS");
        qp.rdma(1, IBV_WR_RDMA_WRITE, {host.sge(0, 8)}, victim.address, victim.rkey);
        require(host.wait().status != IBV_WC_SUCCESS, "it is not connected to us");
        channel.meet();
    });
    stranger.channel().meet();
    EXPECT_EQ(stranger.wait(), 0);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), EBUSY);
    EXPECT_NE(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(host_->mr), 0);
    host_->mr = ibv_reg_mr(host_->pd, host_->buffer.data(), 4096, kAllAccess);
    end();
}

TEST_P(VerbsQuiet, ResizeFailsWhileAProducerIsStoppedAndHappensOnceItHasEnded) {
    connect();
    ASSERT_EQ(qp_->post_receive(7, {host_->sge(0, 64)}), 0);
    order(IBV_WR_SEND, FaultPoint::kCompletionWritten, 64);
    EXPECT_EQ(ibv_resize_cq(host_->cq, 4096), EBUSY);
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    EXPECT_EQ(host_->wait().wr_id, 7u);
    EXPECT_TRUE(eventually([&] { return ibv_resize_cq(host_->cq, 4096) == 0; }));
    EXPECT_EQ(host_->cq->cqe, 4096);
    end();
}

/// The producer stops after it has read the claim of the lap before. Before it continues, the place
/// is claimed, filled and consumed by others. The queue is not full.
TEST_P(VerbsQuiet, AProducerThatIsOvertakenFindsAnotherPlace) {
    connect();
    Qp left(*host_), right(*host_);
    left.connect(right.address());
    right.connect(left.address());
    const auto send_one = [&] {
        ASSERT_EQ(right.post_receive(1, {host_->sge(0, 8)}), 0);
        ASSERT_EQ(left.send(2, {host_->sge(64, 8)}), 0);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(host_->wait().status, IBV_WC_SUCCESS);
    };
    // Makes the requester read how far the consumer has come.
    for (int i = 0; i <= host_->cq->cqe; ++i) send_one();
    ASSERT_EQ(qp_->post_receive(7, {host_->sge(0, 64)}), 0);
    order(IBV_WR_SEND, FaultPoint::kClaimLooked, 64);
    send_one();
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    const ibv_wc wc = host_->wait();
    EXPECT_EQ(wc.wr_id, 7u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(qp_->state(), IBV_QPS_RTS) << "no overrun has been told";
    end();
}

/// The requester stops after it has looked at the first receive of a shared receive queue. Before
/// it continues, another one takes that receive, and the completion is polled.
TEST_P(VerbsQuiet, ARequesterThatIsOvertakenTakesTheNextSharedReceive) {
    Options options;
    options.shared_receives = true;
    connect(options);
    Qp left(*host_), right(*host_);
    left.connect(right.address());
    right.connect(left.address());
    ASSERT_EQ(qp_->post_receive(7, {host_->sge(0, 64)}), 0);
    ASSERT_EQ(qp_->post_receive(8, {host_->sge(64, 64)}), 0);
    order(IBV_WR_SEND, FaultPoint::kSharedReceiveLooked, 64);
    ASSERT_EQ(left.send(2, {host_->sge(128, 8)}), 0);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(host_->wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(go_on(), IBV_WC_SUCCESS);
    const ibv_wc wc = host_->wait();
    EXPECT_EQ(wc.wr_id, 8u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.byte_len, 64u);
    end();
}

/// Address at which both programs of the test have memory.
void* const kCommonAddress = reinterpret_cast<void*>(0x5a0000000000);
constexpr std::size_t kCommonSize = 1 << 20;

std::uint8_t* map_common() {
    void* const memory = mmap(kCommonAddress, kCommonSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    require(memory == kCommonAddress, "the address is free");
    return static_cast<std::uint8_t*>(memory);
}

/// The program that the target executes. It reports when its memory is there, and checks on command
/// that nobody has written to it.
TEST(NewImage, DISABLED_Watch) {
    const char* const descriptors = getenv("NEW_IMAGE");
    ASSERT_NE(descriptors, nullptr);
    int input = -1, output = -1;
    ASSERT_EQ(sscanf(descriptors, "%d %d", &input, &output), 2);
    std::uint8_t* const memory = map_common();
    std::fill_n(memory, kCommonSize, 0x77);
    char said = 'm';
    ASSERT_EQ(write(output, &said, 1), 1);
    ASSERT_EQ(read(input, &said, 1), 1);
    EXPECT_TRUE(std::all_of(memory, memory + kCommonSize, [](auto byte) { return byte == 0x77; }));
}

/// The requester stops between the mark of its transfer and the copy, while its target executes
/// another program, which has memory at the same address.
class VerbsQuietExec : public testing::TestWithParam<ibv_wr_opcode> {};
INSTANTIATE_TEST_SUITE_P(Operations, VerbsQuietExec,
                         testing::Values(IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
                                         IBV_WR_ATOMIC_FETCH_AND_ADD));

TEST_P(VerbsQuietExec, NothingReachesTheNewImageOfATarget) {
    if (kThreadSanitizer) GTEST_SKIP() << "it has no room for memory at an address of ours";
    const TemporaryFabric fabric;
    setenv("SOFTVERBS_COPY", "process_vm", 1);
    Child owner([](Channel& channel) {
        Host host;
        Qp qp(host);
        ibv_mr* mr = ibv_reg_mr(host.pd, map_common(), kCommonSize, kAllAccess);
        qp.connect(channel);
        channel.send(mr->rkey);
        channel.receive<char>();
        const std::string ends =
            std::to_string(channel.input()) + " " + std::to_string(channel.output());
        setenv("NEW_IMAGE", ends.c_str(), 1);
        require(freopen("/dev/null", "w", stdout) != nullptr, "its results are its status");
        execl("/proc/self/exe", "new_image", "--gtest_filter=NewImage.*",
              "--gtest_also_run_disabled_tests", static_cast<char*>(nullptr));
        require(false, "execve works");
    });
    Child requester(request_and_stop);
    const auto one = owner.channel().receive<Address>();
    const auto other = requester.channel().receive<Address>();
    owner.channel().send(other);
    requester.channel().send(one);
    owner.channel().meet();
    requester.channel().meet();
    const auto rkey = owner.channel().receive<std::uint32_t>();
    const bool is_atomic = GetParam() == IBV_WR_ATOMIC_FETCH_AND_ADD;
    requester.channel().send(Order{GetParam(), is_atomic ? 8 : 1u << 20,
                                   reinterpret_cast<std::uintptr_t>(kCommonAddress), rkey,
                                   FaultPoint::kTransferMarked});
    requester.wait_until_stopped();
    owner.channel().meet();
    requester.kill(SIGCONT);
    EXPECT_NE(requester.channel().receive<ibv_wc_status>(), IBV_WC_SUCCESS);
    owner.channel().send('m');
    EXPECT_EQ(owner.wait(), 0);
    requester.channel().meet();
    EXPECT_EQ(requester.wait(), 0);
    unsetenv("SOFTVERBS_COPY");
}

}  // namespace
}  // namespace test
