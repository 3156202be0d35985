// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that die while they work on a table: at each step of the protocol (fault_points.def),
/// as owner, as waiter and as holder of the lease; and processes that are stopped.
#include <algorithm>

#include "broker/table/fault_points.hpp"
#include "test/broker/registration_worker.hpp"

namespace registration {
namespace {

constexpr std::uint32_t kEntries = 8;

const char* const kNames[] = {
#define FAULT_POINT(name) #name,
#include "broker/table/fault_points.def"
#undef FAULT_POINT
};

FaultPoint chosen;
unsigned passes;

void die_there(FaultPoint point) {
    if (point == chosen && passes-- == 0) kill(getpid(), SIGKILL);
}

/// Makes this process die at the point when it has passed it `after` times.
void die_at(FaultPoint point, unsigned after) {
    chosen = point;
    passes = after;
    at_fault_point = die_there;
}

Terms few() {
    return {.entries = kEntries,
            .bytes = kEntries,
            .grace = kMillisecond,
            .low = 1,
            .high = 2,
            .policy = "weighted-fair-lru"};
}

/// Two workers that must keep working whatever happens to other processes.
class Survivors {
  public:
    Survivors(const Place& place, Checker& checker) {
        for (int i = 0; i < 2; ++i)
            children_.push_back(std::make_unique<Child>([&](Channel&) {
                Worker worker(place, few(), checker);
                while (!checker.stop) worker.run(16);
                worker.leave();
            }));
    }
    void end(Checker& checker) {
        checker.stop = true;
        for (auto& child : children_) EXPECT_EQ(child->wait(), 0);
    }

