// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R5: two processes with four times as many regions as the table has entries use them with a Zipf
/// distribution, interrupted by scans. Measures how often a region still has its entry, by policy,
/// with and without statistics of use, and where owners offer the entry that they need least in
/// place of the requested one.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kProcesses = 2;
constexpr int kCapacity = 200;
constexpr int kRegions = 400;  ///< per process
constexpr int kRegret = 400;   ///< I/Os; a region needed again sooner after its loss is regretted

struct State {
    Ledger ledger;
    std::atomic<std::uint64_t> ios, hits, regretted, failed;
    std::atomic<int> done;  ///< processes that have finished the counted part
};

struct Way {
    const char* policy;
    bool statistics, alternatives;
};

/// Chooses the region of the next I/O: few are popular, and at times a part of them is scanned.
class Workload {
  public:
    explicit Workload(unsigned seed) : random_(seed) {
        std::vector<double> weights;
        for (int rank = 1; rank <= kRegions; ++rank) weights.push_back(1 / std::pow(rank, 0.9));
        popularity_ = std::discrete_distribution<>(weights.begin(), weights.end());
        places_.resize(kRegions);
        std::iota(places_.begin(), places_.end(), 0);
        std::shuffle(places_.begin(), places_.end(), random_);
    }
    int next() {
        if (scan_left_ > 0) return --scan_left_, scan_ = (scan_ + 1) % kRegions;
        if (random_() % 400 == 0) scan_left_ = 60;
        return places_[static_cast<std::size_t>(popularity_(random_))];
    }

  private:
    std::mt19937 random_;
    std::discrete_distribution<> popularity_;
    std::vector<int> places_;
    int scan_ = 0, scan_left_ = 0;
};

void work(State& state, const std::string& directory, const Terms& terms, const Way& way,
          unsigned seed, int count) {
    std::vector<std::atomic<int>> used(kRegions), lost(kRegions);
    for (auto& at : lost) at = -kRegret;
    std::atomic<int> io{0};
    Manners manners;
    manners.tells_use = way.statistics;
    Entries* self = nullptr;
    if (way.alternatives)
        manners.alternative = [&] {
            int oldest = -1;
            for (int region = 0; region < kRegions; ++region)
                if (self->stands(region) &&
                    (oldest < 0 || used[static_cast<std::size_t>(region)] <
                                       used[static_cast<std::size_t>(oldest)]))
                    oldest = region;
            return oldest;
        };
    Entries entries(directory, terms, state.ledger, kRegions, manners);
    self = &entries;
    entries.on_loss = [&](int region) { lost[static_cast<std::size_t>(region)] = io.load(); };
    Workload workload(seed);
    // A process that is done continues, so that the other one does not have the table to itself.
    for (io = 0; state.done < kProcesses; ++io) {
        state.done += io == count;
        const int region = workload.next();
        const auto place = static_cast<std::size_t>(region);
        const bool counts = io >= count / 10 && io < count;  // the table is full by then
        state.ios += counts;
        if (entries.begin_use(region)) {
            state.hits += counts;
        } else {
            // An announced entry is as good as lost: it is given back and acquired anew.
            entries.give_back(region);
            if (counts && io - lost[place] < kRegret) ++state.regretted;
            if (entries.has(region) || entries.acquire(region, now() + 30 * kSecond)) {
                ++state.failed;
                continue;
            }
        }
        used[place] = io + 1;
        entries.end_use(region);
    }
}

/// The results of all rounds of one way.
struct Found {
    std::vector<double> rates, regretted;
    std::uint64_t ios = 0;
};

void run_way(Experiment& experiment, const Way& way, unsigned round, Found& found) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 20 * kMillisecond;
    terms.low = 4, terms.high = 8;
    terms.policy = way.policy;
    const int count = experiment.run.count(8000);
    std::vector<std::unique_ptr<test::Child>> crew;
    for (unsigned i = 0; i < kProcesses; ++i)
        crew.push_back(std::make_unique<test::Child>([&, i](test::Channel&) {
            work(*state, directory.path(), terms, way, kProcesses * round + i + 1, count);
        }));
    for (auto& child : crew) test::require(child->wait(120s) == 0, "a process ends well");
    const auto ios = static_cast<double>(state->ios);
    found.ios += state->ios;
    found.rates.push_back(static_cast<double>(state->hits) / ios);
    found.regretted.push_back(1000 * static_cast<double>(state->regretted) / ios);
    Ledger& ledger = state->ledger;
    char what[100];
    std::snprintf(what, sizeof what, "%s, statistics %s, alternatives %s: entries and waiters",
                  way.policy, way.statistics ? "told" : "none",
                  way.alternatives ? "offered" : "none");
    experiment.check(what, ledger.taken,
                     ledger.wrong + ledger.held + ledger.unserved() + state->failed +
                         (ledger.most_held > kCapacity ? 1 : 0));
}

