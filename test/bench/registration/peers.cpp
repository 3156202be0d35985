// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R13: a process has registered more regions for a peer than there are entries, and knows nothing
/// of the broker. The peer writes into them, and each region that is away comes back for it.
#include <algorithm>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kRegions = 64;
constexpr std::size_t kBytes = 4096;
constexpr DAT_CONN_QUAL kQualifier = 46170;
constexpr Time kGrace = 2 * kMillisecond;

/// What both processes see.
struct Memory {
    std::uint8_t regions[kRegions][kBytes];
};

/// Registers as an MPI's cache does, connects, and waits for the end.
void own(test::Channel& channel, const Settings& settings, Memory& memory) {
    settings.apply();
    test::Side side;
    std::vector<test::Window> windows;
    for (auto& region : memory.regions) windows.push_back(expose(side, region, kBytes));
    side.listen(kQualifier);
    channel.send('l');
    side.accept_next();
    for (const test::Window& window : windows) channel.send(window);
    channel.receive_whenever<char>();
}

/// The peer, which does not share the table.
class PeerOfMany {
  public:
    PeerOfMany(test::Channel& owner, Memory& memory) : memory_(memory) {
        owner.receive<char>();
        unsetenv("OPENDAT_REGISTRATIONS");
        side_ = std::make_unique<test::Side>();
        source_ = std::make_unique<test::Buffer>(*side_, kBytes);
        ep_ = side_->connect_to(kQualifier);
        for (int i = 0; i < kRegions; ++i) windows_.push_back(owner.receive<test::Window>());
    }
    /// Writes into a region. @return whether it succeeded.
    bool write(int region) {
        source_->bytes[0] = source_->bytes[kBytes - 1] = static_cast<char>(++stamp_);
        DAT_LMR_TRIPLET all = source_->all();
        DAT_RMR_TRIPLET remote = windows_[static_cast<std::size_t>(region)].part(kBytes);
        test::succeed(dat_ep_post_rdma_write(ep_, 1, &all, test::cookie(1), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                      "dat_ep_post_rdma_write");
        return test::Side::wait(side_->sends, DAT_DTO_COMPLETION_EVENT)
                   .event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    }
    bool arrived(int region) const {
        const auto& there = memory_.regions[region];
        return there[0] == static_cast<std::uint8_t>(stamp_) &&
               there[kBytes - 1] == static_cast<std::uint8_t>(stamp_);
    }

  private:
    Memory& memory_;
    std::unique_ptr<test::Side> side_;
    std::unique_ptr<test::Buffer> source_;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    std::vector<test::Window> windows_;
    unsigned stamp_ = 0;
};

std::uint64_t grants(const TableDirectory& directory) {
    const auto table = directory.look();
    return table ? table->granted : 0;
}

struct Found {
    std::uint64_t writes = 0, wrong = 0, failed = 0, returns = 0;
    double rate = 0, median_us = 0, p99_us = 0;
    double hits() const {
        return writes ? 1 - static_cast<double>(returns) / static_cast<double>(writes) : 0;
    }
};

Found write_for(const Experiment& experiment, const std::string& policy, int entries, int round) {
    Shared<Memory> memory;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = "transparent",
                            .policy = policy,
                            .entries = entries,
                            .grace_us = static_cast<int>(kGrace / kMicrosecond)};
    test::Child owner([&](test::Channel& channel) { own(channel, settings, *memory); });
    PeerOfMany peer(owner.channel(), *memory);
    std::vector<double> weights;  // Zipf's law
    for (int i = 1; i <= kRegions; ++i) weights.push_back(1.0 / i);
    std::discrete_distribution<int> popular(weights.begin(), weights.end());
    std::mt19937 random(static_cast<unsigned>(round) + 7);
    Found found;
    std::vector<double> waits;
    const std::uint64_t before = grants(directory);
    const Time begin = now(), end = begin + static_cast<Time>(experiment.run.seconds(1) * 1e9);
    for (Time posted; (posted = now()) < end;) {
        const int region = popular(random);
        found.failed += !peer.write(region);
        waits.push_back(in_us(now() - posted));
        found.wrong += !peer.arrived(region);
        ++found.writes;
    }
    found.rate = static_cast<double>(found.writes) * 1e9 / static_cast<double>(now() - begin);
    found.returns = grants(directory) - before;
    // The slowest ones are those that found their region away.
    std::sort(waits.begin(), waits.end());
    const auto away = std::min<std::size_t>(found.returns, waits.size());
    std::vector<double> slow(waits.end() - static_cast<std::ptrdiff_t>(away), waits.end());
    found.median_us = percentile(slow, 0.5);
    found.p99_us = percentile(slow, 0.99);
    owner.channel().send('e');
    test::require(owner.wait(120s) == 0, "the owner ends well");
    return found;
}

}  // namespace

