// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R3, with data: a peer writes continuously into a region whose entry is taken away. Once another
/// process has the entry, nothing may land in the region any more: it is then filled with a
/// pattern, which is checked when the peer's write has been refused. An owner that answers has its
/// peer stop writing before it gives the entry up; the announcement takes a while to reach it.
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

enum class Owner { kRuns, kIsStopped, kAnswers };

struct Way {
    Owner owner;
    Time delay = 0;  ///< until an owner that answers reads an announcement
};

/// Hears of the announcement late, has the parent stop the peer, and gives the registration up.
void answer(DAT_EVD_HANDLE upcalls, DAT_LMR_HANDLE lmr, Time delay, test::Channel& channel) {
    test::Side::wait(upcalls, static_cast<DAT_EVENT_NUMBER>(DAT_REG_ANNOUNCED_EVENT));
    const timespec pause{0, static_cast<long>(delay)};
    nanosleep(&pause, nullptr);
    channel.send('s');
    channel.receive<char>();
    dat_reg_lmr_accept(lmr);  // fails if T is over
}

/// Registers the memory for its peer, then only waits, or answers one announcement.
void own(std::uint8_t* memory, const Settings& settings, const Way& way, test::Channel& channel) {
    settings.apply();
    const test::Side side;
    const DAT_EVD_HANDLE upcalls = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    if (way.owner == Owner::kAnswers)
        test::succeed(dat_reg_evd_attach(side.ia, upcalls), "dat_reg_evd_attach");
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
    if (way.owner == Owner::kAnswers) answer(upcalls, lmr, way.delay, channel);
    channel.receive_whenever<char>();
}

/// Writes until it is told to stop, or a write is refused. Sends 'g' through the channel after the
/// 20th write, and at the end 's' or 'r'.
void write_without_end(test::Channel& channel) {
    unsetenv("OPENDAT_REGISTRATIONS");
    const test::Side side;
    test::Buffer buffer(side, kBytes);
    const auto window = channel.receive<test::Window>();
    DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    bool refused = false;
    for (DAT_UINT64 i = 1; !refused && !test::is_readable(channel.input(), 0s); ++i) {
        DAT_LMR_TRIPLET from = buffer.all();
        from.segment_length = static_cast<DAT_SEG_LENGTH>(i % 2 == 0 ? 64 : kBytes);
        DAT_RMR_TRIPLET to = window.part(from.segment_length);
        test::succeed(
            dat_ep_post_rdma_write(ep, 1, &from, test::cookie(i), &to, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
        const DAT_EVENT event = test::Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
        refused = event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
        if (i == 20) channel.send('g');
    }
    channel.send(refused ? 'r' : 's');
    while (channel.receive_whenever<char>() != 'e') continue;
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
    bool cut = false;  ///< a write of the peer was refused
};

Outcome take_away(const Way& way, Time grace) {
    Shared<Region> region;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = "on",
                            .entries = 1,
                            .grace_us = static_cast<int>(grace / kMicrosecond)};
    test::Child owner([&](test::Channel& channel) { own(region->bytes, settings, way, channel); });
    test::Child peer([](test::Channel& channel) { write_without_end(channel); });
    peer.channel().send(owner.channel().receive<test::Window>());
    owner.channel().receive<char>();
    peer.channel().receive<char>();
    test::Child other([&](test::Channel& channel) { want(settings, channel); });
    other.channel().receive<char>();
    if (way.owner == Owner::kIsStopped) stop(owner);
    other.channel().send('g');
    Outcome outcome;
    if (way.owner == Owner::kAnswers) {
        owner.channel().receive<char>();
        peer.channel().send('s');
        outcome.cut = peer.channel().receive<char>() == 'r';
        owner.channel().send('s');
    }
    outcome.waited_us = other.channel().receive<double>();
    if (outcome.waited_us < 0) return outcome;
    std::fill(std::begin(region->bytes), std::end(region->bytes), kGuard);
    if (way.owner != Owner::kAnswers) outcome.cut = peer.channel().receive<char>() == 'r';
    outcome.untouched = std::all_of(std::begin(region->bytes), std::end(region->bytes),
                                    [](std::uint8_t byte) { return byte == kGuard; });
    owner.kill(SIGCONT);
    for (test::Child* child : {&other, &peer, &owner}) {
        child->channel().send('e');
        test::require(child->wait() == 0, "a process ends well");
    }
    return outcome;
}

/// Varies how long an announcement takes to reach the owner.
void delay_upcalls(Experiment& experiment, Time grace) {
    Csv csv = experiment.csv("upcalls", "delay_ms,rounds,cut,waited_us_p50,waited_us_max");
    const int rounds = experiment.run.count(20);
    std::uint64_t wrong = 0, looked_at = 0;
    double cut_before = 0, least_cut_after = 1, least_ms = 0, most_ms = 0;
    for (const int delay : {0, 2, 5, 8, 9, 10, 11, 12, 15, 20}) {
        std::vector<double> waits;
        int cut = 0;
        for (int round = 0; round < rounds; ++round) {
            const Outcome outcome =
                take_away({Owner::kAnswers, static_cast<Time>(delay) * kMillisecond}, grace);
            waits.push_back(outcome.waited_us);
            cut += outcome.cut;
            ++looked_at;
            wrong += !outcome.untouched || outcome.waited_us < 0;
        }
        const double median = percentile(waits, 0.5), part = double(cut) / rounds;
        csv.row("%d,%d,%d,%.1f,%.1f", delay, rounds, cut, median, percentile(waits, 1));
        const Time time = static_cast<Time>(delay) * kMillisecond;
        if (delay == 0) least_ms = median / 1e3;
        most_ms = std::max(most_ms, median / 1e3);
        if (time + 2 * kMillisecond <= grace) cut_before = std::max(cut_before, part);
        if (time >= grace + 2 * kMillisecond) least_cut_after = std::min(least_cut_after, part);
    }
    experiment.check("writes stopped or refused: nothing landed afterwards", looked_at, wrong);
    experiment.claim(
        "an announcement that reaches its owner in time cuts no write off, one that comes after T "
        "each",
        cut_before == 0 && least_cut_after == 1,
        "T is 10 ms; cut off with delays up to 8 ms at most %.0f %%, from 12 ms on at least "
        "%.0f %%",
        100 * cut_before, 100 * least_cut_after);
    experiment.claim("others wait for it, but not beyond T",
                     least_ms < 0.8 * in_us(grace) / 1e3 && most_ms < 1.3 * in_us(grace) / 1e3,
                     "by the median %.1f ms without a delay, %.1f ms at most with one", least_ms,
                     most_ms);
}

}  // namespace

