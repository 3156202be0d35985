// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R8: a process has registered for all entries, for messages or for a peer's writes, and another
/// one wants half of them. Measures how long it takes until that one has them, and what becomes of
/// the messages.
#include <array>
#include <memory>
#include <vector>

#include "test/api/registration_side.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/shared.hpp"

namespace registration {
namespace {

using test::Region;
using test::RegistrationSide;
using test::Side;
using namespace std::chrono_literals;

constexpr int kCapacity = 128;
constexpr int kWanted = kCapacity / 2;
constexpr Time kGrace = 20 * kMillisecond;
constexpr Time kUse = 5 * kMillisecond;
constexpr std::size_t kBytes = 64;
constexpr DAT_CONN_QUAL kQualifier = 46080;

enum class Load { kNotPosted, kFlow, kPosted, kIdle, kInUse, kSilent };
constexpr const char* kNames[] = {"not posted", "messages", "posted", "idle", "in use", "silent"};
constexpr int kLoads = 6;

bool is_messaging(Load load) {
    return load <= Load::kPosted;
}

struct State {
    std::atomic<std::uint64_t> sent, taken, wrong, transfers, cut;
    std::atomic<bool> stop;
};

using Regions = std::vector<std::unique_ptr<Region>>;

/// Which regions the peer is to write into, and with which byte; 0: none any more.
struct Order {
    std::array<bool, kCapacity> is_wanted;
    std::array<test::Window, kCapacity> windows;
    char stamp;
};

/// Posts a receive into a region. @return false if its registration has gone.
bool post(DAT_EP_HANDLE ep, const Regions& all, std::uint64_t which) {
    DAT_LMR_TRIPLET memory = all.at(which)->part(kBytes);
    return dat_ep_post_recv(ep, 1, &memory, test::cookie(which), DAT_COMPLETION_DEFAULT_FLAG) ==
           DAT_SUCCESS;
}

/// Takes numbered messages and posts each buffer again, as long as it has its registration.
void take_messages(const Side& side, DAT_EVD_HANDLE receives, DAT_EP_HANDLE ep, const Regions& all,
                   State& state) {
    std::uint64_t expected = 1;
    for (bool last = false; !last;) {
        last = state.stop && state.taken == state.sent;
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        if (dat_evd_wait(receives, 10000, 1, &event, &more) != DAT_SUCCESS) continue;
        const auto& done = event.event_data.dto_completion_event_data;
        if (done.status == DAT_DTO_ERR_FLUSHED) continue;
        std::uint64_t number = 0;
        std::memcpy(&number, all.at(done.user_cookie.as_64)->bytes.data(), sizeof number);
        state.wrong += done.status != DAT_DTO_SUCCESS || number != expected++;
        ++state.taken;
        post(ep, all, done.user_cookie.as_64);
    }
    Side::expect_empty(side.connections);  // it still stands
}

/// Has the peer write into all regions that are registered, one transfer into each at a time.
void let_peer_write(test::Channel& peer, const Regions& all, State& state) {
    Order order{};
    for (char stamp = 1; !state.stop; stamp = static_cast<char>(stamp % 100 + 1)) {
        order.stamp = stamp;
        int count = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            order.windows[i] = all[i]->window();
            order.is_wanted[i] =
                dat_reg_lmr_begin_use(all[i]->lmr, kUse / kMicrosecond) == DAT_SUCCESS;
            count += order.is_wanted[i];
        }
        peer.send(order);
        const bool arrived = peer.receive_whenever<char>() == 'd';
        state.transfers += static_cast<std::uint64_t>(count);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!order.is_wanted[i]) continue;
            state.wrong += arrived && all[i]->bytes[kBytes - 1] != stamp;
            dat_reg_lmr_end_use(all[i]->lmr);
        }
        if (!arrived) {
            ++state.cut;
            return;
        }
    }
    peer.send(Order{});
}

