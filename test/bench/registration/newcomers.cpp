// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R1: a process registers the whole table and writes from all of it; then three others start, one
/// after the other, each of which wants a quarter.
#include <array>
#include <deque>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kProcesses = 4;
constexpr int kCapacity = 256;
constexpr int kShare = kCapacity / kProcesses;
constexpr std::size_t kBytes = 4096;

struct State {
    std::atomic<bool> stop;
    std::atomic<std::int32_t> pids[kProcesses];
    std::atomic<std::uint64_t> ios[kProcesses], wrong;
};

/// Registers a region, in place of the oldest ones of this process if there is no entry in time.
/// @param registered the oldest one first.
bool register_in_place(Writer& writer, std::deque<int>& registered, int region) {
    constexpr DAT_TIMEOUT kPatience = 20'000;  // us
    for (DAT_TIMEOUT patience = kPatience; writer.create_wait(region, patience) != DAT_SUCCESS;
         patience = 0) {
        if (registered.empty()) return false;
        writer.free(registered.front());
        registered.pop_front();
    }
    registered.push_back(region);
    return true;
}

/// Writes from `wanted` regions at random, and registers each when it is needed.
void work(Sink& sink, State& state, const Settings& settings, int self, int wanted,
          test::Channel& channel) {
    settings.apply();
    Writer writer(sink, self, wanted, kBytes);
    state.pids[self] = getpid();
    channel.send('j');
    channel.receive_whenever<char>();
    std::mt19937 random(static_cast<unsigned>(self));
    std::deque<int> registered;
    for (int next = 0; !state.stop;) {
        // All regions in their order first, so that the table is soon full.
        const int region =
            next < wanted ? next++ : static_cast<int>(random() % static_cast<unsigned>(wanted));
        if (!writer.is_registered(region) && !register_in_place(writer, registered, region))
            continue;
        DAT_RETURN code{};
        if (!writer.write(region, code)) {  // its registration was revoked
            writer.free(region);
            std::erase(registered, region);
            continue;
        }
        if (++state.ios[self] % 16 == 0) state.wrong += !writer.arrived(region);
    }
}

struct Course {
    double last_fairness = 0;
    double slowest_ms = 0;  ///< until a newcomer had nine tenths of its quarter
    int served = 0;         ///< newcomers that had it at some time
    double alone = 0;       ///< part of the table that the first process had while it was alone
    double first_rate = 0;  ///< I/Os a second of the first process, with all four there
    double least_rate = 0;  ///< of the slowest newcomer
    double alone_rate = 0;  ///< of the first process while it was alone
};

/// The entries of each process, and of all together, as the table has them.
struct Holdings {
    std::array<int, kProcesses> entries{};
    std::uint64_t all = 0;
};

Holdings look(const TableDirectory& directory, const State& state) {
    Holdings found;
    const auto table = directory.look();
    if (!table) return found;
    found.all = table->entries;
    for (const auto& process : table->processes)
        for (std::size_t i = 0; i < kProcesses; ++i)
            if (process.pid == state.pids[i]) found.entries[i] = static_cast<int>(process.entries);
    return found;
}

Course run_policy(Experiment& experiment, Csv& csv, const std::string& policy) {
    Shared<State> state;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = "on",
                            .policy = policy,
                            .entries = kCapacity,
                            .grace_us = 5000};
    Sink sink(kProcesses, kBytes);
    std::vector<std::unique_ptr<test::Child>> crew;
    for (int self = 0; self < kProcesses; ++self) {
        crew.push_back(std::make_unique<test::Child>([&, self](test::Channel& channel) {
            work(sink, *state, settings, self, self == 0 ? kCapacity : kShare, channel);
        }));
        crew.back()->channel().receive<char>();
    }
    const Time step = static_cast<Time>(experiment.run.seconds(1.0) * 1e9);
    const Time begin = now();
    Course course;
    Time started[kProcesses] = {}, served[kProcesses] = {};
    std::uint64_t before[kProcesses] = {}, looks = 0, beyond = 0;
    Time from = begin;
    const auto rate = [&](int process) {
        return static_cast<double>(state->ios[process] - before[process]) * 1e9 /
               static_cast<double>(now() - from);
    };
    for (int there = 0; now() < begin + (kProcesses + 1) * step;) {
        const Time time = now();
        const Holdings table = look(directory, *state);
        ++looks;
        beyond += table.all > kCapacity;
        if (there < kProcesses && time >= begin + static_cast<Time>(there) * step) {
            if (there == 1) {
                course.alone = static_cast<double>(table.entries[0]) / kCapacity;
                course.alone_rate = rate(0);
            }
            started[there] = from = time;
            for (int i = 0; i < kProcesses; ++i) before[i] = state->ios[i];
            crew[static_cast<std::size_t>(there++)]->channel().send('g');
        }
        std::vector<double> parts;
        for (int i = 0; i < there; ++i) {
            const int held = table.entries[static_cast<std::size_t>(i)];
            // The first process is due an equal part of the table, a newcomer the quarter that it
            // wants.
            const double due = i == 0 ? static_cast<double>(kCapacity) / there : kShare;
            parts.push_back(std::min(1.0, held / due));
            if (i > 0 && served[i] == 0 && held >= kShare * 9 / 10) served[i] = time;
        }
        course.last_fairness = fairness(parts);
        csv.row("%s,%.1f,%d,%d,%d,%d,%.4f,%.4f", policy.c_str(),
                static_cast<double>(time - begin) / 1e6, table.entries[0], table.entries[1],
                table.entries[2], table.entries[3], course.last_fairness,
                static_cast<double>(table.all) / kCapacity);
        const timespec pause{0, 10000000};
        nanosleep(&pause, nullptr);
    }
    course.first_rate = rate(0);
    course.least_rate = std::min({rate(1), rate(2), rate(3)});
    state->stop = true;
    for (auto& child : crew) test::require(child->wait(120s) == 0, "a process ends well");
    sink.end();
    std::uint64_t ios = 0;
    for (const auto& one : state->ios) ios += one;
    for (int i = 1; i < kProcesses; ++i) {
        if (served[i] == 0) continue;
        ++course.served;
        course.slowest_ms =
            std::max(course.slowest_ms, static_cast<double>(served[i] - started[i]) / 1e6);
    }
    experiment.check((policy + ": what transfers brought, entries within the table").c_str(),
                     ios / 16 + looks, state->wrong + beyond);
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
    experiment.claim(
        "so newcomers get as much done as with static quotas, and the first one alone more",
        fair.least_rate > 0.8 * quota.least_rate && fair.alone_rate > 1.1 * quota.alone_rate,
        "I/Os a second of the slowest newcomer: weighted-fair-lru %.0f, static-quota %.0f, none "
        "%.0f; of the first one alone %.0f, %.0f, %.0f; beside the others %.0f, %.0f, %.0f",
        fair.least_rate, quota.least_rate, none.least_rate, fair.alone_rate, quota.alone_rate,
        none.alone_rate, fair.first_rate, quota.first_rate, none.first_rate);
}

}  // namespace registration
