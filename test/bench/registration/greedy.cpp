// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R15: a flow keeps as many transfers outstanding as it gets registrations for, in mode per-io. A
/// second flow joins it, and leaves again.
#include <deque>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kCapacity = 32;
constexpr std::size_t kBytes = 4096;
constexpr int kGreed = 48, kModesty = 16;  ///< transfers that a flow wants outstanding
enum { kAlone, kBeside, kAgain, kPhases };
constexpr const char* kPhaseNames[kPhases] = {"alone", "beside", "again"};

struct Flow {
    std::int32_t pid;
    std::atomic<std::uint64_t> ios, refused, failed, wrong;
};
struct State {
    Flow flows[2];
    std::atomic<int> phase;
    std::atomic<bool> over;
};

/// Posts until it has its depth or is refused, and then waits for the oldest transfer.
void flow(Writer& writer, State& state, Flow& own, int depth) {
    std::deque<int> outstanding;
    const auto reap = [&] {
        own.failed += !writer.reap();
        const int region = outstanding.front();
        outstanding.pop_front();
        if (outstanding.empty() && ++own.ios % 16 == 0) own.wrong += !writer.arrived(region);
        ++own.ios;
    };
    int next = 0;
    const auto is_wanted = [&] {
        return !state.over && (&own == &state.flows[0] || state.phase == kBeside);
    };
    while (is_wanted()) {
        while (static_cast<int>(outstanding.size()) < depth) {
            if (writer.post(next) != DAT_SUCCESS) {
                ++own.refused;
                break;
            }
            outstanding.push_back(next);
            next = (next + 1) % (2 * kGreed);
        }
        if (!outstanding.empty()) reap();
    }
    while (!outstanding.empty()) reap();
}

void work(Sink& sink, State& state, const Settings& settings, int self, test::Channel& channel) {
    settings.apply();
    Writer writer(sink, self, 2 * kGreed, kBytes);
    for (int region = 0; region < 2 * kGreed; ++region)
        test::succeed(writer.create(region), "dat_lmr_create");
    Flow& own = state.flows[self];
    own.pid = getpid();
    channel.send('r');
    channel.receive_whenever<char>();
    flow(writer, state, own, self == 0 ? kGreed : kModesty);
    channel.send('e');
}

/// Averages of a flow over the second half of a phase.
struct Share {
    double entries = 0, rate = 0;
};
struct Found {
    Share shares[kPhases][2];
};

/// Looks at the table for the length of a phase.
void watch(Csv& csv, const std::string& policy, const TableDirectory& directory, State& state,
           Time begin, Time length, Found& found) {
    const int phase = state.phase;
    const Time middle = now() + length / 2, end = now() + length;
    std::uint64_t looks = 0, before[2] = {0, 0};
    Time from = 0;
    while (now() < end) {
        double entries[2] = {0, 0};
        if (const auto table = directory.look())
            for (const auto& process : table->processes)
                for (int i = 0; i < 2; ++i)
                    if (process.pid == state.flows[i].pid)
                        entries[i] = static_cast<double>(process.entries);
        csv.row("%s,%s,%.0f,%.0f,%.0f", policy.c_str(), kPhaseNames[phase],
                in_us(now() - begin) / 1e3, entries[0], entries[1]);
        if (now() >= middle) {
            if (from == 0) {
                from = now();
                for (int i = 0; i < 2; ++i) before[i] = state.flows[i].ios;
            }
            ++looks;
            for (int i = 0; i < 2; ++i) found.shares[phase][i].entries += entries[i];
        }
        const timespec pause{0, 5000000};
        nanosleep(&pause, nullptr);
    }
    for (int i = 0; i < 2; ++i) {
        Share& share = found.shares[phase][i];
        share.entries /= static_cast<double>(looks ? looks : 1);
        share.rate = static_cast<double>(state.flows[i].ios - before[i]) * 1e9 /
                     static_cast<double>(now() - from);
    }
}

Found run_policy(Experiment& experiment, Csv& csv, const std::string& policy) {
    Shared<State> state;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = "per-io",
                            .policy = policy,
                            .entries = kCapacity,
                            .grace_us = 2000,
                            .wait_ms = 1};
    Sink sink(2, kBytes);
    test::Child greedy([&](test::Channel& channel) { work(sink, *state, settings, 0, channel); });
    test::Child modest([&](test::Channel& channel) { work(sink, *state, settings, 1, channel); });
    for (test::Child* child : {&greedy, &modest}) child->channel().receive<char>();
    Found found;
    const Time begin = now();
    for (int phase = 0; phase < kPhases; ++phase) {
        state->phase = phase;
        if (phase == kAlone) greedy.channel().send('g');
        if (phase == kBeside) modest.channel().send('g');
        watch(csv, policy, directory, *state, begin,
              static_cast<Time>(experiment.run.seconds(phase == kAgain ? 4 : 2) * 1e9), found);
    }
    state->over = true;
    for (test::Child* child : {&modest, &greedy}) {
        child->channel().receive_whenever<char>();
        test::require(child->wait(120s) == 0, "a flow ends well");
    }
    sink.end();
    std::uint64_t ios = 0, wrong = 0;
    for (const Flow& each : state->flows) {
        ios += each.ios;
        wrong += each.wrong + each.failed;
    }
    experiment.check((policy + ": what transfers brought").c_str(), ios, wrong);
    return found;
}

}  // namespace

void greedy(const Run& run) {
    Experiment experiment(run, "R15");
    Csv csv = experiment.csv("", "policy,phase,ms,greedy,modest");
    const Found none = run_policy(experiment, csv, "none");
    const Found fair = run_policy(experiment, csv, "weighted-fair-lru");
    const auto& [alone, beside, again] = fair.shares;
    experiment.claim(
        "alone a greedy flow has the whole table outstanding; beside another one its window "
        "shrinks, and that one has what it wants",
        alone[0].entries > 0.9 * kCapacity && beside[1].entries > 0.75 * kModesty,
        "weighted-fair-lru: %.1f of %d entries alone, %.1f beside %.1f of %d wanted (none: %.1f, "
        "%.1f beside %.1f)",
        alone[0].entries, kCapacity, beside[0].entries, beside[1].entries, kModesty,
        none.shares[kAlone][0].entries, none.shares[kBeside][0].entries,
        none.shares[kBeside][1].entries);
    experiment.claim("the window grows back when the other one has gone",
                     again[0].entries > 0.9 * kCapacity, "%.1f of %d entries", again[0].entries,
                     kCapacity);
    const auto together = [](const Found& found) {
        return found.shares[kBeside][0].rate + found.shares[kBeside][1].rate;
    };
    experiment.claim(
        "a smaller window costs throughput little: both together do as much as where none shrinks",
        together(fair) > 0.9 * together(none),
        "%.0f and %.0f I/Os a second (none: %.0f and %.0f; alone %.0f)", beside[0].rate,
        beside[1].rate, none.shares[kBeside][0].rate, none.shares[kBeside][1].rate, alone[0].rate);
}

}  // namespace registration
