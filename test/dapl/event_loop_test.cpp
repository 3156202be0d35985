// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "test/support/process.hpp"
#include "test/support/threads.hpp"

namespace {

using namespace std::chrono_literals;
using dapl::connection_lock;
using dapl::cm::EventLoop;
using Lock = support::MutexLock;
using test::threads;

class LoopTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto acquired = EventLoop::acquire();
        ASSERT_TRUE(acquired);
        loop_ = *acquired;
    }
    void TearDown() override { EventLoop::release(); }
    EventLoop* loop_ = nullptr;
};
using EventLoopTest = LoopTest;

struct Recorder final : dapl::cm::Timer {
    Recorder(std::vector<int>& log, int number) : log_(log), number_(number) {}
    void expired() override { log_.push_back(number_); }
    std::vector<int>& log_;
    int number_;
};

TEST_F(EventLoopTest, timers_expire_in_the_order_of_their_deadlines) {
    std::vector<int> log;
    Recorder late(log, 2);
    Recorder early(log, 1);
    {
        const Lock guard(connection_lock);
        const auto now = dapl::cm::Timer::Clock::now();
        loop_->arm(late, now + 20ms);
        loop_->arm(early, now + 5ms);
    }
    EXPECT_TRUE(test::eventually([&] {
        const Lock guard(connection_lock);
        return log.size() == 2;
    }));
    EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST_F(EventLoopTest, a_cancelled_timer_does_not_expire_and_a_rearmed_one_expires_once) {
    std::vector<int> log;
    Recorder cancelled(log, 1);
    Recorder rearmed(log, 2);
    Recorder last(log, 3);
    {
        const Lock guard(connection_lock);
        const auto now = dapl::cm::Timer::Clock::now();
        loop_->arm(cancelled, now + 1ms);
        loop_->arm(rearmed, now + 1ms);
        loop_->arm(rearmed, now + 2ms);
        loop_->arm(last, now + 10ms);
        loop_->cancel(cancelled);
    }
    EXPECT_TRUE(test::eventually([&] {
        const Lock guard(connection_lock);
        return !log.empty() && log.back() == 3;
    }));
    EXPECT_EQ(log, (std::vector<int>{2, 3}));
}

struct PipeReader final : dapl::cm::EventSource {
    void ready() override {
        char byte;
        if (read(end, &byte, 1) == 1) ++bytes;
    }
    int end = -1;
    std::atomic<int> bytes{0};
};

TEST_F(EventLoopTest, a_descriptor_is_read_until_it_is_forgotten) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    PipeReader reader;
    reader.end = ends[0];
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(ends[0], reader));
    }
    ASSERT_EQ(write(ends[1], "ab", 2), 2);
    EXPECT_TRUE(test::eventually([&] { return reader.bytes == 2; }));
    {
        const Lock guard(connection_lock);
        loop_->forget(ends[0]);
        ASSERT_EQ(write(ends[1], "c", 1), 1);
    }
    EventLoop::release();  // joins the thread, so everything it had fetched is handled
    EXPECT_EQ(reader.bytes, 2);
    ASSERT_TRUE(EventLoop::acquire());
    close(ends[0]);
    close(ends[1]);
}

/// A connected pair of stream sockets, closed at the end; the loop watches `here`.
struct Sockets {
    Sockets() {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) abort();
        here = ends[0];
        there = ends[1];
    }
    ~Sockets() {
        close(here);
        close(there);
    }
    void send(int bytes = 1) const {
        const std::string text(static_cast<std::size_t>(bytes), 'x');
        ASSERT_EQ(write(there, text.data(), text.size()), bytes);
    }
    int here = -1;
    int there = -1;
};

/// Runs the test's action and counts its calls.
struct Caller final : dapl::cm::EventSource {
    explicit Caller(std::function<void()> what = [] {}) : action(std::move(what)) {}
    void ready() override {
        action();
        ++calls;  // last: a test that sees it may close what the action used
    }
    std::function<void()> action;
    std::atomic<int> calls{0};
};

/// Returns when the loop has handled everything that it had fetched before.
void let_the_loop_turn(EventLoop& loop) {
    for (int turn = 0; turn < 2; ++turn) {
        const Sockets sockets;
        PipeReader reader;
        reader.end = sockets.here;
        {
            const Lock guard(connection_lock);
            ASSERT_TRUE(loop.watch(sockets.here, reader));
            sockets.send();
        }
        EXPECT_TRUE(test::eventually([&] { return reader.bytes == 1; }));
        const Lock guard(connection_lock);
        loop.forget(sockets.here);
    }
}