/// Sends numbered messages, a few at a time, until it is to stop.
void send_messages(const Side& side, test::Buffer& source, DAT_EP_HANDLE ep, State& state) {
    constexpr std::uint64_t kAtOnce = 4;  // parts of the buffer, which lasts until it has been sent
    std::uint64_t number = 0;
    const auto send = [&] {
        const std::size_t at = ++number % kAtOnce * kBytes;
        std::memcpy(source.bytes.data() + at, &number, sizeof number);
        DAT_LMR_TRIPLET part = source.all();
        part.virtual_address += at;
        part.segment_length = kBytes;
        ++state.sent;
        test::succeed(
            dat_ep_post_send(ep, 1, &part, test::cookie(number), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_send");
    };
    while (number < kAtOnce) send();
    for (std::uint64_t completed = 0; completed < number; ++completed) {
        const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
        state.wrong += event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
        if (!state.stop) send();
    }
}

/// Writes into the regions of an order for as long as a transfer is to last. @return false if a
/// write was refused.
bool write_into(const Side& side, test::Buffer& source, DAT_EP_HANDLE ep, const Order& order) {
    source.bytes.assign(source.bytes.size(), order.stamp);
    const Time end = now() + kUse;
    do {
        for (std::size_t i = 0; i < kCapacity; ++i) {
            if (!order.is_wanted[i]) continue;
            DAT_LMR_TRIPLET part = source.all();
            part.segment_length = kBytes;
            DAT_RMR_TRIPLET to = order.windows[i].part(kBytes);
            test::succeed(dat_ep_post_rdma_write(ep, 1, &part, test::cookie(i), &to,
                                                 DAT_COMPLETION_DEFAULT_FLAG),
                          "dat_ep_post_rdma_write");
            if (Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
                    .event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                return false;
        }
    } while (now() < end);
    return true;
}

/// The holder's peer, which does not share the table.
void be_peer(State& state, Load load, test::Channel& holder) {
    unsetenv("OPENDAT_REGISTRATIONS");
    const Side side;
    test::Buffer source(side, 4 * kBytes);
    holder.receive<char>();
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    if (load == Load::kFlow) send_messages(side, source, ep, state);
    while (load == Load::kInUse) {
        const auto order = holder.receive_whenever<Order>();
        if (order.stamp == 0) break;
        const bool stands = write_into(side, source, ep, order);
        holder.send(stands ? 'd' : 'x');
        if (!stands) break;
    }
    holder.receive_whenever<char>();
}

/// @return an endpoint that takes as many receives as there are regions.
DAT_EP_HANDLE endpoint(const Side& side, DAT_EVD_HANDLE receives) {
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_EP_PARAM parameters{};
    test::succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    test::succeed(dat_ep_free(ep), "dat_ep_free");
    parameters.ep_attr.max_recv_dtos = kCapacity;
    test::succeed(dat_ep_create(side.ia, side.pz, receives, side.sends, side.connections,
                                &parameters.ep_attr, &ep),
                  "dat_ep_create");
    return ep;
}

void hold_all(State& state, Load load, test::Channel& parent) {
    test::Child peer([&](test::Channel& holder) { be_peer(state, load, holder); });
    Side side;
    if (load == Load::kSilent)
        test::succeed(dat_reg_evd_attach(side.ia, side.evd(DAT_EVD_SOFTWARE_FLAG, 4 * kCapacity)),
                      "dat_reg_evd_attach");
    Regions all;
    for (int i = 0; i < kCapacity; ++i) {
        all.push_back(std::make_unique<Region>(side, kBytes));
        test::succeed(all.back()->create(
                          0, is_messaging(load) ? DAT_REG_CLASS_MESSAGING : DAT_REG_CLASS_RDMA),
                      "an entry");
    }
    const DAT_EVD_HANDLE receives = side.evd(DAT_EVD_DTO_FLAG, 2 * kCapacity);
    const DAT_EP_HANDLE ep = endpoint(side, receives);
    for (std::uint64_t i = 0; i < all.size() && (load == Load::kFlow || load == Load::kPosted); ++i)
        test::require(post(ep, all, i), "a receive");
    side.listen(kQualifier);
    peer.channel().send('l');
    test::succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    parent.send('h');
    if (load == Load::kFlow) take_messages(side, receives, ep, all, state);
    if (load == Load::kInUse) let_peer_write(peer.channel(), all, state);
    parent.receive_whenever<char>();
    peer.channel().send('e');
    test::require(peer.wait() == 0, "the peer ends well");
}

struct Given {
    double half_ms = 0;
    double before = 0, after = 0;  ///< messages a second
    std::uint64_t cut = 0;
};

double messages_a_second(const State& state, const Run& run) {
    const Time begin = now();
    const std::uint64_t before = state.taken;
    const timespec pause{0, static_cast<long>(run.seconds(0.2) * 1e9)};
    nanosleep(&pause, nullptr);
    return static_cast<double>(state.taken - before) * 1e9 / static_cast<double>(now() - begin);
}

/// Asks for half of the table at once.
void ask_for_half(Csv& csv, Load load, int round, Given& given) {
    RegistrationSide side;
    Regions wanted;
    for (int i = 0; i < kWanted; ++i) wanted.push_back(std::make_unique<Region>(side));
    const Time begin = now();
    for (auto& region : wanted) test::ask(side, *region);
    for (int got = 1; got <= kWanted; ++got) {
        const DAT_REG_EVENT_DATA data = side.upcall(DAT_REG_GRANTED_EVENT);
        static_cast<Region*>(data.cookie)->lmr = data.lmr_handle;
        given.half_ms = static_cast<double>(now() - begin) / 1e6;
        csv.row("%s,%d,%.3f,%d", kNames[static_cast<int>(load)], round, given.half_ms, got);
    }
}

Given run_load(Experiment& experiment, Csv& csv, Load load, int round) {
    Shared<State> state;
    test::RegistrationTable table(kCapacity, kGrace / kMicrosecond);
    table.set("OPENDAT_REGISTRATION_POLICY", "weighted-fair-lru");
    test::Child holder([&](test::Channel& channel) { hold_all(*state, load, channel); });
    holder.channel().receive<char>();
    Given given;
    if (load == Load::kFlow) given.before = messages_a_second(*state, experiment.run);
    ask_for_half(csv, load, round, given);
    if (load == Load::kFlow) given.after = messages_a_second(*state, experiment.run);
    state->stop = true;
    holder.channel().send('e');
    test::require(holder.wait(120s) == 0, "the holder ends well");
    given.cut = state->cut;
    experiment.check((std::string(kNames[static_cast<int>(load)]) +
                      ": entries, messages, and what the peer's writes brought")
                         .c_str(),
                     kWanted + state->taken + state->transfers,
                     state->wrong + (state->taken != state->sent));
    return given;
}

}  // namespace

void classes(const Run& run) {
    Experiment experiment(run, "R8");
    Csv csv = experiment.csv("", "load,round,ms,given");
    double half[kLoads] = {};
    std::vector<double> before, after;
    std::uint64_t cut = 0;
    const int rounds = run.count(10);
    for (int load = 0; load < kLoads; ++load) {
        std::vector<double> times;
        for (int round = 0; round < rounds; ++round) {
            const Given given = run_load(experiment, csv, static_cast<Load>(load), round);
            times.push_back(given.half_ms);
            cut += given.cut;
            if (static_cast<Load>(load) != Load::kFlow) continue;
            before.push_back(given.before);
            after.push_back(given.after);
        }
        half[load] = percentile(times, 0.5);
    }
    const auto& [not_posted, flow, posted, idle, in_use, silent] = half;
    const double grace = static_cast<double>(kGrace) / 1e6;
    experiment.claim(
        "buffers for messages come back without waiting for the grace period, posted ones with the "
        "messages that they take",
        not_posted < grace / 2 && flow < grace / 2,
        "half of the table in %.1f ms; in %.1f ms where all were posted and messages came; T is "
        "%.0f ms",
        not_posted, flow, grace);
    experiment.claim("posted ones that take no message stay until T, and come back then",
                     posted >= 0.9 * grace && posted < 2 * grace, "half of the table in %.1f ms",
                     posted);
    const double ratio = percentile(after, 0.5) / percentile(before, 0.5);
    experiment.claim("half of the buffers carry at least half of the messages, and none is lost",
                     ratio > 0.5, "%.0f messages a second before, %.0f after",
                     percentile(before, 0.5), percentile(after, 0.5));
    experiment.claim("those for RDMA come back when their use ends, at T at the latest",
                     in_use < grace && silent >= grace * 0.9,
                     "idle %.1f ms, while a peer writes into each for %.0f ms at a time %.1f ms, "
                     "owner silent %.1f ms; %llu writes cut off",
                     idle, static_cast<double>(kUse) / 1e6, in_use, silent,
                     static_cast<unsigned long long>(cut));
}

}  // namespace registration