/// @return what the first has more than the second, round by round.
Estimate more(const Found& first, const Found& second) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < first.rates.size(); ++i)
        differences.push_back(first.rates[i] - second.rates[i]);
    return estimate(differences);
}

}  // namespace

void policies(const Run& run) {
    Experiment experiment(run, "R5");
    std::map<std::string, Found> all;  // by policy, statistics (+ told), alternatives (+ offered)
    std::vector<Way> ways;
    for (const char* policy : {"lru", "lfu", "clock", "random"})
        for (const bool statistics : {true, false})
            for (const bool alternatives : {false, true})
                ways.push_back({policy, statistics, alternatives});
    const auto key = [](const Way& way) {
        return std::string(way.policy) + (way.statistics ? "+" : "-") +
               (way.alternatives ? "+" : "-");
    };
    Estimate lru{}, lfu{}, clock{}, worse[3], lru_offered{}, random_offered{};
    Verdict told{}, untold{}, offered{};
    for (int rounds = 0; rounds == 0 || !is_enough(run, rounds, {told, untold, offered});) {
        for (const Way& way : ways)
            run_way(experiment, way, static_cast<unsigned>(rounds), all[key(way)]);
        ++rounds;
        lru = more(all["lru+-"], all["random+-"]);
        lfu = more(all["lfu+-"], all["random+-"]);
        clock = more(all["clock+-"], all["random+-"]);
        told = all_above({lru, lfu, clock}, 0);
        worse[0] = more(all["random--"], all["lru--"]);
        worse[1] = more(all["random--"], all["lfu--"]);
        worse[2] = more(all["random--"], all["clock--"]);
        untold = all_above({worse[0], worse[1], worse[2]}, -0.02);
        lru_offered = more(all["lru-+"], all["lru--"]);
        random_offered = more(all["random-+"], all["random--"]);
        offered = all_above({lru_offered, random_offered}, 0);
    }
    Csv csv = experiment.csv("",
                             "policy,statistics,alternatives,rounds,ios,hit_rate,hit_rate_error,"
                             "registrations_per_1000,regretted_per_1000");
    for (const Way& way : ways) {
        const Found& found = all[key(way)];
        const Estimate rate = estimate(found.rates);
        csv.row("%s,%s,%s,%zu,%llu,%.4f,%.4f,%.1f,%.1f", way.policy,
                way.statistics ? "told" : "none", way.alternatives ? "offered" : "none",
                found.rates.size(), static_cast<unsigned long long>(found.ios), rate.mean,
                rate.error, 1000 * (1 - rate.mean), estimate(found.regretted).mean);
    }
    experiment.claim(
        "statistics of use pay: lru, lfu and clock keep more of what is needed than random", told,
        "%zu rounds, 99 %% intervals: hit rate random %.3f, lru %.3f ± %.3f more, lfu %.3f ± %.3f, "
        "clock %.3f ± %.3f",
        all["lru+-"].rates.size(), estimate(all["random+-"].rates).mean, lru.mean, lru.error,
        lfu.mean, lfu.error, clock.mean, clock.error);
    experiment.claim("without statistics they are no more than 0.02 better than random", untold,
                     "lru %.3f ± %.3f more, lfu %.3f ± %.3f, clock %.3f ± %.3f", -worse[0].mean,
                     worse[0].error, -worse[1].mean, worse[1].error, -worse[2].mean,
                     worse[2].error);
    experiment.claim("alternative victims make up for statistics that the owner does not tell",
                     offered, "lru %.3f ± %.3f more with them, random %.3f ± %.3f",
                     lru_offered.mean, lru_offered.error, random_offered.mean,
                     random_offered.error);
}

}  // namespace registration
