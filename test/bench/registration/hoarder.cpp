// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R2: one process registers as much as it can and uses none of it; another one writes from a
/// working set of nine tenths of the table. In the end the first one wants half of it again.
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kCapacity = 128;
constexpr int kWorkingSet = kCapacity * 9 / 10;
constexpr std::size_t kBytes = 16384;

constexpr long kGraceUs = 2000;
/// The parts of the busy process's time after which its work counts, and until which.
constexpr double kCountsFrom = 0.25, kCountsUntil = 0.85;

Time part(Time length, double of) {
    return static_cast<Time>(static_cast<double>(length) * of);
}

struct State {
    std::atomic<int> stop;
    std::atomic<std::uint64_t> ios, misses, wrong, failed;
    std::atomic<int> busy_has, idle_has;
    std::atomic<std::uint64_t> busy_ns;
    std::atomic<int> came_back;
    std::atomic<std::uint64_t> back_ns;  ///< how long it waited for one entry, by the median
};

/// Wants its share again, one entry after the other.
void come_back(Writer& writer, State& state) {
    std::vector<double> waits;
    for (int region = 0; region < kCapacity / 2; ++region) {
        if (writer.is_registered(region)) writer.free(region);
        const Time begin = now();
        if (writer.create_wait(region, 100'000) != DAT_SUCCESS) continue;
        waits.push_back(static_cast<double>(now() - begin));
        DAT_RETURN code{};
        writer.write(region, code);
    }
    state.came_back = static_cast<int>(waits.size());
    state.back_ns = static_cast<std::uint64_t>(percentile(waits, 0.5));
}

void be_idle(Sink& sink, State& state, const Settings& settings, test::Channel& channel) {
    settings.apply();
    Writer writer(sink, 0, kCapacity, kBytes);
    channel.send('j');
    channel.receive<char>();
    int has = 0;
    while (has < kCapacity && writer.create_wait(has, 0) == DAT_SUCCESS) {
        DAT_RETURN code{};
        if (writer.write(has, code)) ++has;
    }
    state.idle_has = has;
    channel.send('h');
    channel.receive_whenever<char>();
    come_back(writer, state);
    channel.send('b');
    channel.receive_whenever<char>();
}

void be_busy(Sink& sink, State& state, const Settings& settings, test::Channel& channel,
             Time length) {
    settings.apply();
    Writer writer(sink, 1, kWorkingSet, kBytes);
    channel.send('j');
    channel.receive_whenever<char>();
    std::vector<int> order;  // the registered regions, the most recently used one last
    const auto touch = [&](int region) {
        std::erase(order, region);
        order.push_back(region);
    };
    std::mt19937 random(1);
    const Time begin = now();
    while (now() < begin + length) {
        const bool counts = now() > begin + part(length, kCountsFrom) && state.busy_ns == 0;
        if (state.busy_ns == 0 && now() > begin + part(length, kCountsUntil)) {
            state.busy_has = static_cast<int>(order.size());
            state.busy_ns = now() - begin - part(length, kCountsFrom);
        }
        const int region = static_cast<int>(random() % kWorkingSet);
        if (!writer.is_registered(region)) {
            state.misses += counts;
            // Without success in 50 ms, it frees its own oldest registrations until there is one.
            for (DAT_TIMEOUT patience = 50000; writer.create_wait(region, patience) != DAT_SUCCESS;
                 patience = 0) {
                if (order.empty()) break;
                writer.free(order.front());
                order.erase(order.begin());
            }
            if (!writer.is_registered(region)) {
                ++state.failed;
                continue;
            }
        }
        DAT_RETURN code{};
        if (!writer.write(region, code)) {
            // The registration was revoked; it is renewed when the region is needed again.
            writer.free(region);
            std::erase(order, region);
            continue;
        }
        touch(region);
        state.wrong += !writer.arrived(region);
        state.ios += counts;
    }
}

struct Found {
    double rate, busy_part, back_ms;
    int came_back;
};

Found run_policy(Experiment& experiment, Csv& csv, const std::string& policy) {
    Shared<State> state;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = "on",
                            .policy = policy,
                            .entries = kCapacity,
                            .grace_us = kGraceUs};
    Sink sink(2, kBytes);
    test::Child idle([&](test::Channel& channel) { be_idle(sink, *state, settings, channel); });
    idle.channel().receive<char>();
    const Time length = static_cast<Time>(experiment.run.seconds(5) * 1e9);
    test::Child busy(
        [&](test::Channel& channel) { be_busy(sink, *state, settings, channel, length); });
    busy.channel().receive<char>();
    idle.channel().send('g');
    idle.channel().receive<char>();
    busy.channel().send('g');
    test::require(test::eventually([&] { return state->busy_ns != 0; }), "its work is counted");
    idle.channel().send('r');
    test::require(busy.wait(120s) == 0, "the busy process ends well");
    idle.channel().receive_whenever<char>();
    idle.channel().send('e');
    test::require(idle.wait() == 0, "the idle process ends well");
    sink.end();
    const double rate = static_cast<double>(state->ios) * 1e9 / static_cast<double>(state->busy_ns);
    const double busy_part = static_cast<double>(state->busy_has) / kCapacity;
    const double back_ms = static_cast<double>(state->back_ns) / 1e6;
    csv.row("%s,%d,%d,%.0f,%.1f,%.3f,%d,%.2f", policy.c_str(), state->idle_has.load(),
            state->busy_has.load(), rate,
            1000.0 * static_cast<double>(state->misses) / static_cast<double>(state->ios + 1),
            busy_part, state->came_back.load(), back_ms);
    experiment.check((policy + ": what each transfer brought").c_str(), state->ios, state->wrong);
    return {rate, busy_part, back_ms, state->came_back};
}

}  // namespace

void hoarder(const Run& run) {
    Experiment experiment(run, "R2");
    Csv csv = experiment.csv("",
                             "policy,idle_took,busy_entries,ios_per_second,registrations_per_1000,"
                             "busy_part,came_back,back_ms");
    const Found none = run_policy(experiment, csv, "none");
    const Found quota = run_policy(experiment, csv, "static-quota");
    const Found lru = run_policy(experiment, csv, "lru");
    const Found fair = run_policy(experiment, csv, "weighted-fair-lru");
    experiment.claim(
        "what nobody uses goes to who needs it: the busy one has nearly its working set, by lru "
        "and "
        "by weighted-fair-lru, which lends it out",
        lru.busy_part > 0.8 && fair.busy_part > 0.8,
        "lru %.0f %% of the table, weighted-fair-lru %.0f %%; none %.0f %%, static-quota %.0f %%",
        100 * lru.busy_part, 100 * fair.busy_part, 100 * none.busy_part, 100 * quota.busy_part);
    experiment.claim("it gets more done than under a static quota",
                     lru.rate > 1.05 * quota.rate && fair.rate > 1.05 * quota.rate,
                     "lru %.0f I/Os a second, weighted-fair-lru %.0f, static-quota %.0f, none %.0f",
                     lru.rate, fair.rate, quota.rate, none.rate);
    experiment.claim(
        "what weighted-fair-lru has lent comes back within one notice when its owner wants it",
        fair.came_back == kCapacity / 2 && fair.back_ms < 1.5e-3 * kGraceUs,
        "%d of %d entries, %.2f ms for each by the median (T is %.0f ms); lru %d, %.2f ms",
        fair.came_back, kCapacity / 2, fair.back_ms, 1e-3 * kGraceUs, lru.came_back, lru.back_ms);
}

}  // namespace registration
