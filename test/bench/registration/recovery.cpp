// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R7: a process is killed at each step of the protocol, in each of its roles: as an owner, as a
/// waiter, and as the holder of the lease. Measures how long it takes until the remaining process
/// has all entries, and whether any is lost. A separate program, with the fault points compiled in.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>
#include <random>

#include "broker/table/fault_points.hpp"
#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/results.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

using dapl::memory::at_fault_point;
using dapl::memory::FaultPoint;

constexpr int kCapacity = 16;
constexpr const char* kNames[] = {
#define FAULT_POINT(name) #name,
#include "broker/table/fault_points.def"
#undef FAULT_POINT
};
constexpr unsigned kPoints = static_cast<unsigned>(FaultPoint::kCount);

FaultPoint fatal{};
std::atomic<int> passes_left{0};

void die_here(FaultPoint point) {
    if (point != fatal || passes_left.fetch_sub(1) != 1) return;
    syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

Terms terms() {
    Terms result;
    result.entries = kCapacity;
    result.grace = kMillisecond;
    result.policy = "lru";
    return result;
}

/// Behaves so that it meets every step: takes, waits, uses, answers in each way, leaves.
void live(const std::string& directory, Ledger& ledger, unsigned seed,
          const std::atomic<int>& stop) {
    std::mt19937 random(seed);
    while (stop == 0) {
        Manners manners;
        manners.answers = random() % 4 != 0;
        std::mt19937 choices(seed + 1);
        manners.alternative = [&] {
            return static_cast<int>(choices() % (2 * kCapacity)) - kCapacity;
        };
        std::mt19937 moods(seed + 2);
        manners.refusal = [&]() -> Time { return moods() % 3 == 0 ? now() + 3 * kMillisecond : 0; };
        manners.named = true;
        Entries entries(directory, terms(), ledger, kCapacity, manners);
        entries.broker().set_enforcement([](void*, std::int32_t, std::uint32_t) { return true; },
                                         nullptr);
        for (int turn = 0; turn < 40 && stop == 0; ++turn) {
            const int region = static_cast<int>(random() % kCapacity);
            if (entries.begin_use(region) ||
                (!entries.has(region) && !entries.acquire(region, now() + 5 * kMillisecond)))
                entries.end_use(region);
            if (random() % 8 == 0) entries.give_back(region);
        }
    }
}

/// Pins nearly all entries and refuses to give up the rest, so that other processes wait without
/// success.
void be_in_the_way(const std::string& directory) {
    auto broker = Broker::join(directory, kAdapter, terms(), {});
    if (!broker) return;
    for (int i = 1; i < kCapacity; ++i)
        (void)(*broker)->take({Class::kPinned, 1}, now() + 5 * kMillisecond);
    const Time end = now() + 15 * kMillisecond;
    while (now() < end) {
        while (const auto upcall = (*broker)->next())
            if (upcall->kind == Upcall::Kind::kAnnounced)
                (*broker)->refuse(upcall->slot, now() + 5 * kMillisecond);
        if (const auto slot = (*broker)->try_take({Class::kRdma, 1})) {
            (*broker)->use(*slot).last_use = now();
            (*broker)->use(*slot).use_count = 1;
        }
        (*broker)->sleep(std::min((*broker)->work(), now() + kMillisecond));
    }
}

struct Death {
    bool reached = false;
    double recovery_ms = 0;
    int lost = 0;
    bool held_lease = false;
};

/// @param first whether the victim joins before the others, and so holds the lease.
Death kill_at(FaultPoint point, bool first, unsigned seed, Ledger& ledger) {
    const TableDirectory directory;
    Shared<std::atomic<int>> stop;
    std::unique_ptr<test::Child> victim, other;
    const auto begin_victim = [&] {
        victim = std::make_unique<test::Child>([&](test::Channel& channel) {
            fatal = point;
            std::mt19937 random(seed);
            passes_left = 1 + static_cast<int>(random() % 5);
            at_fault_point = die_here;
            channel.send('b');
            while (*stop == 0) {
                be_in_the_way(directory.path());
                std::atomic<int> no{0};
                std::thread ending([&] {
                    const timespec pause{0, 20000000};
                    nanosleep(&pause, nullptr);
                    no = 1;
                });
                live(directory.path(), ledger, seed, no);
                ending.join();
            }
        });
        victim->channel().receive<char>();
    };
    if (first) begin_victim();
    other = std::make_unique<test::Child>(
        [&](test::Channel&) { live(directory.path(), ledger, seed + 7, *stop); });
    if (!first) begin_victim();
    // For the fault points in repairs: another process that dies with the table locked.
    std::unique_ptr<test::Child> wrecker;
    Death death;
    const Time patience = now() + 2 * kSecond;
    int status = -1;
    const pid_t victims_pid = victim->pid();
    while ((status = victim->wait(1ms)) < 0 && now() < patience) {
        const bool needs_death = point == FaultPoint::kRepaired || point == FaultPoint::kReclaimed;
        if (needs_death) {
            wrecker = std::make_unique<test::Child>([&](test::Channel&) {
                fatal = FaultPoint::kSlotTaken;
                passes_left = 3;
                at_fault_point = die_here;
                std::atomic<int> no{0};
                live(directory.path(), ledger, seed + 9, no);
            });
            const pid_t pid = wrecker->pid();
            if (wrecker->wait(2s) < 0) wrecker->kill(), wrecker->wait();
            ledger.bury(pid);
        }
    }
    death.reached = status == 128 + SIGKILL;
    *stop = 1;
    if (status < 0) victim->kill(), victim->wait();
    const Time begin = now();
    ledger.bury(victims_pid);
    // The remaining process wants everything.
    {
        Entries entries(directory.path(), terms(), ledger, kCapacity, {});
        const auto take_all = [&] {
            int missing = 0;
            for (int region = 0; region < kCapacity; ++region) {
                // Fails at once while the other process, which is about to end, refuses.
                const Time deadline = now() + 20 * kSecond;
                if (entries.has(region)) continue;
                auto refused = entries.acquire(region, deadline);
                while (refused && now() < deadline) refused = entries.acquire(region, deadline);
                if (refused)
                    ++missing;
                else
                    entries.end_use(region);
            }
            return missing;
        };
        take_all();
        death.recovery_ms = static_cast<double>(now() - begin) / 1e6;
        test::require(other->wait() == 0, "the other process ends well");
        // The other may have got some back before it ended, and the agent here may still give up
        // what the other asked for. An entry is lost if it cannot be had again.
        const Time deadline = now() + 20 * kSecond;
        std::uint64_t in_use = 0;
        do {
            death.lost = take_all();
            const auto table = dapl::memory::look(directory.path(), kAdapter);
            test::require(table.has_value(), "the table can be read");
            in_use = table->entries;
        } while (death.lost == 0 && in_use != kCapacity && now() < deadline);
        if (in_use != kCapacity - static_cast<std::uint64_t>(death.lost)) ++death.lost;
    }
    return death;
}

void run_all(const Run& run) {
    Experiment experiment(run, "R7");
    Csv csv =
        experiment.csv("", "point,part,deaths,entries_lost,recovery_ms_median,recovery_ms_most");
    Shared<Ledger> ledger;
    std::vector<double> all;
    int lost = 0, deaths = 0, met = 0;
    const int rounds = run.count(3);
    for (unsigned point = 0; point < kPoints; ++point) {
        bool reached = false;
        for (const bool first : {true, false}) {
            std::vector<double> times;
            int lost_here = 0;
            for (int round = 0; round < rounds; ++round) {
                const Death death = kill_at(static_cast<FaultPoint>(point), first,
                                            static_cast<unsigned>(round) * 31 + point + 1, *ledger);
                lost_here += death.lost;
                if (!death.reached) continue;
                reached = true;
                times.push_back(death.recovery_ms);
                all.push_back(death.recovery_ms);
            }
            lost += lost_here;
            deaths += static_cast<int>(times.size());
            csv.row("%s,%s,%zu,%d,%.2f,%.2f", kNames[point] + 1, first ? "first" : "later",
                    times.size(), lost_here, percentile(times, 0.5), percentile(times, 1));
        }
        met += reached;
    }
    experiment.check("entries after each death: one owner each, none is left", ledger->taken,
                     ledger->wrong + static_cast<std::uint64_t>(lost));
    experiment.claim("a process killed at any step of the protocol loses no entry", lost == 0,
                     "%d deaths at %d of %u steps, %d entries lost", deaths, met, kPoints, lost);
    experiment.claim("the others have all entries within a second", percentile(all, 1) < 1000,
                     "median %.1f ms, at most %.1f ms", percentile(all, 0.5), percentile(all, 1));
}

}  // namespace
}  // namespace registration

int main(int argc, char** argv) {
    registration::Run run;
    int first = 1;
    if (argc > first && std::strcmp(argv[first], "--short") == 0) run.scale = 0.34, ++first;
    if (argc <= first) {
        std::fprintf(stderr, "usage: registration_recovery [--short] DIRECTORY\n");
        return 2;
    }
    run.directory = argv[first];
    mkdir(run.directory.c_str(), 0755);
    try {
        registration::run_all(run);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "R7: %s\n", error.what());
        return 1;
    }
    return registration::Experiment::failed ? 1 : 0;
}
