// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R6: one of two processes needs none of its entries and reports the contrary. Measures what the
/// other one gets, whose working set is three quarters of the table.
#include <map>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kCapacity = 200;
constexpr int kWorkingSet = 150;

enum class Neighbour { kHonest, kLiar };

struct State {
    Ledger ledger;
    std::atomic<int> stop;
    std::atomic<std::uint64_t> ios, hits, held;
    std::atomic<std::uint64_t> rounds;
};

/// Acquires as many entries as it can and uses none; a liar reports that it uses them.
void hoard(State& state, const std::string& directory, const Terms& terms, Neighbour kind,
           test::Channel& channel) {
    Entries entries(directory, terms, state.ledger, kCapacity, {});
    bool told = false;
    while (state.stop == 0) {
        for (int region = 0; region < kCapacity && state.stop == 0; ++region) {
            if (!entries.has(region) && !entries.acquire(region, now() + kMillisecond))
                entries.end_use(region);
            if (kind == Neighbour::kLiar) entries.pretend(region);
        }
        if (!told) channel.send('h'), told = true;
        const timespec pause{0, 500000};
        nanosleep(&pause, nullptr);
        if (kind == Neighbour::kHonest)
            while (state.stop == 0) nanosleep(&pause, nullptr);
    }
}

double run_with(Experiment& experiment, Csv& csv, const char* policy, Neighbour kind) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 2 * kMillisecond;
    terms.policy = policy;
    test::Child neighbour(
        [&](test::Channel& channel) { hoard(*state, directory.path(), terms, kind, channel); });
    neighbour.channel().receive<char>();
    {
        Entries entries(directory.path(), terms, state->ledger, kWorkingSet, {});
        std::mt19937 random(5);
        const Time begin = now(), end = begin + static_cast<Time>(experiment.run.seconds(4) * 1e9);
        while (now() < end) {
            const bool counts = now() > begin + (end - begin) / 4;
            const int region = static_cast<int>(random() % kWorkingSet);
            state->ios += counts;
            if (entries.begin_use(region)) {
                state->hits += counts;
            } else if (entries.has(region) || entries.acquire(region, now() + 20 * kMillisecond)) {
                continue;
            }
            const timespec pause{0, 20000};
            nanosleep(&pause, nullptr);
            entries.end_use(region);
        }
        for (int region = 0; region < kWorkingSet; ++region) state->held += entries.has(region);
        state->stop = 1;
    }
    test::require(neighbour.wait() == 0, "the neighbour ends well");
    const double rate = static_cast<double>(state->hits) / static_cast<double>(state->ios + 1);
    csv.row("%s,%s,%llu,%.4f,%llu", policy, kind == Neighbour::kLiar ? "liar" : "honest",
            static_cast<unsigned long long>(state->ios), rate,
            static_cast<unsigned long long>(state->held));
    Ledger& ledger = state->ledger;
    experiment.check(
        policy, ledger.taken,
        ledger.wrong + ledger.held + ledger.unserved() + (ledger.most_held > kCapacity ? 1 : 0));
    return rate;
}

}  // namespace

void liars(const Run& run) {
    Experiment experiment(run, "R6");
    Csv csv = experiment.csv("", "policy,neighbour,ios,hit_rate,entries");
    std::map<std::string, double> damage;
    double honest_lru = 0, liar_fair = 0;
    for (const char* policy : {"lru", "lfu", "clock", "random", "weighted-fair-lru"}) {
        const double honest = run_with(experiment, csv, policy, Neighbour::kHonest);
        const double liar = run_with(experiment, csv, policy, Neighbour::kLiar);
        damage[policy] = honest - liar;
        if (policy == std::string("lru")) honest_lru = honest;
        if (policy == std::string("weighted-fair-lru")) liar_fair = liar;
    }
    // The honest process's share of 100 entries holds two thirds of its working set.
    experiment.claim("who lies about his use takes from the others where the policy believes him",
                     damage["lru"] > 0.1 && damage["clock"] > 0.1,
                     "hit rate lost by lru %.2f, lfu %.2f, clock %.2f", damage["lru"],
                     damage["lfu"], damage["clock"]);
    experiment.claim("weighted-fair-lru bounds the damage: the honest one keeps its share",
                     liar_fair > 0.6 && damage["weighted-fair-lru"] < damage["lru"] + 0.05,
                     "hit rate %.2f beside a liar (its share alone gives 0.67; beside an honest "
                     "one lru gives %.2f)",
                     liar_fair, honest_lru);
}

}  // namespace registration