TEST_F(EventLoopTest, a_source_is_called_for_what_it_is_interested_in_alone) {
    const Sockets sockets;
    int end = sockets.here;
    Caller source([&]() REQUIRES(connection_lock) {
        loop_->change_interest(end, dapl::cm::Interest::kRead);
    });
    {
        const Lock guard(connection_lock);  // it is writable from the beginning
        ASSERT_TRUE(loop_->watch(end, source, dapl::cm::Interest::kRead));
    }
    let_the_loop_turn(*loop_);
    EXPECT_EQ(source.calls, 0);
    for (const auto writing : {dapl::cm::Interest::kWrite, dapl::cm::Interest::kReadWrite}) {
        const int before = source.calls;
        {
            const Lock guard(connection_lock);
            loop_->change_interest(end, writing);
        }
        EXPECT_TRUE(test::eventually([&] { return source.calls > before; }));
        let_the_loop_turn(*loop_);
        EXPECT_EQ(source.calls, before + 1);  // since it has changed its interest back
    }
    {
        const Lock guard(connection_lock);
        source.action = [&]() REQUIRES(connection_lock) { loop_->forget(end); };
        sockets.send();
    }
    EXPECT_TRUE(test::eventually([&] { return source.calls == 3; }));
}

/// Watches all of them and makes all of them readable between two polls of the loop, so that it
/// fetches them together.
void become_ready_together(EventLoop& loop, const std::vector<const Sockets*>& all,
                           const std::vector<Caller*>& sources) {
    const Sockets first;
    std::atomic<bool> holding{false};
    // The loop's thread stays inside this source until all are readable, and then polls again.
    Caller gate([&]() REQUIRES(connection_lock) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            ASSERT_TRUE(loop.watch(all[i]->here, *sources[i]));
            all[i]->send();
        }
        loop.forget(first.here);
        holding = true;
    });
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop.watch(first.here, gate));
        first.send();
    }
    ASSERT_TRUE(test::eventually([&] { return holding.load(); }));
}

TEST_F(EventLoopTest, a_source_that_another_one_of_its_turn_forgets_is_not_called) {
    for (int round = 0; round < 20; ++round) {
        const Sockets one;
        const Sockets other;
        Caller first([&]() REQUIRES(connection_lock) {
            loop_->forget(one.here);
            loop_->forget(other.here);
        });
        Caller second(first.action);
        become_ready_together(*loop_, {&one, &other}, {&first, &second});
        let_the_loop_turn(*loop_);
        EXPECT_EQ(first.calls + second.calls, 1);
    }
}

TEST_F(EventLoopTest, a_descriptors_number_that_is_used_anew_in_a_turn_does_not_get_the_old_event) {
    for (int round = 0; round < 20; ++round) {
        const Sockets one;
        const Sockets other;
        const Sockets idle;
        Caller fresh;
        // Whichever is called first, the other's number is given to a socket with nothing to read.
        const auto replace = [&](int mine, int others) REQUIRES(connection_lock) {
            loop_->forget(mine);
            loop_->forget(others);
            ASSERT_EQ(dup2(idle.here, others), others);
            ASSERT_TRUE(loop_->watch(others, fresh));
        };
        Caller first([&]() REQUIRES(connection_lock) { replace(one.here, other.here); });
        Caller second([&]() REQUIRES(connection_lock) { replace(other.here, one.here); });
        become_ready_together(*loop_, {&one, &other}, {&first, &second});
        let_the_loop_turn(*loop_);
        EXPECT_EQ(first.calls + second.calls, 1);
        EXPECT_EQ(fresh.calls, 0);
        const Lock guard(connection_lock);
        loop_->forget(one.here);
        loop_->forget(other.here);
    }
}

