// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R4: tasks, 0.5 to 4 times as many as the capacity, acquire an entry, use it for a while and
/// leave it idle. Measures how long it takes to acquire one, with waiting threads and with tickets,
/// with the reaper and without.
#include <condition_variable>
#include <queue>
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/support/process.hpp"

namespace registration {
namespace {

constexpr int kProcesses = 2;
constexpr int kCapacity = 64;
constexpr int kRegionsPerTask = 8;
constexpr double kHold = 2e6;  ///< ns, mean duration of a use
constexpr Time kPatience = 30 * kSecond;

struct State {
    Ledger ledger;
    Samples waits;  ///< us
    std::atomic<std::uint64_t> failed;
};

struct Way {
    double demand;
    bool tickets, reaper;
};

Time hold_time(std::mt19937& random) {
    return static_cast<Time>(std::exponential_distribution<>(1 / kHold)(random));
}

void sleep_for(Time time) {
    const timespec pause{static_cast<time_t>(time / kSecond), static_cast<long>(time % kSecond)};
    nanosleep(&pause, nullptr);
}

/// Runs a thread for each task, which waits for its entry.
void by_threads(State& state, Entries& entries, int tasks, Time end) {
    std::vector<std::thread> threads;
    for (int task = 0; task < tasks; ++task)
        threads.emplace_back([&, task] {
            std::mt19937 random(static_cast<unsigned>(task));
            for (int turn = 0; now() < end; turn = (turn + 1) % kRegionsPerTask) {
                const int region = task * kRegionsPerTask + turn;
                const Time begin = now();
                if (!entries.begin_use(region)) {
                    if (entries.has(region)) {  // about to be lost
                        sleep_for(100 * kMicrosecond);
                        continue;
                    }
                    if (entries.acquire(region, now() + kPatience)) {
                        ++state.failed;
                        continue;
                    }
                    state.waits.add(in_us(now() - begin));
                }
                sleep_for(hold_time(random));
                entries.end_use(region);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

/// One thread for all tasks, which ends the use of each granted entry when its time is over.
class ByTickets {
  public:
    ByTickets(State& state, Entries& entries, int tasks)
        : state_(state), entries_(entries), turns_(static_cast<std::size_t>(tasks)) {}

    void run(Time end) {
        for (int task = 0; task < static_cast<int>(turns_.size()); ++task) ask(task);
        std::unique_lock lock(mutex_);
        for (bool over = false; !over || outstanding_ != 0;) {
            over = now() >= end;
            const Time next = ends_.empty() ? now() + 10 * kMillisecond : ends_.top().first;
            if (next > now()) {
                changed_.wait_for(
                    lock, std::chrono::nanoseconds(std::min(next - now(), 10 * kMillisecond)));
                continue;
            }
            const int task = ends_.top().second;
            ends_.pop();
            lock.unlock();
            entries_.end_use(region_of(task));
            turns_[static_cast<std::size_t>(task)] =
                (turns_[static_cast<std::size_t>(task)] + 1) % kRegionsPerTask;
            lock.lock();
            --outstanding_;
            if (over) continue;
            lock.unlock();
            ask(task);
            lock.lock();
        }
    }

  private:
    int region_of(int task) const {
        return task * kRegionsPerTask + turns_[static_cast<std::size_t>(task)];
    }
    void ask(int task) {
        const int region = region_of(task);
        {
            const std::lock_guard guard(mutex_);
            ++outstanding_;
        }
        if (entries_.begin_use(region)) return granted(task);
        // A region that is about to lose its entry is skipped: the task asks for its next region.
        const Time begin = now();
        const auto refused = entries_.has(region)
                                 ? std::optional(Refusal::kTimedOut)
                                 : entries_.request(region, [this, task, begin](auto why) {
                                       if (why) return failed();
                                       state_.waits.add(in_us(now() - begin));
                                       granted(task);
                                   });
        if (refused == Refusal::kTimedOut)
            skip(task);
        else if (refused)
            failed();
    }
    void granted(int task) {
        const std::lock_guard guard(mutex_);
        ends_.push({now() + hold_time(random_), task});
        changed_.notify_one();
    }
    void skip(int task) {
        {
            const std::lock_guard guard(mutex_);
            --outstanding_;
        }
        auto& turn = turns_[static_cast<std::size_t>(task)];
        turn = (turn + 1) % kRegionsPerTask;
        ask(task);
    }
    void failed() {
        ++state_.failed;
        const std::lock_guard guard(mutex_);
        --outstanding_;
    }

    State& state_;
    Entries& entries_;
    std::vector<int> turns_;
    std::mutex mutex_;  ///< guards all below
    std::condition_variable changed_;
    std::priority_queue<std::pair<Time, int>, std::vector<std::pair<Time, int>>, std::greater<>>
        ends_;
    int outstanding_ = 0;
    std::mt19937 random_{1};
};

struct Waits {
    double p50, p99, p999;
};

Waits run_way(Experiment& experiment, Csv& csv, const Way& way) {
    Shared<State> state;
    const TableDirectory directory;
    Terms terms;
    terms.entries = kCapacity;
    terms.grace = 20 * kMillisecond;
    terms.policy = "lru";
    if (way.reaper) terms.low = kCapacity / 8, terms.high = kCapacity / 4;
    const int tasks = static_cast<int>(way.demand * kCapacity / kProcesses);
    const Time end = now() + static_cast<Time>(experiment.run.seconds(1.5) * 1e9);
    std::vector<std::unique_ptr<test::Child>> crew;
    for (int i = 0; i < kProcesses; ++i)
        crew.push_back(std::make_unique<test::Child>([&](test::Channel&) {
            Entries entries(directory.path(), terms, state->ledger, tasks * kRegionsPerTask, {});
            if (way.tickets)
                ByTickets(*state, entries, tasks).run(end);
            else
                by_threads(*state, entries, tasks, end);
        }));
    for (auto& child : crew) test::require(child->wait() == 0, "a process ends well");
    std::vector<double> waits = state->waits.all();
    const Waits found{percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 0.999)};
    csv.row("%.2f,%s,%s,%zu,%.1f,%.1f,%.1f", way.demand, way.tickets ? "tickets" : "threads",
            way.reaper ? "reaper" : "none", waits.size(), found.p50, found.p99, found.p999);
    Ledger& ledger = state->ledger;
    char what[100];
    std::snprintf(what, sizeof what,
                  "demand %.2f, %s, %s: each entry has one owner, none is left, all waiters served",
                  way.demand, way.tickets ? "tickets" : "threads",
                  way.reaper ? "reaper" : "no reaper");
    experiment.check(what, ledger.asked,
                     ledger.wrong + ledger.held + ledger.unserved() + state->failed +
                         (ledger.most_held > kCapacity ? 1 : 0));
    return found;
}

}  // namespace

void waiting(const Run& run) {
    Experiment experiment(run, "R4");
    Csv csv = experiment.csv("", "demand,way,reaper,count,p50_us,p99_us,p999_us");
    bool faster = true;
    double with = 0, without = 0, longest = 0;
    for (const bool tickets : {false, true}) {
        for (const double demand : {0.5, 0.75, 1.0, 1.5, 2.0, 4.0}) {
            const Waits lazy = run_way(experiment, csv, {demand, tickets, false});
            const Waits ahead = run_way(experiment, csv, {demand, tickets, true});
            longest = std::max({longest, lazy.p999, ahead.p999});
            if (demand != 0.5 || tickets) continue;
            with = ahead.p50, without = lazy.p50;
            faster = with * 2 < without;
        }
    }
    experiment.claim("below capacity the reaper at least halves the median wait", faster,
                     "at half the capacity %.0f us with it, %.0f us without", with, without);
    experiment.claim(
        "at four times the capacity too nobody starves: 99.9 % have their entry in a second",
        longest < 1e6, "p99.9 at most %.0f ms", longest / 1e3);
}

}  // namespace registration