void peers(const Run& run) {
    Experiment experiment(run, "R13");
    Csv csv = experiment.csv("",
                             "policy,entries,round,writes,returns,hit_rate,writes_per_second,"
                             "median_us,p99_us,failed");
    constexpr const char* kPolicies[] = {"random", "weighted-fair-lru", "lru", "lfu", "clock"};
    constexpr int kHalf = kRegions / 2;
    std::uint64_t writes = 0, returns = 0, failed = 0, wrong = 0;
    const auto write = [&](const char* policy, int entries, int round) {
        const Found found = write_for(experiment, policy, entries, round);
        csv.row("%s,%d,%d,%llu,%llu,%.3f,%.0f,%.1f,%.1f,%llu", policy, entries, round,
                static_cast<unsigned long long>(found.writes),
                static_cast<unsigned long long>(found.returns), found.hits(), found.rate,
                found.median_us, found.p99_us, static_cast<unsigned long long>(found.failed));
        writes += found.writes;
        returns += found.returns;
        failed += found.failed;
        wrong += found.wrong;
        return found;
    };
    std::vector<double> hits, medians, slowest, more[4];
    Verdict pays{};
    Estimate better[4];
    int rounds = 0;
    for (; rounds == 0 || !is_enough(run, rounds, {pays}); ++rounds) {
        hits.push_back(write(kPolicies[0], kHalf, rounds).hits());
        for (int i = 0; i < 4; ++i) {
            const Found found = write(kPolicies[i + 1], kHalf, rounds);
            more[i].push_back(found.hits() - hits.back());
            better[i] = estimate(more[i]);
            if (i != 0) continue;
            medians.push_back(found.median_us);
            slowest.push_back(found.p99_us);
        }
        pays = all_above({std::begin(better), std::end(better)}, 0);
    }
    for (const char* policy : kPolicies)
        for (const int entries : {kRegions, kRegions / 4}) write(policy, entries, 0);
    experiment.check("what the peer's writes brought", writes, wrong + failed);
    experiment.claim("a peer's write into a region that is away waits, and none fails",
                     failed == 0 && returns > 0,
                     "%llu writes, %llu of them into regions that were away; with half of the "
                     "entries those took %.0f us by the median, %.0f us by the 99th percentile "
                     "(T is %.0f us)",
                     static_cast<unsigned long long>(writes),
                     static_cast<unsigned long long>(returns), percentile(medians, 0.5),
                     percentile(slowest, 0.5), in_us(kGrace));
    experiment.claim(
        "what the device counts of peers pays: each policy that uses it keeps more of what a peer "
        "uses than random",
        pays,
        "%d rounds with half of the entries, 99 %% intervals: hit rate random %.3f, "
        "weighted-fair-lru %.3f ± %.3f more, lru %.3f ± %.3f, lfu %.3f ± %.3f, clock %.3f ± %.3f",
        rounds, estimate(hits).mean, better[0].mean, better[0].error, better[1].mean,
        better[1].error, better[2].mean, better[2].error, better[3].mean, better[3].error);
}

}  // namespace registration
