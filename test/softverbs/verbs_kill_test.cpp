// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that are killed at random moments, from their first instruction to the middle of their
/// traffic, in both directions and with every operation. TEST_SEED chooses other moments.
#include <random>

#include "test/softverbs/fault_survivor.hpp"

namespace test {
namespace {

class VerbsKill : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsKill);

/// Most clients at a time, including those that are dying.
constexpr std::size_t kClients = 8;

class KillTest {
  public:
    explicit KillTest(const std::string& fabric)
        : fabric_(fabric), shared_(SharedState::make()), nursery_(shared_, {}), random_(seed()) {
        survivor_ = std::make_unique<Survivor>();
        ClientHello steady;
        steady.is_steady = steady.shares_receives = true;
        steady_ = nursery_.start(steady, survivor_->port());
        survivor_->pump_until([&] { return survivor_->steady_messages() > 100; }, "traffic begins");
    }

    /// Reaches the peak of what a run needs, with all clients at once, and then records the
    /// footprint without any.
    void warm_up() {
        std::vector<pid_t> clients;
        while (clients.size() < kClients) clients.push_back(start());
        survivor_->pump_until([&] { return survivor_->established() == kClients + 1; },
                              "all clients connect");
        for (const pid_t client : clients) end(client);
        survivor_->pump_until([&] { return survivor_->connections() == 1; }, "all are forgotten");
        nursery_.visit();
        before_ = Footprint::now(fabric_);
    }

    void kill_at_random(int kills) {
        for (int started = 0; started < kills || !living_.empty();) {
            if (started < kills && living_.size() < 4 && survivor_->connections() < kClients) {
                const auto life = std::chrono::microseconds(random_() % 60000);
                const pid_t client = start();
                living_.emplace(Clock::now() + life, client);
                ++started;
            }
            const auto next = living_.empty() ? Clock::now() + 10ms : living_.begin()->first;
            survivor_->pump(std::min(next, Clock::now() + 10ms));
            if (!living_.empty() && Clock::now() >= living_.begin()->first) {
                end(living_.begin()->second);
                living_.erase(living_.begin());
            }
        }
        survivor_->pump_until([&] { return survivor_->connections() == 1; },
                              "every client's end is told");
    }

    void check() {
        nursery_.visit();
        require(eventually([&] {
                    survivor_->pump(Clock::now() + 1ms);
                    return Footprint::now(fabric_).fits_in(before_);
                }),
                "nothing is left behind: before " + before_.text() + ", now " +
                    Footprint::now(fabric_).text());
        end_steady_client(*survivor_, shared_, nursery_, steady_);
    }

    Clock::duration longest_silence() const { return longest_; }

  private:
    static unsigned seed() {
        const unsigned seed = chosen_seed();
        return seed;
    }

    pid_t start() {
        ClientHello hello;
        hello.number = ++number_;
        hello.shares_receives = number_ % 2 == 0;
        return nursery_.start(hello, survivor_->port());
    }

    /// Kills the client and waits until more of the third process's messages have arrived.
    void end(pid_t client) {
        const std::uint32_t messages = survivor_->steady_messages();
        const int status = nursery_.end(client);
        require(status == 128 + SIGKILL, "a client lives until it is killed");
        const auto killed = Clock::now();
        survivor_->pump_until([&] { return survivor_->steady_messages() > messages + 4; },
                              "the third process's traffic goes on");
        longest_ = std::max(longest_, Clock::now() - killed);
    }

    const std::string fabric_;
    SharedState& shared_;
    Nursery nursery_;
    std::mt19937 random_;
    std::unique_ptr<Survivor> survivor_;
    pid_t steady_ = 0;
    std::multimap<Clock::time_point, pid_t> living_;
    Footprint before_;
    Clock::duration longest_{};
    std::uint32_t number_ = 0;
};

/// Kills 1,000 processes in `make check-long`.
TEST_P(VerbsKill, OfRandomProcessesAtRandomMomentsDisturbsNoThirdAndLeavesNothingBehind) {
    KillTest test(fabric_.path());
    test.warm_up();
    test.kill_at_random(scaled(50));
    test.check();
    std::printf("# the third process's traffic went on within %lld ms\n",
                static_cast<long long>(test.longest_silence() / 1ms));
}

}  // namespace
}  // namespace test
