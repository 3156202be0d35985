// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The lock of atomic operations (providers/soft/softverbs/verbs/atomics.hpp) while a process that
/// holds it is stopped or dies. The test owns the memory; its children are the requesters.
#include <sys/mman.h>

#include <atomic>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

Options small() {
    Options options;
    options.buffer = 4096;
    return options;
}

/// Outcome of a requester's last request.
struct Answer {
    ibv_wc_status status;
    std::uint64_t found;
};

/// A process that carries out requests on command: '+' is an atomic addition of 1, 'r' a read of
/// the word.
class Requester {
  public:
    /// @param path value of SOFTVERBS_COPY. @param prepare runs first, in the process.
    Requester(
        const char* path, const std::function<void()>& prepare = [] {})
        : child_([path, prepare](Channel& channel) {
              prepare();
              setenv("SOFTVERBS_COPY", path, 1);
              run(channel);
          }) {}
    void connect_to(Qp& qp) { qp.connect(child_.channel()); }
    void begin(char request) { child_.channel().send(request); }
    Answer answer() { return child_.channel().receive<Answer>(); }
    Answer carry_out(char request) {
        begin(request);
        return answer();
    }
    void finish() {
        begin('.');
        EXPECT_EQ(child_.wait(), 0);
    }
    Child& process() { return child_; }

  private:
    static void run(Channel& channel) {
        Host host(small());
        Qp qp(host);
        const Address at = qp.connect(channel);
        for (;;) {
            const char request = channel.receive_whenever<char>();
            if (request == '.') return;
            const int error = request == '+' ? qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                                         host.sge(0, 8), at.address, at.rkey, 1)
                                             : qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, 8)},
                                                       at.address, at.rkey);
            require(error == 0, "posted");
            Answer answer{host.wait().status, 0};
            std::memcpy(&answer.found, host.buffer.data(), sizeof answer.found);
            channel.send(answer);
        }
    }

    Child child_;
};

/// Sends this process the signal as soon as it holds the lock.
template <int signal>
void end_with_the_lock() {
    softverbs::at_fault_point = [](FaultPoint point) {
        if (point == FaultPoint::kAtomicLocked) kill(getpid(), signal);
    };
}

class VerbsAtomicLock : public testing::Test {
  protected:
    ~VerbsAtomicLock() override { softverbs::at_fault_point = nullptr; }
    TemporaryFabric fabric_;
};

std::atomic<bool> service_is_busy{false};
std::atomic<bool> service_may_go_on{false};

TEST_F(VerbsAtomicLock, OfADeadHolderIsBrokenByWhoeverWaitsThoughTheOwnersServiceThreadIsBusy) {
    Requester dying("process_vm", end_with_the_lock<SIGKILL>);
    Requester waiting("process_vm");
    Requester copying("agent");
    Host host(small());
    Qp for_dying(host), for_waiting(host), for_copying(host);
    dying.connect_to(for_dying);
    waiting.connect_to(for_waiting);
    copying.connect_to(for_copying);
    softverbs::at_fault_point = [](FaultPoint point) {
        if (point != FaultPoint::kAgentCopied) return;
        service_is_busy = true;
        eventually([] { return service_may_go_on.load(); });
    };
    copying.begin('r');
    ASSERT_TRUE(eventually([] { return service_is_busy.load(); }));

    dying.begin('+');
    EXPECT_EQ(dying.process().wait(), 128 + SIGKILL);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const Answer answer = waiting.carry_out('+');
        EXPECT_EQ(answer.status, IBV_WC_SUCCESS);
        EXPECT_EQ(answer.found, i);
    }
    service_may_go_on = true;
    EXPECT_EQ(copying.answer().status, IBV_WC_SUCCESS);
    EXPECT_EQ(copying.carry_out('+').found, 3u) << "the lock is free";
    waiting.finish();
    copying.finish();
}

TEST_F(VerbsAtomicLock, OfAStoppedHolderDelaysNothingElseOfTheOwnersServiceThread) {
    Requester stopping("process_vm", end_with_the_lock<SIGSTOP>);
    Requester adding("agent");
    Requester reading("agent");
    Host host(small());
    Qp for_stopping(host), for_adding(host), for_reading(host);
    stopping.connect_to(for_stopping);
    adding.connect_to(for_adding);
    reading.connect_to(for_reading);

    stopping.begin('+');
    int status = 0;
    const pid_t holder = stopping.process().pid();
    ASSERT_EQ(waitpid(holder, &status, WUNTRACED), holder);
    adding.begin('+');
    for (int i = 0; i < 100; ++i) ASSERT_EQ(reading.carry_out('r').status, IBV_WC_SUCCESS);
    stopping.process().kill();
    EXPECT_EQ(stopping.process().wait(), 128 + SIGKILL);
    const Answer answer = adding.answer();
    EXPECT_EQ(answer.status, IBV_WC_SUCCESS);
    EXPECT_EQ(answer.found, 0u);
    adding.finish();
    reading.finish();
}

TEST_F(VerbsAtomicLock, OfADeadHolderIsBrokenOnceHoweverManyWait) {
    constexpr int kRequesters = 4, kRounds = 200;
    Requester dying("process_vm", end_with_the_lock<SIGKILL>);
    std::vector<std::unique_ptr<Requester>> others;
    for (int i = 0; i < kRequesters; ++i)
        others.push_back(std::make_unique<Requester>(i % 2 ? "agent" : "process_vm"));
    Host host(small());
    std::vector<std::unique_ptr<Qp>> qps;
    for (int i = 0; i <= kRequesters; ++i) qps.push_back(std::make_unique<Qp>(host));
    dying.connect_to(*qps[kRequesters]);
    for (int i = 0; i < kRequesters; ++i) others[i]->connect_to(*qps[i]);
    for (int round = 0; round < kRounds; ++round) {
        for (auto& one : others) one->begin('+');
        if (round == kRounds / 2) dying.begin('+');
        for (auto& one : others) ASSERT_EQ(one->answer().status, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(dying.process().wait(), 128 + SIGKILL);
    std::atomic_ref sum(*reinterpret_cast<std::uint64_t*>(host.buffer.data()));
    EXPECT_EQ(sum.load(), std::uint64_t{kRequesters} * kRounds);
    for (auto& one : others) one->finish();
}

/// Stands for another thread of the target that unmaps the memory after it has been checked.
TEST(StaleMemoryByAgent, ThatGoesWhileAnAtomicIsUnderWayFailsAtTheRequester) {
    const TemporaryFabric fabric;
    setenv("SOFTVERBS_COPY", "agent", 1);
    static void* word;
    Child target([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        word = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ibv_mr* const mr = ibv_reg_mr(host.pd, word, 8192, kAllAccess);
        softverbs::at_fault_point = [](softverbs::FaultPoint point) {
            if (point == softverbs::FaultPoint::kAgentAtomicLocked) munmap(word, 8192);
        };
        channel.send(Address{0, 0, mr->rkey, reinterpret_cast<std::uintptr_t>(word)});
        channel.meet();
        ibv_dereg_mr(mr);
    });
    Host host;
    Qp qp(host);
    qp.connect(target.channel());
    const auto there = target.channel().receive<Address>();
    qp.atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, host.sge(0, 8), there.address, there.rkey, 1);
    EXPECT_EQ(host.wait().status, IBV_WC_REM_ACCESS_ERR);
    target.channel().meet();
    EXPECT_EQ(target.wait(), 0);
    unsetenv("SOFTVERBS_COPY");
}

}  // namespace
}  // namespace test
