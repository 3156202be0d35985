// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/runner.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "tools/softverbs/explore/child.hpp"

namespace softverbs::explore {
namespace {

/// Written by the handler: the signal, and a descriptor that stays readable from then on.
std::atomic<int> signal_seen{0};
int stop = -1;

void on_signal(int signal) {
    const int error = errno;
    const std::uint64_t one = 1;
    signal_seen.store(signal);
    [[maybe_unused]] const ssize_t written = write(stop, &one, sizeof one);
    errno = error;
}

void catch_signals() {
    stop = eventfd(0, EFD_CLOEXEC);
    if (stop < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

/// Makes a directory whose path is short, because sockets are made in it.
std::string make_directory() {
    std::string path = std::filesystem::temp_directory_path() / "explore-XXXXXX";
    if (!mkdtemp(path.data())) throw std::system_error(errno, std::generic_category(), path);
    return path;
}

/// Work that threads take one by one.
class Work {
  public:
    Work(std::size_t size, const std::function<void(std::size_t)>& one) : size_(size), one_(one) {}

    void carry_out(unsigned threads) {
        std::vector<std::thread> all;
        for (unsigned i = 0; i < std::min<std::size_t>(threads, size_); ++i)
            all.emplace_back([this] { take_all(); });
        for (std::thread& thread : all) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void take_all() {
        for (std::size_t i; (i = next_++) < size_ && signal_seen == 0;) try {
                one_(i);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
                next_ = size_;
            }
    }

    std::size_t size_;
    const std::function<void(std::size_t)>& one_;
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

Runner::Runner(const Options& options, Tool tool)
    : options_(options), tool_(std::move(tool)), directory_(make_directory()) {
    start_guard(directory_);
    catch_signals();
    adopt_orphans();
}

Runner::~Runner() {
    end_descendants();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::vector<Run> Runner::carry_out_all(const std::vector<Order>& orders, const OnRun& on_run) {
    std::vector<Run> runs(orders.size());
    const unsigned first = runs_;
    runs_ += static_cast<unsigned>(orders.size());
    std::mutex mutex;
    Work(orders.size(), [&](std::size_t i) {
        const std::string directory = directory_ + '/' + std::to_string(first + i);
        runs[i] = carry_out(options_, tool_, orders[i], directory, stop);
        const std::lock_guard lock(mutex);
        if (on_run && runs[i].is_complete) on_run(runs[i]);
    }).carry_out(options_.jobs);
    return runs;
}

int Runner::interrupted() {
    return signal_seen;
}

}  // namespace softverbs::explore
