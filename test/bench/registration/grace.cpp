// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R3: an owner has transfers of random duration in progress all the time, and gives up an entry
/// when its transfer has ended; another process wants entries. Measures for each T how many
/// transfers are cut off, and how long the other process waits.
#include <cmath>
#include <queue>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kCapacity = 32;
constexpr int kWanted = 4;
constexpr double kMean = 2e6;  ///< ns, mean duration of a transfer

enum class Delays { kExponential, kPareto, kSlowConsumer };
constexpr const char* kNames[] = {"exponential", "pareto", "slow consumer"};

struct State {
    Ledger ledger;
    Samples waits;  ///< us
    std::atomic<int> stop;
    std::atomic<std::uint64_t> transfers, cut, failed;
};

Time length_of(Delays delays, std::mt19937& random) {
    if (delays != Delays::kPareto)
        return static_cast<Time>(std::exponential_distribution<>(1 / kMean)(random));
    constexpr double kShape = 1.5;  // infinite variance
    constexpr double kLeast = kMean * (kShape - 1) / kShape;
    const double part = std::uniform_real_distribution<>(1e-9, 1)(random);
    return static_cast<Time>(kLeast / std::pow(part, 1 / kShape));
}

/// Keeps a transfer in progress on each region: starts the next one as soon as one has ended.
void transfer(State& state, const std::string& directory, const Terms& terms, Delays delays,
              test::Channel& channel) {
    std::mt19937 random(1), slowness(2);
    Manners manners;
    if (delays == Delays::kSlowConsumer)
        manners.answer_delay = [&] {
            return static_cast<Time>(std::exponential_distribution<>(1 / (5 * kMean))(slowness));
        };
    Entries entries(directory, terms, state.ledger, kCapacity, manners);
    using End = std::pair<Time, int>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<int> idle;
    for (int region = 0; region < kCapacity; ++region) idle.push_back(region);
    bool told = false;
    while (state.stop == 0) {
        std::vector<int> left;
        for (const int region : idle) {
            const bool begun =
                entries.begin_use(region) || (!entries.has(region) && !entries.acquire(region, 0));
            if (!begun) {
                left.push_back(region);
                continue;
            }
            ++state.transfers;
            ends.push({now() + length_of(delays, random), region});
        }
        idle = left;
        if (!told) channel.send('b'), told = true;
        const Time next = ends.empty() ? now() + kMillisecond / 2 : ends.top().first;
        const Time pause = std::min(next > now() ? next - now() : 0, kMillisecond / 2);
        const timespec rest{0, static_cast<long>(pause)};
        nanosleep(&rest, nullptr);
        while (!ends.empty() && ends.top().first <= now()) {
            entries.end_use(ends.top().second);
            idle.push_back(ends.top().second);
            ends.pop();
        }
    }
    state.cut = entries.failed_uses();
}

struct Found {
    double failed_per_million, p50, p99;
};

Found run_grace(Experiment& experiment, Csv& csv, Delays delays, Time grace) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = grace;
    terms.policy = "lru";
    test::Child owner([&](test::Channel& channel) {
        transfer(*state, directory.path(), terms, delays, channel);
    });
    owner.channel().receive<char>();
    {
        // Acquires some entries, and again after a pause in which the owner has got them back.
        Entries entries(directory.path(), terms, state->ledger, kWanted, {});
        const Time end = now() + static_cast<Time>(experiment.run.seconds(3) * 1e9);
        while (now() < end) {
            for (int region = 0; region < kWanted && now() < end; ++region) {
                const Time begin = now();
                if (entries.has(region) || entries.acquire(region, now() + 20 * kSecond)) continue;
                state->waits.add(in_us(now() - begin));
                entries.end_use(region);
            }
            for (int region = 0; region < kWanted; ++region) entries.give_back(region);
            const timespec rest{0, 3000000};
            nanosleep(&rest, nullptr);
        }
        state->stop = 1;
        test::require(owner.wait() == 0, "the owner ends well");
    }
    std::vector<double> waits = state->waits.all();
    const Found found{
        1e6 * static_cast<double>(state->cut) / static_cast<double>(state->transfers + 1),
        percentile(waits, 0.5), percentile(waits, 0.99)};
    const char* const name = kNames[static_cast<int>(delays)];
    csv.row("%s,%.0f,%llu,%llu,%.1f,%zu,%.1f,%.1f", name, in_us(grace),
            static_cast<unsigned long long>(state->transfers),
            static_cast<unsigned long long>(state->cut), found.failed_per_million, waits.size(),
            found.p50, found.p99);
    Ledger& ledger = state->ledger;
    // An acquire() with deadline 0, as the owner makes it, is refused at once and counts as served.
    experiment.check(
        name, ledger.taken,
        ledger.wrong + ledger.held + ledger.unserved() + (ledger.most_held > kCapacity ? 1 : 0));
    return found;
}

}  // namespace

void grace(const Run& run) {
    Experiment experiment(run, "R3");
    Csv csv =
        experiment.csv("", "delays,grace_us,transfers,cut,failed_per_million,waits,p50_us,p99_us");
    Found shortest[3], longest[3], ten[3];
    for (const Delays delays : {Delays::kExponential, Delays::kPareto, Delays::kSlowConsumer}) {
        const int i = static_cast<int>(delays);
        shortest[i] = run_grace(experiment, csv, delays, kMillisecond / 10);
        run_grace(experiment, csv, delays, kMillisecond);
        run_grace(experiment, csv, delays, 3 * kMillisecond);
        ten[i] = run_grace(experiment, csv, delays, 10 * kMillisecond);
        run_grace(experiment, csv, delays, 30 * kMillisecond);
        run_grace(experiment, csv, delays, 100 * kMillisecond);
        longest[i] = run_grace(experiment, csv, delays, kSecond);
    }
    experiment.claim("a longer T cuts fewer transfers off",
                     longest[0].failed_per_million < ten[0].failed_per_million + 1 &&
                         ten[0].failed_per_million < shortest[0].failed_per_million &&
                         longest[1].failed_per_million < shortest[1].failed_per_million,
                     "a million: exponential %.0f at 0.1 ms, %.0f at 10 ms, %.0f at 1 s; Pareto "
                     "%.0f, %.0f, %.0f",
                     shortest[0].failed_per_million, ten[0].failed_per_million,
                     longest[0].failed_per_million, shortest[1].failed_per_million,
                     ten[1].failed_per_million, longest[1].failed_per_million);
    experiment.claim(
        "the price is the wait of others, and only where transfers are long or owners slow",
        longest[0].p99 < 20e3 && longest[2].p99 > longest[0].p99,
        "p99 at T = 1 s: exponential %.1f ms, Pareto %.1f ms, slow consumer %.1f ms; at 0.1 ms: "
        "%.1f, %.1f, %.1f ms",
        longest[0].p99 / 1e3, longest[1].p99 / 1e3, longest[2].p99 / 1e3, shortest[0].p99 / 1e3,
        shortest[1].p99 / 1e3, shortest[2].p99 / 1e3);
    take_from_under_traffic(experiment);
}

}  // namespace registration
