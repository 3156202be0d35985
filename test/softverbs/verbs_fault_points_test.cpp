// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process dies at each store that others see (providers/soft/softverbs/arena/fault_points.def),
/// as a requester and as the owner of queues, with shared receives and with its own. The others
/// must continue as in verbs_kill_test.
#include <signal.h>
#include <sys/syscall.h>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "test/softverbs/fault_survivor.hpp"

namespace test {
namespace {

using softverbs::FaultPoint;

class VerbsFaultPoints : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsFaultPoints);

constexpr const char* kNames[] = {
#define FAULT_POINT(name) #name,
#include "providers/soft/softverbs/arena/fault_points.def"
#undef FAULT_POINT
};
constexpr auto kPoints = static_cast<unsigned>(FaultPoint::kCount);
static_assert(kPoints <= std::size(decltype(SharedState::reached){}));

/// Where a client dies: at its passes_left-th passage of the point.
struct Arming {
    std::atomic<std::uint32_t>* reached = nullptr;
    std::atomic<int> passes_left{0};
    FaultPoint point{};
};
Arming arming;

void on_fault_point(FaultPoint point) {
    if (point != arming.point || arming.passes_left.fetch_sub(1) != 1) return;
    ++arming.reached[static_cast<unsigned>(point)];
    syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

/// Some points are passed once in the life of a connection. At the others a client dies in the
/// middle of its traffic.
int passes(FaultPoint point) {
    switch (point) {
        case FaultPoint::kWindowUnbound:
        case FaultPoint::kQueuePairReady:
        case FaultPoint::kFaultTold:
        case FaultPoint::kKickSet:
        case FaultPoint::kKickSummarySet:
        case FaultPoint::kSharedLimitDisarmed:
        case FaultPoint::kWaitingSet:
        case FaultPoint::kDisarmed:
        case FaultPoint::kChannelRaised:
            return 1;
        default:
            return 7;
    }
}

/// Whether the client must have a request refused: it then always kicks, otherwise only now and
/// then.
bool kicks_for_sure(FaultPoint point) {
    return point == FaultPoint::kFaultTold || point == FaultPoint::kKickSet ||
           point == FaultPoint::kKickSummarySet;
}

/// Whether a client reaches the point on this path.
bool is_met(FaultPoint point, bool shares_receives, const std::string& path) {
    const bool is_agent = path == "agent";
    switch (point) {
        case FaultPoint::kSharedReceiveLooked:
        case FaultPoint::kSharedReceiveTaken:
        case FaultPoint::kSharedHeadMoved:
        case FaultPoint::kSharedLimitDisarmed:
        case FaultPoint::kSharedSlotOrdered:
            return shares_receives;
        case FaultPoint::kWaitingSet:
        case FaultPoint::kReceiveConsumed:
            return !shares_receives;
        case FaultPoint::kAtomicLocked:
        case FaultPoint::kAtomicDone:
            return path == "process_vm";
        case FaultPoint::kAgentAsked:
        case FaultPoint::kAgentCopied:
        case FaultPoint::kAgentAtomicLocked:
            return is_agent;
        case FaultPoint::kNextPiece:
            return false;  // only longer messages have two pieces: verbs_quiet_test
        case FaultPoint::kEventHeld:
            return false;  // no queue has moderation here: verbs_moderation_test
        case FaultPoint::kRegionWanted:
        case FaultPoint::kRegionsWanted:
            return false;  // no region is away here: verbs_region_absence_test
        default:
            return true;
    }
}

class FaultPointTest {
  public:
    FaultPointTest(std::string fabric, std::string path)
        : fabric_(std::move(fabric)),
          path_(std::move(path)),
          shared_(SharedState::make()),
          nursery_(shared_, [this](std::uint32_t detail) { arm(detail); }) {
        survivor_ = std::make_unique<Survivor>();
        ClientHello steady;
        steady.is_steady = steady.shares_receives = true;
        steady_ = nursery_.start(steady, survivor_->port(), kPoints);
        survivor_->pump_until([&] { return survivor_->steady_messages() > 100; }, "traffic begins");
    }

    void die_everywhere(bool shares_receives) {
        for (unsigned first = 0; first < kPoints;) {
            std::vector<std::pair<unsigned, pid_t>> dying;
            for (; first < kPoints && dying.size() < 6; ++first) {
                const auto point = static_cast<FaultPoint>(first);
                if (!is_met(point, shares_receives, path_)) continue;
                ClientHello hello;
                hello.number = first + 1;
                hello.shares_receives = shares_receives;
                hello.breaks_connection = kicks_for_sure(point);
                dying.emplace_back(first, nursery_.start(hello, survivor_->port(), first));
            }
            const std::uint32_t messages = survivor_->steady_messages();
            for (const auto& [point, client] : dying) await_death(point);
            for (const auto& [point, client] : dying)
                require(nursery_.wait(client) == 128 + SIGKILL,
                        std::string("a client dies at ") + kNames[point]);
            survivor_->pump_until([&] { return survivor_->connections() == 1; },
                                  "every client's end is told");
            survivor_->pump_until([&] { return survivor_->steady_messages() > messages + 4; },
                                  "the third process's traffic goes on");
        }
    }

    void check_and_end() { end_steady_client(*survivor_, shared_, nursery_, steady_); }

  private:
    /// Runs in a client; `detail` is the point at which it dies.
    void arm(std::uint32_t detail) {
        if (detail >= kPoints) return;
        arming.reached = shared_.reached;
        arming.point = static_cast<FaultPoint>(detail);
        arming.passes_left = passes(arming.point);
        softverbs::at_fault_point = &on_fault_point;
    }
    /// Waits until as many clients have died at the point as there were calls for it.
    void await_death(unsigned point) {
        const std::uint32_t wanted = ++deaths_[point];
        require(eventually([&] {
                    survivor_->pump(Clock::now() + 1ms);
                    return shared_.reached[point] >= wanted;
                }),
                std::string("a client gets to ") + kNames[point] + "; " + survivor_->state());
    }

    const std::string fabric_;
    const std::string path_;
    SharedState& shared_;
    Nursery nursery_;
    std::unique_ptr<Survivor> survivor_;
    pid_t steady_ = 0;
    std::uint32_t deaths_[kPoints] = {};
};

TEST_P(VerbsFaultPoints, AProcessThatDiesAtAnyStoreDisturbsNoThirdAndEveryStoreIsReached) {
    FaultPointTest test(fabric_.path(), GetParam());
    for (int round = 0; round < scaled(1); ++round) {
        test.die_everywhere(true);
        test.die_everywhere(false);
    }
    test.check_and_end();
}

}  // namespace
}  // namespace test