TEST_F(EventLoopTest, a_source_that_is_always_ready_holds_up_neither_others_nor_timers) {
    const Sockets greedy;
    const Sockets modest;
    Caller never_done;  // reads nothing
    PipeReader reader;
    reader.end = modest.here;
    std::vector<int> log;
    Recorder timer(log, 1);
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(greedy.here, never_done));
        ASSERT_TRUE(loop_->watch(modest.here, reader));
        greedy.send();
    }
    ASSERT_TRUE(test::eventually([&] { return never_done.calls > 0; }));
    {
        const Lock guard(connection_lock);
        modest.send();
        loop_->arm(timer, dapl::cm::Timer::Clock::now() + 1ms);
    }
    EXPECT_TRUE(test::eventually([&] { return reader.bytes == 1; }));
    EXPECT_TRUE(test::eventually([&] {
        const Lock guard(connection_lock);
        return !log.empty();
    }));
    const Lock guard(connection_lock);
    loop_->forget(greedy.here);
    loop_->forget(modest.here);
}

/// Arms itself for a time in the past.
struct Restless final : dapl::cm::Timer {
    explicit Restless(EventLoop& its_loop) : loop(its_loop) {}
    void expired() override REQUIRES(connection_lock) {
        ++count;
        loop.arm(*this, Clock::time_point::min());
    }
    EventLoop& loop;
    std::atomic<int> count{0};
};

TEST_F(EventLoopTest, a_timer_that_is_always_due_does_not_hold_up_the_sources) {
    const Sockets sockets;
    PipeReader reader;
    reader.end = sockets.here;
    Restless timer(*loop_);
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(sockets.here, reader));
        loop_->arm(timer, dapl::cm::Timer::Clock::now());
    }
    ASSERT_TRUE(test::eventually([&] { return timer.count > 0; }));
    sockets.send();
    EXPECT_TRUE(test::eventually([&] { return reader.bytes == 1; }));
    const Lock guard(connection_lock);
    loop_->cancel(timer);
    loop_->forget(sockets.here);
}

/// @return how many calls fit at most into the time since `begin` with a rest between them.
auto most_calls_since(dapl::cm::Timer::Clock::time_point begin) {
    return (dapl::cm::Timer::Clock::now() - begin) / EventLoop::kRest + 2;
}

TEST_F(EventLoopTest, a_source_that_fails_is_called_again_after_a_rest_and_says_so) {
    const Sockets sockets;
    std::atomic<int> calls{0};
    Caller source([&] {
        ++calls;
        throw std::bad_alloc();
    });
    const auto begin = dapl::cm::Timer::Clock::now();
    testing::internal::CaptureStderr();
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(sockets.here, source));
        sockets.send();
    }
    EXPECT_TRUE(test::eventually([&] { return calls >= 4; }));
    {
        const Lock guard(connection_lock);
        EXPECT_LE(calls, most_calls_since(begin));
        loop_->forget(sockets.here);
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("[DAT206]"), std::string::npos);
}

/// @return whether an epoll instance of this process polls the descriptor.
bool is_polled(int descriptor) {
    for (const auto& info : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream lines(info.path());
        for (std::string word; lines >> word;) {
            int number = -1;
            if (word == "tfd:" && lines >> number && number == descriptor) return true;
        }
    }
    return false;
}

TEST_F(EventLoopTest, a_descriptor_at_rest_is_left_alone_even_when_its_peer_hangs_up) {
    Sockets sockets;
    Caller source([&]() REQUIRES(connection_lock) { loop_->rest(sockets.here); });
    const auto begin = dapl::cm::Timer::Clock::now();
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(sockets.here, source));
        EXPECT_TRUE(is_polled(sockets.here));
        loop_->rest(sockets.here);
        EXPECT_FALSE(is_polled(sockets.here));
        loop_->change_interest(sockets.here, dapl::cm::Interest::kReadWrite);
        shutdown(sockets.there, SHUT_RDWR);
    }
    EXPECT_TRUE(test::eventually([&] { return source.calls >= 3; }));
    const Lock guard(connection_lock);
    EXPECT_LE(source.calls, most_calls_since(begin));
    loop_->forget(sockets.here);
}

/// @return how often the loop's thread has gone to sleep.
long sleeps_of_the_loop() {
    long sleeps = -1;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(task.path() / "status");
        std::string name;
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("Name:")) name = line.substr(6);
            if (name == "dapl-cm" && line.starts_with("voluntary_ctxt_switches:"))
                sleeps = std::stol(line.substr(24));
        }
    }
    return sleeps;
}