void take_from_under_traffic(Experiment& experiment) {
    constexpr Time kGrace = 10 * kMillisecond;
    Csv csv = experiment.csv("taken", "owner,round,waited_us,untouched");
    const int rounds = experiment.run.count(20);
    std::vector<double> waits[2];
    std::uint64_t wrong = 0;
    for (const Owner owner : {Owner::kRuns, Owner::kIsStopped})
        for (int round = 0; round < rounds; ++round) {
            const Outcome outcome = take_away({owner}, kGrace);
            waits[static_cast<int>(owner)].push_back(outcome.waited_us);
            wrong += !outcome.untouched || outcome.waited_us < 0;
            csv.row("%s,%d,%.1f,%d", owner == Owner::kRuns ? "runs" : "stopped", round,
                    outcome.waited_us, outcome.untouched);
        }
    experiment.check("regions taken from under a peer's writes: nothing landed afterwards",
                     2 * static_cast<std::uint64_t>(rounds), wrong);
    constexpr Time kLeasePatience = 100 * kMillisecond;  // broker/table/lease.cpp
    experiment.claim(
        "an owner that is stopped loses its registration too, on soft0: T after the lease has "
        "passed on from it",
        percentile(waits[1], 0) >= 0 &&
            percentile(waits[1], 0.5) < in_us(kGrace + kLeasePatience) * 1.2,
        "T is 10 ms; the other one had the entry after %.1f ms by the median and %.1f "
        "ms at most, %.1f ms where the owner ran",
        percentile(waits[1], 0.5) / 1e3, percentile(waits[1], 1) / 1e3,
        percentile(waits[0], 0.5) / 1e3);
    delay_upcalls(experiment, kGrace);
}

}  // namespace registration
