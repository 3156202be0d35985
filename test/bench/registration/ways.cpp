// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R9: two processes write from 64 regions each: with an entry for each region, with 32 entries in
/// all, which are revoked as needed, and with a registration for each transfer.
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kWriters = 2;
constexpr int kRegions = 64;
constexpr int kScarce = 32;

struct State {
    std::atomic<int> begun;
    std::atomic<std::uint64_t> ios, wrong, refused, failed, cpu_ns, wall_ns;
};

void work(Sink& sink, State& state, const Settings& settings, int self, std::size_t bytes,
          Time length) {
    settings.apply();
    Writer writer(sink, self, kRegions, bytes);
    for (int region = 0; region < kRegions; ++region)
        test::succeed(writer.create(region), "dat_lmr_create");
    ++state.begun;
    test::require(test::eventually([&] { return state.begun == kWriters; }), "all begin");
    std::mt19937 random(static_cast<unsigned>(self));
    const Time begin = now();
    const std::uint64_t used = cpu_time();
    for (int io = 0; now() < begin + length; ++io) {
        // Half of the transfers come from a few regions.
        const int region =
            static_cast<int>(random() % (random() % 2 == 0 ? kRegions : kRegions / 8));
        DAT_RETURN code{};
        if (!writer.write(region, code)) {
            ++(code == DAT_SUCCESS ? state.failed : state.refused);
            continue;
        }
        if (io % 16 == 0) state.wrong += !writer.arrived(region);
        ++state.ios;
    }
    state.cpu_ns += cpu_time() - used;
    state.wall_ns += now() - begin;
}

struct Found {
    double rate, cpu_us, entries;
};

Found run_way(Experiment& experiment, Csv& csv, const std::string& way, std::size_t bytes) {
    Shared<State> state;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = way == "plain" ? "off" : way,
                            .entries = kScarce,
                            .grace_us = 2000};
    Sink sink(kWriters, bytes);
    const Time length = static_cast<Time>(experiment.run.seconds(3) * 1e9);
    std::vector<std::unique_ptr<test::Child>> crew;
    for (int self = 0; self < kWriters; ++self)
        crew.push_back(std::make_unique<test::Child>(
            [&, self](test::Channel&) { work(sink, *state, settings, self, bytes, length); }));
    double entries = 0;
    int looks = 0;
    const Time end = now() + length;
    while (now() < end) {
        if (const auto table = directory.look())
            entries += static_cast<double>(table->entries), ++looks;
        const timespec pause{0, 20000000};
        nanosleep(&pause, nullptr);
    }
    for (auto& child : crew) test::require(child->wait(120s) == 0, "a writer ends well");
    sink.end();
    const auto ios = static_cast<double>(state->ios + 1);
    const Found found{ios * kWriters * 1e9 / static_cast<double>(state->wall_ns),
                      static_cast<double>(state->cpu_ns) / ios / 1e3,
                      way == "plain" ? kWriters * kRegions
                      : looks        ? entries / looks
                                     : 0};
    csv.row("%s,%zu,%.0f,%.2f,%.1f,%llu,%llu", way.c_str(), bytes, found.rate, found.cpu_us,
            found.entries, static_cast<unsigned long long>(state->refused),
            static_cast<unsigned long long>(state->failed));
    experiment.check(
        (way + ", " + std::to_string(bytes) + " bytes: what transfers brought").c_str(),
        state->ios / 16, state->wrong + state->failed);
    return found;
}

}  // namespace

void ways(const Run& run) {
    Experiment experiment(run, "R9");
    Csv csv = experiment.csv("", "way,bytes,ios_per_second,cpu_us,entries,refused,failed");
    Found small[3], large[3];
    int i = 0;
    for (const char* way : {"plain", "transparent", "per-io"}) {
        small[i] = run_way(experiment, csv, way, 256);
        run_way(experiment, csv, way, 16384);
        large[i++] = run_way(experiment, csv, way, 1 << 20);
    }
    experiment.claim(
        "registration for each I/O needs the fewest entries",
        small[2].entries < small[1].entries && large[2].entries < large[1].entries,
        "256 bytes: plain %.0f, transparent %.0f, per-io %.1f entries; 1 MiB: %.0f, %.0f, %.1f",
        small[0].entries, small[1].entries, small[2].entries, large[0].entries, large[1].entries,
        large[2].entries);
    experiment.claim("for small I/O revocation costs less CPU than registration for each I/O",
                     small[1].cpu_us < small[2].cpu_us,
                     "plain %.1f us, transparent %.1f us, per-io %.1f us of CPU for 256 bytes",
                     small[0].cpu_us, small[1].cpu_us, small[2].cpu_us);
    experiment.claim("for large I/O it makes little difference how memory is registered",
                     large[2].rate > 0.8 * large[0].rate && large[1].rate > 0.8 * large[0].rate,
                     "1 MiB: plain %.0f, transparent %.0f, per-io %.0f I/Os a second",
                     large[0].rate, large[1].rate, large[2].rate);
}

}  // namespace registration
