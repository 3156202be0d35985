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

double run_way(Experiment& experiment, Csv& csv, const Way& way) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 20 * kMillisecond;
    terms.low = 4, terms.high = 8;
    terms.policy = way.policy;
    const int count = experiment.run.count(20000);
    std::vector<std::unique_ptr<test::Child>> crew;
    for (unsigned i = 0; i < kProcesses; ++i)
        crew.push_back(std::make_unique<test::Child>(
            [&, i](test::Channel&) { work(*state, directory.path(), terms, way, i + 1, count); }));
    for (auto& child : crew) test::require(child->wait(120s) == 0, "a process ends well");
    const double thousands = static_cast<double>(state->ios) / 1000;
    const double rate = static_cast<double>(state->hits) / static_cast<double>(state->ios);
    csv.row("%s,%s,%s,%llu,%.4f,%.1f,%.1f", way.policy, way.statistics ? "told" : "none",
            way.alternatives ? "offered" : "none", static_cast<unsigned long long>(state->ios),
            rate, 1000 * (1 - rate), static_cast<double>(state->regretted) / thousands);
    Ledger& ledger = state->ledger;
    char what[100];
    std::snprintf(what, sizeof what, "%s, statistics %s, alternatives %s: entries and waiters",
                  way.policy, way.statistics ? "told" : "none",
                  way.alternatives ? "offered" : "none");
    experiment.check(what, ledger.taken,
                     ledger.wrong + ledger.held + ledger.unserved() + state->failed +
                         (ledger.most_held > kCapacity ? 1 : 0));
    return rate;
}

}  // namespace

void policies(const Run& run) {
    Experiment experiment(run, "R5");
    Csv csv = experiment.csv(
        "",
        "policy,statistics,alternatives,ios,hit_rate,registrations_per_1000,regretted_per_1000");
    std::map<std::string, double> rates;
    for (const char* policy : {"lru", "lfu", "clock", "random"})
        for (const bool statistics : {true, false})
            for (const bool alternatives : {false, true})
                rates[std::string(policy) + (statistics ? "+" : "-") + (alternatives ? "+" : "-")] =
                    run_way(experiment, csv, {policy, statistics, alternatives});
    const double random = rates["random+-"];
    experiment.claim(
        "statistics of use pay: lru, lfu and clock keep more of what is needed than random",
        rates["lru+-"] > random && rates["lfu+-"] > random && rates["clock+-"] > random,
        "hit rate lru %.3f, lfu %.3f, clock %.3f, random %.3f", rates["lru+-"], rates["lfu+-"],
        rates["clock+-"], random);
    experiment.claim("without statistics they are no better than random",
                     rates["lru--"] < random + 0.02 && rates["lfu--"] < random + 0.02 &&
                         rates["clock--"] < random + 0.02,
                     "lru %.3f, lfu %.3f, clock %.3f, random %.3f", rates["lru--"], rates["lfu--"],
                     rates["clock--"], random);
    experiment.claim("alternative victims make up for statistics that the owner does not tell",
                     rates["lru-+"] > rates["lru--"] && rates["random-+"] > rates["random--"],
                     "lru %.3f instead of %.3f, random %.3f instead of %.3f", rates["lru-+"],
                     rates["lru--"], rates["random-+"], rates["random--"]);
}

}  // namespace registration
