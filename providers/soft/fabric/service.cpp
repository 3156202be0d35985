// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/fabric/service.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <vector>

namespace softverbs {

Result<void> Service::start() {
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_.valid() || !wake_.valid()) return tl::unexpected(errno);
    auto watched = watch(wake_.get(), EPOLLIN, [wake = wake_.get()](std::uint32_t) {
        std::uint64_t count;
        while (read(wake, &count, sizeof count) < 0 && errno == EINTR) continue;
    });
    if (!watched) return watched;
    stopping_ = false;
    // Signals belong to the application's threads: ours is born with all of them blocked.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    const int error = pthread_create(&thread_, nullptr, run, this);
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    if (error != 0) return tl::unexpected(error);
    started_ = true;
    return {};
}

void Service::stop() {
    if (started_) {
        stopping_.store(true);
        wake();
        pthread_join(thread_, nullptr);
        service_thread_.store(pthread_t{});
        started_ = false;
    }
    epoll_.reset();
    wake_.reset();
}

void Service::abandon() {
    service_thread_.store(pthread_t{});
    started_ = false;
    epoll_.reset();
    wake_.reset();
}

bool Service::on_service_thread() const {
    return pthread_equal(pthread_self(), service_thread_.load());
}

void* Service::run(void* service) {
    pthread_setname_np(pthread_self(), "softverbs");
    static_cast<Service*>(service)->service_thread_.store(pthread_self());
    static_cast<Service*>(service)->loop();
    return nullptr;
}

void Service::loop() {
    std::array<epoll_event, 64> ready;
    while (!stopping_.load()) {
        const int count = epoll_wait(epoll_.get(), ready.data(), ready.size(), next_timeout());
        for (int i = 0; i < count; ++i) dispatch(ready[i].data.fd, ready[i].events);
        run_timers();
        run_posted();
    }
    run_posted();
}

Result<void> Service::watch(int fd, std::uint32_t events, FdHandler handler) {
    {
        support::MutexLock lock(mutex_);
        handlers_[fd] = std::make_shared<FdHandler>(std::move(handler));
    }
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
    const int error = errno;
    support::MutexLock lock(mutex_);
    handlers_.erase(fd);
    return tl::unexpected(error);
}

void Service::change(int fd, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Service::unwatch(int fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    std::shared_ptr<FdHandler> dropped;  // destroyed without the lock: it may own anything
    support::MutexLock lock(mutex_);
    const auto found = handlers_.find(fd);
    if (found == handlers_.end()) return;
    dropped = std::move(found->second);
    handlers_.erase(found);
}

void Service::dispatch(int fd, std::uint32_t events) {
    std::shared_ptr<FdHandler> handler;
    {
        support::MutexLock lock(mutex_);
        // An earlier handler of the same batch may have unwatched it.
        if (const auto found = handlers_.find(fd); found != handlers_.end())
            handler = found->second;
    }
    if (handler) (*handler)(events);
}

void Service::post(Function function) {
    {
        support::MutexLock lock(mutex_);
        posted_.push_back(std::move(function));
    }
    wake();
}

void Service::wake() {
    const std::uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) continue;
}

void Service::run_posted() {
    for (;;) {
        std::deque<Function> batch;
        {
            support::MutexLock lock(mutex_);
            batch.swap(posted_);
        }
        if (batch.empty()) return;
        for (Function& function : batch) function();
    }
}

Service::TimerId Service::at(Deadline deadline, Function function) {
    bool is_first = false;
    TimerId timer = 0;
    {
        support::MutexLock lock(mutex_);
        timer = ++last_timer_;
        const auto entry = timers_.emplace(TimerKey(deadline, timer), std::move(function)).first;
        timer_deadlines_[timer] = deadline;
        is_first = entry == timers_.begin();
    }
    if (is_first && !on_service_thread()) wake();
    return timer;
}

bool Service::cancel(TimerId timer) {
    Function dropped;
    support::MutexLock lock(mutex_);
    const auto found = timer_deadlines_.find(timer);
    if (found == timer_deadlines_.end()) return false;
    const auto entry = timers_.find(TimerKey(found->second, timer));
    dropped = std::move(entry->second);
    timers_.erase(entry);
    timer_deadlines_.erase(found);
    return true;
}

void Service::run_timers() {
    const Deadline now = Clock::now();
    for (;;) {
        Function function;
        {
            support::MutexLock lock(mutex_);
            if (timers_.empty() || timers_.begin()->first.first > now) return;
            const auto entry = timers_.begin();
            function = std::move(entry->second);
            timer_deadlines_.erase(entry->first.second);
            timers_.erase(entry);
        }
        function();
    }
}

/// In milliseconds, rounded up; -1 for ever.
int Service::next_timeout() {
    support::MutexLock lock(mutex_);
    if (!posted_.empty()) return 0;
    if (timers_.empty()) return -1;
    const auto left = timers_.begin()->first.first - Clock::now();
    if (left <= Clock::duration::zero()) return 0;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<long>(milliseconds, INT_MAX));
}

}  // namespace softverbs