TEST_F(EventLoopTest, timers_that_end_later_than_others_wake_nobody) {
    std::vector<int> log;
    std::vector<std::unique_ptr<Recorder>> timers;
    const auto now = dapl::cm::Timer::Clock::now();
    const auto arm_and_cancel = [&](int number) {
        timers.push_back(std::make_unique<Recorder>(log, number));
        const Lock guard(connection_lock);
        loop_->arm(*timers.back(), now + 1h + std::chrono::milliseconds(number));
        if (number % 2 == 0) loop_->cancel(*timers.back());
    };
    arm_and_cancel(0);
    let_the_loop_turn(*loop_);
    const long before = sleeps_of_the_loop();
    ASSERT_GE(before, 0);
    for (int number = 1; number < 1000; ++number) arm_and_cancel(number);
    let_the_loop_turn(*loop_);
    EXPECT_LT(sleeps_of_the_loop() - before, 50);
    const Lock guard(connection_lock);
    for (const auto& timer : timers) loop_->cancel(*timer);
}

int descriptors_allowed() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 8192));
    setrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 8192));
}

TEST_F(EventLoopTest, with_many_idle_descriptors_the_one_that_is_ready_is_called_alone) {
    const int idle_ones = std::min(2000, (descriptors_allowed() - 100) / 2);
    std::vector<std::unique_ptr<Sockets>> idle;
    std::vector<std::unique_ptr<Caller>> callers;
    {
        const Lock guard(connection_lock);
        for (int i = 0; i < idle_ones; ++i) {
            idle.push_back(std::make_unique<Sockets>());
            callers.push_back(std::make_unique<Caller>());
            ASSERT_TRUE(loop_->watch(idle.back()->here, *callers.back()));
        }
    }
    const Sockets active;
    PipeReader reader;
    reader.end = active.here;
    {
        const Lock guard(connection_lock);
        ASSERT_TRUE(loop_->watch(active.here, reader));
    }
    for (int sent = 1; sent <= 100; ++sent) {
        active.send();
        ASSERT_TRUE(test::eventually([&] { return reader.bytes == sent; }));
    }
    const Lock guard(connection_lock);
    loop_->forget(active.here);
    for (int i = 0; i < idle_ones; ++i) {
        EXPECT_EQ(callers[static_cast<std::size_t>(i)]->calls, 0);
        loop_->forget(idle[static_cast<std::size_t>(i)]->here);
    }
}

TEST(EventLoop, its_one_thread_starts_with_the_first_user_and_is_joined_with_the_last) {
    const auto before = threads();
    ASSERT_TRUE(EventLoop::acquire());
    ASSERT_TRUE(EventLoop::acquire());
    EXPECT_EQ(threads(), before + 1);
    EventLoop::release();
    EXPECT_EQ(threads(), before + 1);
    EventLoop::release();
    EXPECT_EQ(threads(), before);
}

TEST(EventLoop, its_thread_blocks_all_signals) {
    ASSERT_TRUE(EventLoop::acquire());
    bool found = false;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream comm(task.path() / "comm");
        std::string name;
        std::getline(comm, name);
        if (name != "dapl-cm") continue;
        found = true;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with("SigBlk:")) continue;
            const auto blocked = std::stoull(line.substr(7), nullptr, 16);
            for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
                EXPECT_TRUE(blocked >> (number - 1) & 1) << number;
        }
    }
    EXPECT_TRUE(found);
    EventLoop::release();
}

TEST(EventLoop, a_child_starts_a_loop_of_its_own) {
    if (test::kThreadSanitizer) GTEST_SKIP() << "it allows no threads after a fork";
    ASSERT_TRUE(EventLoop::acquire());
    {
        // Forks with the lock held: when another thread forks, the loop's thread may hold it.
        const Lock guard(connection_lock);
        test::Child child([](test::Channel&) {
            const auto loop = EventLoop::acquire();
            test::require(loop.has_value(), "the child has a loop");
            std::vector<int> log;
            Recorder timer(log, 1);
            {
                const Lock in_child(connection_lock);
                (*loop)->arm(timer, dapl::cm::Timer::Clock::now());
            }
            test::require(test::eventually([&] {
                              const Lock in_child(connection_lock);
                              return !log.empty();
                          }),
                          "the child's timer expires");
            EventLoop::release();
        });
        EXPECT_EQ(child.wait(), 0);
    }
    EventLoop::release();
}

}  // namespace
