// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R1: a process takes all entries; then three others start, one after the other, each of which
/// wants a quarter.
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kProcesses = 4;
constexpr int kCapacity = 512;
constexpr int kShare = kCapacity / kProcesses;

struct State {
    Ledger ledger;
    std::atomic<int> stop;
    std::atomic<int> entries[kProcesses];
    std::atomic<std::uint64_t> uses[kProcesses];
};

/// Acquires the missing entries of `wanted` regions and uses the regions at random.
void work(State& state, const std::string& directory, const Terms& terms, int self, int wanted,
          test::Channel& channel) {
    Entries entries(directory, terms, state.ledger, wanted, {});
    channel.send('j');
    channel.receive_whenever<char>();
    std::mt19937 random(static_cast<unsigned>(self));
    for (int next = 0; state.stop == 0; next = (next + 1) % wanted) {
        if (!entries.has(next) && !entries.acquire(next, now() + 20 * kMillisecond))
            entries.end_use(next);
        int held = 0;
        for (int region = 0; region < wanted; ++region) held += entries.has(region);
        state.entries[self] = held;
        for (int i = 0; i < 8; ++i) {
            const int region = static_cast<int>(random() % static_cast<unsigned>(wanted));
            if (!entries.begin_use(region)) continue;
            ++state.uses[self];
            entries.end_use(region);
        }
        const timespec pause{0, held == wanted ? 1000000 : 50000};
        nanosleep(&pause, nullptr);
    }
    state.entries[self] = 0;
}

struct Course {
    double last_fairness = 0;
    double slowest_ms = 0;  ///< until a newcomer had nine tenths of its quarter
    int served = 0;         ///< newcomers that had it at some time
    double alone = 0;       ///< part of the table that the first process used while it was alone
};

Course run_policy(Experiment& experiment, Csv& csv, const std::string& policy) {
    const Run& run = experiment.run;
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 5 * kMillisecond;
    terms.policy = policy;
    std::vector<std::unique_ptr<test::Child>> crew;
    for (int self = 0; self < kProcesses; ++self) {
        crew.push_back(std::make_unique<test::Child>([&, self](test::Channel& channel) {
            work(*state, directory.path(), terms, self, self == 0 ? kCapacity : kShare, channel);
        }));
        crew.back()->channel().receive<char>();
    }
    const Time step = static_cast<Time>(run.seconds(1.0) * 1e9);
    const Time begin = now();
    Course course;
    Time started[kProcesses] = {}, served[kProcesses] = {};
    for (int there = 0; now() < begin + (kProcesses + 1) * step;) {
        const Time time = now();
        if (there < kProcesses && time >= begin + static_cast<Time>(there) * step) {
            if (there == 1) course.alone = static_cast<double>(state->entries[0]) / kCapacity;
            started[there] = time;
            crew[static_cast<std::size_t>(there++)]->channel().send('g');
        }
        std::vector<double> parts;
        int used = 0;
        for (int i = 0; i < there; ++i) {
            const int held = state->entries[i];
            used += held;
            // The first process is due an equal part of the table, a newcomer the quarter that it
            // wants.
            const double due = i == 0 ? static_cast<double>(kCapacity) / there : kShare;
            parts.push_back(std::min(1.0, held / due));
            if (i > 0 && served[i] == 0 && held >= kShare * 9 / 10) served[i] = time;
        }
        course.last_fairness = fairness(parts);
        csv.row("%s,%.1f,%d,%d,%d,%d,%.4f,%.4f", policy.c_str(),
                static_cast<double>(time - begin) / 1e6, state->entries[0].load(),
                state->entries[1].load(), state->entries[2].load(), state->entries[3].load(),
                course.last_fairness, static_cast<double>(used) / kCapacity);
        const timespec pause{0, 10000000};
        nanosleep(&pause, nullptr);
    }
    state->stop = 1;
    for (auto& child : crew) test::require(child->wait() == 0, "a process ends well");
    for (int i = 1; i < kProcesses; ++i) {
        if (served[i] == 0) continue;
        ++course.served;
        course.slowest_ms =
            std::max(course.slowest_ms, static_cast<double>(served[i] - started[i]) / 1e6);
    }
    Ledger& ledger = state->ledger;
    experiment.check(
        (policy + ": each entry has one owner, none is left, all waiters answered").c_str(),
        ledger.taken,
        ledger.wrong + ledger.held + ledger.unserved() + (ledger.most_held > kCapacity ? 1 : 0));
    return course;
}

}  // namespace

void newcomers(const Run& run) {
    Experiment experiment(run, "R1");
    Csv csv = experiment.csv("", "policy,ms,first,second,third,fourth,fairness,utilisation");
    const Course none = run_policy(experiment, csv, "none");
    const Course quota = run_policy(experiment, csv, "static-quota");
    const Course fair = run_policy(experiment, csv, "weighted-fair-lru");
    experiment.claim("today (none) a newcomer gets nothing beside a process that hoards",
                     none.served == 0 && none.last_fairness < 0.5,
                     "%d of 3 newcomers got their share, fairness index %.2f", none.served,
                     none.last_fairness);
    experiment.claim("static quotas are fair and waste what nobody uses",
                     quota.served == 3 && quota.alone < 0.5,
                     "%d of 3 served, the first alone used %.0f %% of the table", quota.served,
                     100 * quota.alone);
    experiment.claim(
        "weighted-fair-lru lets the first one have all, and newcomers have their share soon",
        fair.served == 3 && fair.alone > 0.9 && fair.last_fairness > 0.9,
        "%d of 3 served, the slowest after %.0f ms, the first alone used %.0f %%, fairness index "
        "%.2f",
        fair.served, fair.slowest_ms, 100 * fair.alone, fair.last_fairness);
}

}  // namespace registration
