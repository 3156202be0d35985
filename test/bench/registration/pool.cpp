// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R16: the entries are connections instead of registrations. Four processes want to reach more
/// peers than a server has connections for: one of them always, the others in bursts.
#include <sys/mman.h>

#include <cmath>
#include <mutex>
#include <random>
#include <thread>

#include "test/api/side.hpp"
#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr DAT_CONN_QUAL kQualifier = 46200;
constexpr int kProcesses = 4;
constexpr int kPeers = 24;     ///< which each process wants to reach
constexpr int kCapacity = 24;  ///< connections of all processes
constexpr int kBurst = 8;      ///< requests that a process makes after each pause
constexpr Time kPause = 50 * kMillisecond;

enum class Way { kRequest, kPartition, kPool };
constexpr const char* kNames[] = {"for each request", "partition", "pool"};

struct State {
    Ledger ledger;
    std::atomic<std::uint64_t> requests[kProcesses], connects[kProcesses], wrong;
    std::atomic<int> open, most_open;  ///< connections, as the processes see them
    Samples bursts;                    ///< us that a request of a burst takes
    std::atomic<bool> over;
};

/// The server: accepts whoever connects, and has a word for each process and peer.
class Server {
  public:
    Server() {
        words_ = static_cast<std::atomic<std::uint64_t>*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        if (words_ == MAP_FAILED) throw std::bad_alloc();
        child_ = std::make_unique<test::Child>([this](test::Channel& channel) { serve(channel); });
        window_ = child_->channel().receive<test::Window>();
    }
    ~Server() { munmap(words_, kBytes); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    test::Window window() const { return window_; }
    std::uint64_t word(int place) const { return words_[place]; }
    void end() {
        child_->channel().send('e');
        test::require(child_->wait() == 0, "the server ends well");
    }

  private:
    static constexpr std::size_t kBytes = sizeof(std::uint64_t) * kProcesses * kPeers;

    void serve(test::Channel& channel) {
        const test::Side side;
        const test::Window window = expose(side, words_, kBytes);
        side.listen(kQualifier);
        channel.send(window);
        std::atomic<bool> over{false};
        std::thread burying([&] { free_what_is_disconnected(side, over); });
        while (!test::is_readable(channel.input(), 0s)) {
            DAT_EVENT event{};
            DAT_COUNT more = 0;
            if (dat_evd_wait(side.requests, 10000, 1, &event, &more) != DAT_SUCCESS) continue;
            test::succeed(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
                                        side.endpoint(), 0, nullptr),
                          "dat_cr_accept");
        }
        over = true;
        burying.join();
    }
    static void free_what_is_disconnected(const test::Side& side, const std::atomic<bool>& over) {
        while (!over) {
            DAT_EVENT event{};
            DAT_COUNT more = 0;
            if (dat_evd_wait(side.connections, 10000, 1, &event, &more) != DAT_SUCCESS) continue;
            if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
                dat_ep_free(event.event_data.connect_event_data.ep_handle);
        }
    }

    std::atomic<std::uint64_t>* words_;
    test::Window window_{};
    std::unique_ptr<test::Child> child_;
};

