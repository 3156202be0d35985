// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Helpers for tests with real processes: children that end by a deadline, pipes to them, a fabric
/// of their own. There are no fixed sleeps: a test waits by eventually() or on a pipe.
#pragma once

#include <cxxabi.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "test/support/sanitizer.hpp"

namespace test {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Multiplies counts of stress tests by TEST_SCALE: 1 in `make check`, more in `make check-long`.
inline int scaled(int count) {
    const char* scale = getenv("TEST_SCALE");
    const double factor = scale ? atof(scale) : 1;
    return factor > 0 ? static_cast<int>(count * factor) + (count * factor < 1) : count;
}

/// @return whether counts are multiplied. Tests that measure, or must win a race, run only then.
inline bool is_long_run() {
    return scaled(1) > 1;
}

/// @return TEST_TIME_SCALE, the factor by which everything may be slower here than on an idle
/// machine; at least 1.
inline double time_scale() {
    const char* scale = getenv("TEST_TIME_SCALE");
    const double factor = scale ? atof(scale) : 1;
    return factor > 1 ? factor : 1;
}
/// Scales a test's timeout by time_scale(). Not for a time that a test lets pass on purpose.
inline Clock::duration scaled(Clock::duration time) {
    return std::chrono::duration_cast<Clock::duration>(time * time_scale());
}

/// Time after which a test regards anything as hung; generous, since sanitizers and busy machines
/// are slow.
inline const Clock::duration kDeadline = scaled(60s);

/// Converts a time to microseconds, DAT's unit.
inline std::uint32_t in_microseconds(Clock::duration time) {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

/// Returns the seed of a randomised test and prints it, so that the test can be repeated:
/// TEST_SEED, else 1 in `make check` and a new one each time in `make check-long`.
inline unsigned chosen_seed() {
    const char* wanted = getenv("TEST_SEED");
    unsigned seed = is_long_run() ? std::random_device{}() : 1;
    if (wanted) seed = static_cast<unsigned>(strtoul(wanted, nullptr, 10));
    std::printf("# TEST_SEED=%u\n", seed);
    return seed;
}

/// Polls until `condition` holds. @return false if it does not within the time.
template <class Condition>
bool eventually(Condition condition, Clock::duration within = kDeadline) {
    const auto end = Clock::now() + within;
    while (!condition()) {
        if (Clock::now() > end) return false;
        usleep(200);
    }
    return true;
}

/// Waits until there is something to read or the other side is gone. @return false if neither
/// happens within the time.
inline bool is_readable(int descriptor, Clock::duration within = kDeadline) {
    pollfd polled{descriptor, POLLIN, 0};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(within);
    return poll(&polled, 1, static_cast<int>(limit.count())) == 1;
}

/// @return number of open descriptors of this process, without the one that the count itself needs.
inline int open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<int>(std::distance(begin(all), end(all))) - 1;
}

/// A directory of one test. The process that created it removes it at the end.
class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = std::filesystem::temp_directory_path() / "opendat-test-XXXXXX";
        if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
        path_ = name;
    }
    ~TemporaryDirectory() {
        if (getpid() != owner_) return;
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    pid_t owner_ = getpid();
};

/// Sets an environment variable and restores it when destroyed.
class Setting {
  public:
    Setting(const char* name, const std::string& value) : name_(name) {
        if (const char* was = getenv(name)) before_ = was;
        setenv(name, value.c_str(), 1);
    }
    ~Setting() {
        if (before_)
            setenv(name_, before_->c_str(), 1);
        else
            unsetenv(name_);
    }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

  private:
    const char* name_;
    std::optional<std::string> before_;
};

/// A fabric of one test, which all libraries of this process and its children use.
class TemporaryFabric : public TemporaryDirectory {
  public:
    TemporaryFabric() { setenv("SOFTVERBS_FABRIC", path().c_str(), 1); }
};