  private:
    std::vector<std::unique_ptr<Child>> children_;
};

/// Checks what is left of a table: all entries can be taken, and all sums agree.
void expect_whole(const Place& place) {
    auto broker = place.join(few());
    std::vector<SlotId> slots;
    EXPECT_TRUE(eventually([&] {
        place.join(few());  // a process that joins looks for dead ones
        while (auto slot = broker->try_take({Class::kPinned, 1})) slots.push_back(*slot);
        return slots.size() == kEntries && broker->status().slots.size() == kEntries;
    })) << slots.size()
        << " of " << kEntries << " are there, slots in use: " << broker->status().slots.size();
    const TableStatus status = broker->status();
    EXPECT_EQ(status.entries, kEntries);
    EXPECT_EQ(status.bytes, kEntries);
    EXPECT_EQ(status.waiting, 0u);
}

/// Leaves work for a process that cleans up after others: dies with entries and with the table
/// locked.
void die_with_entries(const Place& place, Checker& checker) {
    Child dead([&](Channel&) {
        Worker worker(place, few(), checker);
        worker.run(20);
        worker.lead();
        die_at(FaultPoint::kLocked, 0);
        worker.run(100000);
    });
    EXPECT_EQ(dead.wait(), 128 + SIGKILL);
}

/// Runs a process that does everything there is to do. @return whether it has died at the point.
bool dies(const Place& place, Checker& checker, FaultPoint point, unsigned after) {
    Child victim([&](Channel&) {
        die_at(point, after);
        Worker worker(place, few(), checker);
        for (int i = 0; i < 20; ++i) {
            // Most steps are the leader's, so this process takes the lease from the others.
            if (point != FaultPoint::kLeaseTaken) worker.lead();
            worker.run(100);
        }
        if (point == FaultPoint::kLeaving) worker.leave_with_all();
        worker.leave();
    });
    die_with_entries(place, checker);
    const int status = victim.wait();
    EXPECT_TRUE(status == 0 || status == 128 + SIGKILL) << status;
    return status != 0;
}

class RegistrationDeath : public ::testing::TestWithParam<unsigned> {};

TEST_P(RegistrationDeath, LosesNoEntryAndEveryOtherWaiterIsServed) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer cannot follow threads after fork";
    const Place place;
    Checker& checker = *Checker::make(kEntries);
    auto keeps = place.join(few(), 0);  // keeps the table in existence
    Survivors survivors(place, checker);
    const auto point = static_cast<FaultPoint>(GetParam());
    unsigned tries = 0;
    EXPECT_TRUE(eventually([&] {
        const unsigned after = point == FaultPoint::kLeaving ? 0 : tries++ % 3;
        return dies(place, checker, point, after);
    })) << "it never came there";
    survivors.end(checker);
    EXPECT_EQ(checker.faults(), 0);
    EXPECT_EQ(checker.held(), 0u);
    expect_whole(place);
}

INSTANTIATE_TEST_SUITE_P(At, RegistrationDeath,
                         ::testing::Range(0u, static_cast<unsigned>(FaultPoint::kCount)),
                         [](const auto& info) { return std::string(kNames[info.param]); });

void stop_there(FaultPoint point) {
    if (point == chosen && passes-- == 0) raise(SIGSTOP);
}

/// Waits until a process is stopped.
void expect_stopped(pid_t pid) {
    int status = 0;
    ASSERT_TRUE(eventually([&] { return waitpid(pid, &status, WUNTRACED | WNOHANG) == pid; }));
    EXPECT_TRUE(WIFSTOPPED(status));
}

TEST(RegistrationStopped, NobodyWaitsForEverForATableThatAStoppedProcessHasLocked) {
    const Place place;
    auto broker = place.join(few());
    Child child([&](Channel& channel) {
        auto theirs = place.join(few());
        chosen = FaultPoint::kLocked;
        passes = 0;
        at_fault_point = stop_there;
        (void)theirs->try_take({});
        channel.meet();
    });
    expect_stopped(child.pid());
    const std::string told = test::captured_stderr([&] {
        EXPECT_EQ(broker->try_take({}).error(), Refusal::kBroken);
        EXPECT_EQ(broker->take({}, later()).error(), Refusal::kBroken);
        EXPECT_EQ(broker->queue({}).error(), Refusal::kBroken);
        EXPECT_FALSE(broker->next());
    });
    EXPECT_NE(told.find("DAT111"), std::string::npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    child.kill(SIGCONT);
    child.channel().meet();
    EXPECT_TRUE(eventually([&] { return broker->try_take({}).has_value(); })) << "it goes on";
    EXPECT_EQ(child.wait(), 0);
}

TEST(RegistrationStopped, TheLeaseOfAStoppedProcessPassesOn) {
    const Place place;
    auto broker = place.join(terms(kEntries, "none"));
    std::vector<SlotId> slots;
    for (std::uint32_t i = 0; i < kEntries; ++i) slots.push_back(take(*broker));
    Child child([&](Channel& channel) {
        auto theirs = place.join(terms(kEntries, "none"));
        theirs->lead();
        channel.send('l');
        for (;;) pause();  // so that it is not stopped while it has the table locked
    });
    child.channel().receive<char>();
    child.kill(SIGSTOP);
    expect_stopped(child.pid());
    ASSERT_TRUE(broker->queue({Class::kPinned, 1}));
    broker->release(slots[0]);
    EXPECT_TRUE(eventually([&] {
        broker->work();
        const auto upcall = broker->next();
        return upcall && upcall->kind == Upcall::Kind::kGranted;
    }));
    EXPECT_TRUE(broker->status().processes[0].holds_lease);
}

TEST(RegistrationStopped, AnEntryOfAStoppedProcessIsTakenBackWhenItDiesAndNotBefore) {
    const Place place;
    auto broker = place.join(terms(1));
    Child child([&](Channel& channel) {
        auto theirs = place.join(terms(1));
        take(*theirs);
        channel.send('t');
        for (;;) pause();
    });
    child.channel().receive<char>();
    child.kill(SIGSTOP);
    expect_stopped(child.pid());
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(broker->take({}, now() + 20 * kMillisecond).error(), Refusal::kTimedOut);
        return broker->status().slots.at(0).state == SlotState::kRevoked;
    }));
    EXPECT_EQ(broker->status().entries, 1u);
    ASSERT_TRUE(broker->queue({}));
    child.kill();
    EXPECT_TRUE(eventually([&] {
        broker->work();
        return broker->next().has_value();
    }));
    EXPECT_EQ(broker->status().reclaimed_from_dead, 1u);
}

}  // namespace
}  // namespace registration
