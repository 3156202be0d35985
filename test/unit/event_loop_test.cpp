// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "test/support/process.hpp"

namespace {

using namespace std::chrono_literals;
using dapl::connection_lock;
using dapl::cm::EventLoop;
using Lock = support::MutexLock;

auto threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
}

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

struct Recorder : dapl::cm::Timer {
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

struct PipeReader : dapl::cm::EventSource {
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
    EventLoop::release();  // joins: whatever was on its way is through
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

/// Counts its calls, and does what the test wants.
struct Caller : dapl::cm::EventSource {
    explicit Caller(std::function<void()> what = [] {}) : action(std::move(what)) {}
    void ready() override {
        ++calls;
        action();
    }
    std::function<void()> action;
    std::atomic<int> calls{0};
};

/// Whatever the loop has fetched by now is handled before this returns.
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
        const Lock guard(connection_lock);  // there is room to write from the beginning
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
        EXPECT_EQ(source.calls, before + 1);  // since it has changed its interest
    }
    {
        const Lock guard(connection_lock);
        source.action = [&]() REQUIRES(connection_lock) { loop_->forget(end); };
        sockets.send();
    }
    EXPECT_TRUE(test::eventually([&] { return source.calls == 3; }));
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
        // Forks with the lock held, as another thread's fork may find it.
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
