// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R3, with data: a peer writes continuously into a region whose entry is taken away. Once another
/// process has the entry, nothing may land in the region any more: it is then filled with a
/// pattern, which is checked when the peer's write has been refused.
#include <algorithm>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr std::size_t kBytes = 64 << 10;
constexpr std::uint8_t kGuard = 0xa5;
constexpr DAT_CONN_QUAL kQualifier = 46090;

struct Region {
    std::uint8_t bytes[kBytes];
};

enum class Owner { kRuns, kIsStopped };

/// Registers the memory for its peer, then only waits.
void own(std::uint8_t* memory, const Settings& settings, test::Channel& channel) {
    settings.apply();
    const test::Side side;
    DAT_REG_LMR_PARAM param{};
    param.mem_type = DAT_MEM_TYPE_VIRTUAL;
    param.region_desc.for_va = memory;
    param.length = kBytes;
    param.pz_handle = side.pz;
    param.mem_priv = DAT_MEM_PRIV_ALL_FLAG;
    param.va_type = DAT_VA_TYPE_VA;
    param.reg_class = DAT_REG_CLASS_RDMA;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    test::Window window{reinterpret_cast<DAT_VADDR>(memory), 0};
    test::succeed(dat_reg_lmr_create_wait(side.ia, &param, 10000000, &lmr, nullptr, &window.key),
                  "dat_reg_lmr_create_wait");
    test::succeed(dat_reg_lmr_touch(lmr), "dat_reg_lmr_touch");
    side.listen(kQualifier);
    channel.send(window);
    side.accept_next();
    channel.send('a');
    channel.receive_whenever<char>();
}

/// Writes until a write is refused. Sends 'g' through the channel after the 20th write, and 'r' at
/// the end.
void write_without_end(test::Channel& channel) {
    unsetenv("OPENDAT_REGISTRATIONS");
    const test::Side side;
    test::Buffer buffer(side, kBytes);
    const auto window = channel.receive<test::Window>();
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    for (DAT_UINT64 i = 1;; ++i) {
        DAT_LMR_TRIPLET from = buffer.all();
        from.segment_length = static_cast<DAT_SEG_LENGTH>(i % 2 == 0 ? 64 : kBytes);
        DAT_RMR_TRIPLET to = window.part(from.segment_length);
        test::succeed(
            dat_ep_post_rdma_write(ep, 1, &from, test::cookie(i), &to, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
        const DAT_EVENT event = test::Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS) break;
        if (i == 20) channel.send('g');
    }
    channel.send('r');
    channel.receive_whenever<char>();
}

/// Wants the only entry. Sends through the channel how many us it took to get it, or -1 on failure.
void want(const Settings& settings, test::Channel& channel) {
    settings.apply();
    const test::Side side;
    std::string memory(4096, '\0');
    channel.send('r');
    channel.receive<char>();
    DAT_REG_LMR_PARAM param{};
    param.mem_type = DAT_MEM_TYPE_VIRTUAL;
    param.region_desc.for_va = memory.data();
    param.length = memory.size();
    param.pz_handle = side.pz;
    param.mem_priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
    param.va_type = DAT_VA_TYPE_VA;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    const Time begin = now();
    const DAT_RETURN code =
        dat_reg_lmr_create_wait(side.ia, &param, 30000000, &lmr, nullptr, nullptr);
    channel.send(code == DAT_SUCCESS ? in_us(now() - begin) : -1.0);
    channel.receive_whenever<char>();
}

/// Stops all threads of the child. Must precede any request to it: a process that is stopped while
/// it has the table locked holds up all others, which the library reports after 5 s.
void stop(const test::Child& child) {
    child.kill(SIGSTOP);
    child.wait_until_stopped();
}

struct Outcome {
    double waited_us = -1;
    bool untouched = false;
};

Outcome take_away(Owner way, Time grace) {
    Shared<Region> region;
    const TableDirectory directory;
    Settings settings;
    settings.directory = directory.path();
    settings.mode = "on";
    settings.entries = 1;
    settings.grace_us = static_cast<int>(grace / kMicrosecond);
    test::Child owner([&](test::Channel& channel) { own(region->bytes, settings, channel); });
    test::Child peer([](test::Channel& channel) { write_without_end(channel); });
    peer.channel().send(owner.channel().receive<test::Window>());
    owner.channel().receive<char>();
    peer.channel().receive<char>();
    test::Child other([&](test::Channel& channel) { want(settings, channel); });
    other.channel().receive<char>();
    if (way == Owner::kIsStopped) stop(owner);
    other.channel().send('g');
    Outcome outcome;
    outcome.waited_us = other.channel().receive<double>();
    if (outcome.waited_us < 0) return outcome;
    std::fill(std::begin(region->bytes), std::end(region->bytes), kGuard);
    peer.channel().receive<char>();
    outcome.untouched = std::all_of(std::begin(region->bytes), std::end(region->bytes),
                                    [](std::uint8_t byte) { return byte == kGuard; });
    owner.kill(SIGCONT);
    for (test::Child* child : {&other, &peer, &owner}) {
        child->channel().send('e');
        test::require(child->wait() == 0, "a process ends well");
    }
    return outcome;
}

}  // namespace

void take_from_under_traffic(Experiment& experiment) {
    constexpr Time kGrace = 10 * kMillisecond;
    Csv csv = experiment.csv("taken", "owner,round,waited_us,untouched");
    const int rounds = experiment.run.count(20);
    std::vector<double> waits[2];
    std::uint64_t wrong = 0;
    for (const Owner way : {Owner::kRuns, Owner::kIsStopped})
        for (int round = 0; round < rounds; ++round) {
            const Outcome outcome = take_away(way, kGrace);
            waits[static_cast<int>(way)].push_back(outcome.waited_us);
            wrong += !outcome.untouched || outcome.waited_us < 0;
            csv.row("%s,%d,%.1f,%d", way == Owner::kRuns ? "runs" : "stopped", round,
                    outcome.waited_us, outcome.untouched);
        }
    experiment.check("regions taken from under a peer's writes: nothing landed afterwards",
                     2 * static_cast<std::uint64_t>(rounds), wrong);
    const double stopped = percentile(waits[1], 1);
    experiment.claim(
        "an owner that is stopped loses its registration too, on soft0, within twice T",
        percentile(waits[1], 0) >= 0 && stopped < 2 * in_us(kGrace),
        "T is 10 ms; the other one had the entry after %.1f ms by the median and %.1f "
        "ms at most, %.1f ms where the owner ran",
        percentile(waits[1], 0.5) / 1e3, stopped / 1e3, percentile(waits[0], 0.5) / 1e3);
}

}  // namespace registration