/// The connections of one process. A connection may end in the agent's thread, between requests.
class Connections {
  public:
    Connections(State& state, const Server& server, int self)
        : state_(state), server_(server), self_(self), source_(side_, sizeof(std::uint64_t)) {
        for (One& one : all_) {
            one.events = side_.evd(DAT_EVD_CONNECTION_FLAG, 4);
            test::succeed(dat_ep_create(side_.ia, side_.pz, side_.receives, side_.sends, one.events,
                                        nullptr, &one.ep),
                          "dat_ep_create");
        }
    }
    void connect(int peer) {
        One& one = at(peer);
        const std::lock_guard guard(one.mutex);
        test::succeed(test::Side::connect(one.ep, kQualifier), "dat_ep_connect");
        test::Side::wait(one.events, DAT_CONNECTION_EVENT_ESTABLISHED);
        one.is_open = true;
        ++state_.connects[self_];
        const int open = ++state_.open;
        for (int most = state_.most_open;
             most < open && !state_.most_open.compare_exchange_weak(most, open);)
            continue;
    }
    void disconnect(int peer) {
        One& one = at(peer);
        const std::lock_guard guard(one.mutex);
        if (!one.is_open) return;
        test::succeed(dat_ep_disconnect(one.ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        test::Side::wait(one.events, DAT_CONNECTION_EVENT_DISCONNECTED);
        test::succeed(dat_ep_reset(one.ep), "dat_ep_reset");
        one.is_open = false;
        --state_.open;
    }
    /// Writes a number to the peer's word. @return false if there is no connection.
    bool request(int peer) {
        One& one = at(peer);
        const std::lock_guard guard(one.mutex);
        if (!one.is_open) return false;
        std::memcpy(source_.bytes.data(), &++number_, sizeof number_);
        DAT_LMR_TRIPLET from = source_.all();
        const int place = self_ * kPeers + peer;
        DAT_RMR_TRIPLET to =
            server_.window().part(sizeof number_, sizeof number_ * static_cast<std::size_t>(place));
        test::succeed(dat_ep_post_rdma_write(one.ep, 1, &from, test::cookie(number_), &to,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                      "dat_ep_post_rdma_write");
        const DAT_EVENT event = test::Side::wait(side_.sends, DAT_DTO_COMPLETION_EVENT);
        const auto& done = event.event_data.dto_completion_event_data;
        state_.wrong += done.status != DAT_DTO_SUCCESS || server_.word(place) != number_;
        ++state_.requests[self_];
        return true;
    }

  private:
    struct One {
        std::mutex mutex;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE events = DAT_HANDLE_NULL;
        bool is_open = false;
    };
    One& at(int peer) { return all_[static_cast<std::size_t>(peer)]; }

    State& state_;
    const Server& server_;
    const int self_;
    const test::Side side_;
    test::Buffer source_;
    std::uint64_t number_ = 0;
    std::array<One, kPeers> all_;
};

/// Gets a connection for each request, by one of the ways.
class Client {
  public:
    Client(State& state, const Server& server, int self, Way way, const std::string& directory,
           const Terms& terms)
        : way_(way),
          most_(way == Way::kPartition ? kCapacity / kProcesses : kCapacity),
          connections_(state, server, self),
          entries_(directory, terms, state.ledger, kPeers, {}) {
        entries_.on_loss = [this](int peer) { connections_.disconnect(peer); };
    }
    /// Ends the connections before their entries are released.
    ~Client() {
        for (int peer = 0; peer < kPeers; ++peer) connections_.disconnect(peer);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    void request(int peer) {
        std::erase(order_, peer);
        while (!try_request(peer)) continue;
        if (way_ == Way::kRequest)
            give_up(peer);
        else
            order_.push_back(peer);
    }

  private:
    bool try_request(int peer) {
        if (!entries_.begin_use(peer)) {
            // A partition is a matter of the process alone, which gives up what it used first.
            if (static_cast<int>(order_.size()) >= most_ && way_ == Way::kPartition) {
                give_up(order_.front());
                order_.erase(order_.begin());
            }
            give_up(peer);  // an announced one is as good as lost
            if (entries_.has(peer) || entries_.acquire(peer, now() + 30 * kSecond)) return false;
            connections_.connect(peer);
        }
        const bool done = connections_.request(peer);
        entries_.end_use(peer);
        return done;
    }
    void give_up(int peer) {
        connections_.disconnect(peer);
        entries_.give_back(peer);
    }

    const Way way_;
    const int most_;
    Connections connections_;
    Entries entries_;
    std::vector<int> order_;  ///< the peer used first comes first
};

void work(State& state, const Server& server, int self, Way way, const std::string& directory,
          const Terms& terms) {
    Client client(state, server, self, way, directory, terms);
    std::vector<double> weights;
    for (int rank = 1; rank <= kPeers; ++rank) weights.push_back(1 / std::pow(rank, 0.5));
    std::discrete_distribution<> popularity(weights.begin(), weights.end());
    std::mt19937 random(static_cast<unsigned>(self) + 1);
    while (!state.over) {
        if (self == 0) {
            client.request(popularity(random));
            continue;
        }
        const timespec pause{0, kPause};
        nanosleep(&pause, nullptr);
        for (int i = 0; i < kBurst; ++i) {
            const Time begin = now();
            client.request(popularity(random));
            state.bursts.add(in_us(now() - begin));
        }
    }
}

struct Found {
    double rate, connects, burst_median, burst_p99;
};

Found run_way(Experiment& experiment, Csv& csv, Way way) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 20 * kMillisecond;
    terms.policy = "weighted-fair-lru";
    Server server;
    std::vector<std::unique_ptr<test::Child>> crew;
    for (int self = 0; self < kProcesses; ++self)
        crew.push_back(std::make_unique<test::Child>([&, self](test::Channel&) {
            work(*state, server, self, way, directory.path(), terms);
        }));
    const auto busy = [&] { return state->requests[0].load(); };
    test::require(test::eventually([&] { return busy() > 100; }), "the busy one has begun");
    const std::uint64_t before = busy(), connected = state->connects[0];
    const Time begin = now();
    const timespec length{0, static_cast<long>(experiment.run.seconds(0.9) * 1e9)};
    for (int i = 0; i < 4; ++i) nanosleep(&length, nullptr);
    const double seconds = static_cast<double>(now() - begin) / 1e9;
    const double requests = static_cast<double>(busy() - before);
    const double connects = static_cast<double>(state->connects[0] - connected);
    state->over = true;
    for (auto& child : crew) test::require(child->wait(120s) == 0, "a process ends well");
    server.end();
    std::vector<double> bursts = state->bursts.all();
    const Found found{requests / seconds, 1000 * connects / requests, percentile(bursts, 0.5),
                      percentile(bursts, 0.99)};
    csv.row("%s,%.0f,%.2f,%.1f,%.1f,%d", kNames[static_cast<int>(way)], found.rate, found.connects,
            found.burst_median, found.burst_p99, state->most_open.load());
    std::uint64_t all = 0;
    for (const auto& one : state->requests) all += one;
    const Ledger& ledger = state->ledger;
    experiment.check(
        (std::string(kNames[static_cast<int>(way)]) + ": requests, entries and open connections")
            .c_str(),
        all + ledger.taken,
        state->wrong + ledger.wrong + ledger.held + ledger.unserved() +
            (state->most_open > kCapacity ? 1 : 0));
    return found;
}

}  // namespace

void pool(const Run& run) {
    Experiment experiment(run, "R16");
    Csv csv = experiment.csv(
        "", "way,busy_per_second,connects_per_1000,burst_us_p50,burst_us_p99,most_open");
    const Found each = run_way(experiment, csv, Way::kRequest);
    const Found partition = run_way(experiment, csv, Way::kPartition);
    const Found pool = run_way(experiment, csv, Way::kPool);
    experiment.claim(
        "a busy process gets more done with a pool that is shared by notice than with its part of "
        "the connections, or with one for each request",
        pool.rate > 1.2 * partition.rate && pool.rate > 1.2 * each.rate,
        "pool %.0f requests a second, partition %.0f, for each request %.0f", pool.rate,
        partition.rate, each.rate);
    experiment.claim("it connects less often", pool.connects < 0.8 * partition.connects,
                     "for 1000 requests: pool %.1f times, partition %.1f, for each request %.0f",
                     pool.connects, partition.connects, each.connects);
    experiment.claim(
        "processes that come back from a pause pay for it: their requests take longer than with "
        "connections of their own",
        pool.burst_median > 1.1 * partition.burst_median,
        "pool %.0f us by the median, %.0f by the 99th percentile, partition %.0f and %.0f, for "
        "each request %.0f and %.0f",
        pool.burst_median, pool.burst_p99, partition.burst_median, partition.burst_p99,
        each.burst_median, each.burst_p99);
}

}  // namespace registration
