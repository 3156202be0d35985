// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R8: a process has the whole table, for messages or for RDMA, and another one wants half of it.
/// Measures how long it takes until the other one has that.
#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kCapacity = 256;
constexpr Time kGrace = 20 * kMillisecond;
constexpr Time kUse = 5 * kMillisecond;

enum class Load { kMessaging, kIdle, kInUse, kSilent };
constexpr const char* kNames[] = {"messaging", "rdma idle", "rdma in use", "rdma silent"};

struct State {
    Ledger ledger;
    std::atomic<int> stop;
    std::atomic<std::uint64_t> cut;
};

void hold_all(State& state, const std::string& directory, const Terms& terms, Load load,
              test::Channel& channel) {
    Manners manners;
    manners.kind = load == Load::kMessaging ? Class::kMessaging : Class::kRdma;
    manners.answers = load != Load::kSilent;
    Entries entries(directory, terms, state.ledger, kCapacity, manners);
    for (int region = 0; region < kCapacity; ++region) {
        test::require(!entries.acquire(region, now() + kSecond), "an entry");
        entries.end_use(region);
    }
    channel.send('h');
    // With kInUse nearly every region is in use all the time; all transfers last equally long.
    while (state.stop == 0) {
        std::vector<int> used;
        if (load == Load::kInUse)
            for (int region = 0; region < kCapacity; ++region)
                if (entries.begin_use(region)) used.push_back(region);
        const timespec pause{0, static_cast<long>(kUse)};
        nanosleep(&pause, nullptr);
        for (const int region : used) entries.end_use(region);
    }
    state.cut += entries.failed_uses();
}

struct Given {
    double first_ms, half_ms;
};

Given run_load(Experiment& experiment, Csv& csv, Load load, int round) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = kGrace;
    terms.policy = "weighted-fair-lru";
    test::Child holder(
        [&](test::Channel& channel) { hold_all(*state, directory.path(), terms, load, channel); });
    holder.channel().receive<char>();
    Given given{};
    {
        Entries entries(directory.path(), terms, state->ledger, kCapacity, {});
        const Time begin = now();
        std::atomic<int> got{0};
        for (int region = 0; region < kCapacity / 2; ++region)
            test::require(!entries.request(region, [&](auto why) { got += !why; }), "a ticket");
        for (int last = 0; last < kCapacity / 2 && now() < begin + 30 * kSecond;) {
            const int there = got;
            const double ms = static_cast<double>(now() - begin) / 1e6;
            if (there != last)
                csv.row("%s,%d,%.3f,%d", kNames[static_cast<int>(load)], round, ms, there);
            if (last == 0 && there > 0) given.first_ms = ms;
            if (there == kCapacity / 2) given.half_ms = ms;
            last = there;
            const timespec pause{0, 100000};
            nanosleep(&pause, nullptr);
        }
    }
    state->stop = 1;
    test::require(holder.wait() == 0, "the holder ends well");
    Ledger& ledger = state->ledger;
    experiment.check(kNames[static_cast<int>(load)], ledger.taken,
                     ledger.wrong + ledger.held + ledger.unserved() + (given.half_ms == 0) +
                         (load == Load::kInUse ? state->cut.load() : 0));
    return given;
}

}  // namespace

void classes(const Run& run) {
    Experiment experiment(run, "R8");
    Csv csv = experiment.csv("", "load,round,ms,given");
    double half[4] = {};
    const int rounds = run.count(10);
    for (const Load load : {Load::kMessaging, Load::kIdle, Load::kInUse, Load::kSilent}) {
        std::vector<double> times;
        for (int round = 0; round < rounds; ++round)
            times.push_back(run_load(experiment, csv, load, round).half_ms);
        half[static_cast<int>(load)] = percentile(times, 0.5);
    }
    const double grace = static_cast<double>(kGrace) / 1e6;
    experiment.claim("buffers for messages come back without waiting for the grace period",
                     half[0] < grace && half[0] < half[3],
                     "half of the table in %.1f ms, T is %.0f ms", half[0], grace);
    experiment.claim("those for RDMA come back when their use ends, at T at the latest",
                     half[2] < grace && half[3] >= grace * 0.9,
                     "idle %.1f ms, in use for %.0f ms %.1f ms, owner silent %.1f ms", half[1],
                     static_cast<double>(kUse) / 1e6, half[2], half[3]);
}

}  // namespace registration