/// A byte stream in both directions between a test and its child, created before the fork. Values
/// are sent whole.
class Channel {
  public:
    Channel() {
        if (pipe(to_child_) || pipe(to_parent_)) throw std::runtime_error("pipe failed");
    }
    ~Channel() {
        for (const int end : {to_child_[0], to_child_[1], to_parent_[0], to_parent_[1]})
            if (end >= 0) close(end);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// Each process closes the ends of the other, so that a death is seen as end of file.
    void be_child() { keep(to_child_[0], to_parent_[1]); }
    void be_parent() { keep(to_parent_[0], to_child_[1]); }

    template <class Value>
    void send(const Value& value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        if (write(out_, &value, sizeof value) != static_cast<ssize_t>(sizeof value))
            throw std::runtime_error("the other process is gone");
    }

    /// @throws if nothing arrives within the deadline or the other process is gone.
    template <class Value>
    Value receive() {
        return receive_while<Value>([](int input) { return is_readable(input); });
    }

    /// Waits without a deadline, for a process that serves another and does not know when it will
    /// ask.
    template <class Value>
    Value receive_whenever() {
        return receive_while<Value>([](int) { return true; });
    }

    /// Readable when something has arrived or the other process is gone.
    int input() const { return in_; }
    int output() const { return out_; }

    /// Meets the other side, which calls it too.
    void meet() {
        send('m');
        receive<char>();
    }

    /// Meets the other side after long work of that side; each step of the work has the deadline
    /// for itself. @param steps returns the number of steps done.
    template <class Steps>
    void meet_after(const Steps& steps) {
        send('m');
        auto before = steps();
        while (!is_readable(in_)) {
            const auto now = steps();
            if (now == before) throw std::runtime_error("the other process does not go on");
            before = now;
        }
        receive<char>();
    }

  private:
    template <class Value, class Wait>
    Value receive_while(const Wait& has_come) {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value;
        auto* bytes = reinterpret_cast<char*>(&value);
        for (size_t got = 0; got < sizeof value;) {
            if (!has_come(in_)) throw std::runtime_error("nothing came from the other process");
            const ssize_t n = read(in_, bytes + got, sizeof value - got);
            if (n <= 0) throw std::runtime_error("the other process is gone");
            got += static_cast<size_t>(n);
        }
        return value;
    }

    void keep(int in, int out) {
        for (int* end : {&to_child_[0], &to_child_[1], &to_parent_[0], &to_parent_[1]}) {
            if (*end == in || *end == out) continue;
            close(*end);
            *end = -1;
        }
        in_ = in;
        out_ = out;
    }

    int to_child_[2] = {-1, -1};
    int to_parent_[2] = {-1, -1};
    int in_ = -1;
    int out_ = -1;
};

/// A forked process that runs `body` and exits with 0; if `body` throws, it prints the text to
/// stderr and exits with 1. It dies with the test process, and the destructor kills it.
class Child {
  public:
    explicit Child(const std::function<void(Channel&)>& body) {
        signal(SIGPIPE, SIG_IGN);
        fflush(nullptr);
        pid_ = fork();
        if (pid_ < 0) throw std::runtime_error("fork failed");
        if (pid_ > 0) {
            channel_.be_parent();
            return;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        channel_.be_child();
        run(body);
    }
    ~Child() {
        if (pid_ <= 0) return;
        kill();
        wait();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    Channel& channel() { return channel_; }
    pid_t pid() const { return pid_; }
    void kill(int signal_number = SIGKILL) const { ::kill(pid_, signal_number); }
    /// @throws if the child has not been stopped, by itself or by a signal, within the deadline.
    void wait_until_stopped() const {
        int status = 0;
        const auto has_changed = [&] {
            return waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_;
        };
        if (!eventually(has_changed) || !WIFSTOPPED(status))
            throw std::runtime_error("the child has not stopped");
    }

    /// @return the exit status, 128 + signal for a killed child, -1 if it still runs after the
    /// deadline.
    int wait(Clock::duration within = kDeadline) {
        int status = 0;
        if (!eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, within)) return -1;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    [[noreturn]] void run(const std::function<void(Channel&)>& body) {
        int status = 0;
        try {
            body(channel_);
        } catch (const std::exception& error) {
            fprintf(stderr, "child %d: %s\n", getpid(), error.what());
            status = 1;
        }
        fflush(nullptr);
        _exit(status);  // skips the test framework's exit handlers, which belong to the parent
    }

    Channel channel_;
    pid_t pid_ = -1;
};

/// A thread of a test. join() rethrows what the thread threw, which ends that test instead of the
/// program.
class Thread {
  public:
    template <class Body, class... Arguments>
    requires(!std::is_same_v<Body, Thread>) explicit Thread(Body body, Arguments... arguments)
        : fault_(std::make_unique<std::exception_ptr>()),
          thread_(
              [fault = fault_.get(), body](auto... passed) mutable {
                  try {
                      body(passed...);
                  } catch (const abi::__forced_unwind&) {
                      throw;
                  } catch (...) {
                      *fault = std::current_exception();
                  }
              },
              arguments...) {}
    Thread(Thread&&) = default;
    Thread& operator=(Thread&&) = default;
    ~Thread() {
        if (thread_.joinable()) thread_.join();
    }

    void join() {
        thread_.join();
        if (*fault_) std::rethrow_exception(*fault_);
    }
    bool joinable() const { return thread_.joinable(); }
    std::thread::native_handle_type native_handle() { return thread_.native_handle(); }
    std::thread::id get_id() const { return thread_.get_id(); }

  private:
    std::unique_ptr<std::exception_ptr> fault_;
    std::thread thread_;
};

/// Throws if the condition is false. For children, which then exit with 1: GoogleTest's macros do
/// not reach the parent from there.
inline void require(bool condition, const std::string& what) {
    if (!condition) throw std::runtime_error("not so: " + what);
}

/// @return what `body` writes to stderr.
inline std::string captured_stderr(const std::function<void()>& body) {
    FILE* file = tmpfile();
    fflush(stderr);
    const int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    const auto end = [&] {
        fflush(stderr);
        dup2(saved, STDERR_FILENO);
        close(saved);
        std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
        if (pread(fileno(file), text.data(), text.size(), 0) < 0) text.clear();
        fclose(file);
        return text;
    };
    try {
        body();
    } catch (...) {
        fputs(end().c_str(), stderr);
        throw;
    }
    return end();
}

}  // namespace test
