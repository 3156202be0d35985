// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/event_loop.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <exception>
#include <new>

#include "dapl/cm/failure.hpp"
#include "dapl/support/log.hpp"

namespace dapl::cm {
namespace {

/// What outlives one loop. After a fork the child starts over: the thread is not there, and the
/// locks may be held by threads that are not there either.
struct Shared {
    support::Mutex lock;  ///< starting and stopping; taken before connection_lock
    EventLoop* loop GUARDED_BY(lock) = nullptr;
    int users GUARDED_BY(lock) = 0;
};
union ImmortalShared {
    Shared value;
    constexpr ImmortalShared() : value() {}
    ~ImmortalShared() {}
};
ImmortalShared shared_storage;
std::atomic<pid_t> owner{0};

Shared& shared() {
    const pid_t self = getpid();
    pid_t before = owner.load(std::memory_order_acquire);
    if (before != self && owner.compare_exchange_strong(before, self) && before != 0) {
        new (&shared_storage.value) Shared;
        new (&connection_lock) support::Mutex;
    }
    return shared_storage.value;
}

}  // namespace

support::Result<EventLoop*> EventLoop::acquire() {
    Shared& state = shared();
    const support::MutexLock guard(state.lock);
    if (!state.loop) {
        auto* loop = new EventLoop;
        if (const auto started = loop->start(); !started) {
            delete loop;
            return tl::unexpected(started.error());
        }
        state.loop = loop;
    }
    ++state.users;
    return state.loop;
}

void EventLoop::release() {
    Shared& state = shared();
    const support::MutexLock guard(state.lock);
    if (--state.users > 0) return;
    state.loop->stop();
    delete state.loop;
    state.loop = nullptr;
}

EventLoop::~EventLoop() {
    if (epoll_ >= 0) close(epoll_);
    if (wake_up_ >= 0) close(wake_up_);
}

support::Result<void> EventLoop::start() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_up_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_ < 0 || wake_up_ < 0) return system_failure(errno, "event thread's descriptors");
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = wake_up_;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_up_, &interest) != 0)
        return system_failure(errno, "epoll_ctl");
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, thread_main, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) return system_failure(error, "event thread");
    pthread_setname_np(thread_, "dapl-cm");
    return {};
}

void EventLoop::stop() {
    {
        const support::MutexLock guard(connection_lock);
        stopping_ = true;
    }
    wake();
    pthread_join(thread_, nullptr);
}

void* EventLoop::thread_main(void* loop) {
    static_cast<EventLoop*>(loop)->run();
    return nullptr;
}

void EventLoop::run() {
    for (;;) {
        int timeout;
        {
            const support::MutexLock guard(connection_lock);
            run_expired_timers();
            if (stopping_) return;
            timeout = milliseconds_to_next_timer();
        }
        // One event at a time: handling one may forget the source of another.
        epoll_event event{};
        if (epoll_wait(epoll_, &event, 1, timeout) != 1) continue;
        const support::MutexLock guard(connection_lock);
        if (event.data.fd == wake_up_) {
            std::uint64_t count;
            [[maybe_unused]] const ssize_t got = read(wake_up_, &count, sizeof count);
        } else if (const auto found = sources_.find(event.data.fd); found != sources_.end()) {
            try {
                found->second->ready();
            } catch (const std::exception& failure) {  // out of memory: the event is lost
                support::report<support::kEventLost>(failure.what());
            }
        }
    }
}

support::Result<void> EventLoop::watch(int descriptor, EventSource& source) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = descriptor;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &interest) != 0)
        return system_failure(errno, "epoll_ctl");
    sources_[descriptor] = &source;
    return {};
}

void EventLoop::forget(int descriptor) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
    sources_.erase(descriptor);
}

void EventLoop::arm(Timer& timer, Timer::Clock::time_point deadline) {
    cancel(timer);
    timer.armed_ = true;
    timer.deadline_ = deadline;
    const auto place = timers_.emplace(deadline, &timer).first;
    if (place == timers_.begin()) wake();
}

void EventLoop::cancel(Timer& timer) {
    if (!timer.armed_) return;
    timers_.erase({timer.deadline_, &timer});
    timer.armed_ = false;
}

int EventLoop::milliseconds_to_next_timer() {
    if (timers_.empty()) return -1;
    const auto left = timers_.begin()->first - Timer::Clock::now();
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (rounded <= 0) return 0;
    return rounded < INT_MAX ? static_cast<int>(rounded) : INT_MAX;
}

void EventLoop::run_expired_timers() {
    const auto now = Timer::Clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
        Timer& timer = *timers_.begin()->second;
        cancel(timer);
        timer.expired();
    }
}

void EventLoop::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(wake_up_, &one, sizeof one);
}

}  // namespace dapl::cm
