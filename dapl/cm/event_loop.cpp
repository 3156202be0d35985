// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <exception>
#include <memory>
#include <new>

#include "dapl/cm/failure.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"
#include "support/thread/start_thread.hpp"

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

/// So many sources are called before timers are looked at again.
constexpr int kEventsPerTurn = 64;

std::uint32_t epoll_events(Interest interest) {
    if (interest == Interest::kRead) return EPOLLIN;
    return interest == Interest::kWrite ? EPOLLOUT : EPOLLIN | EPOLLOUT;
}

}  // namespace

namespace {

tl::unexpected<support::Error> start_failure(int error_number) {
    const char* const what = "the thread of connection events";
    support::report_limit(error_number, what);
    return support::failure(error(DAT_INSUFFICIENT_RESOURCES), what);
}

}  // namespace

support::Result<EventLoop*> EventLoop::acquire() {
    Shared& state = shared();
    const support::MutexLock guard(state.lock);
    if (!state.loop) {
        std::unique_ptr<EventLoop> loop(new EventLoop);
        if (const auto started = loop->start(); !started) return tl::unexpected(started.error());
        state.loop = loop.release();
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

support::Result<void> EventLoop::start() {
    if (const int error = poller_.open()) return start_failure(error);
    if (const int error = support::start_thread(thread_, thread_main, this))
        return start_failure(error);
    pthread_setname_np(thread_, "dapl-cm");
    return {};
}

void EventLoop::stop() {
    {
        const support::MutexLock guard(connection_lock);
        stopping_ = true;
    }
    poller_.wake();
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
            timeout = plan_sleep();
        }
        poller_.wait<kEventsPerTurn>(timeout, [this](std::uint64_t key, std::uint32_t) {
            // Taken anew for each: the application's threads get in between.
            const support::MutexLock guard(connection_lock);
            handle(key);
        });
    }
}

/// @return whether the call ended well; one that runs out of memory has lost its event.
template <typename Call>
bool EventLoop::call_out(const Call& call) {
    in_call_ = true;
    bool ended_well = true;
    try {
        call();
    } catch (const std::exception& failure) {
        support::report<support::kEventLost>(failure.what());
        ended_well = false;
    }
    in_call_ = false;
    return ended_well;
}

void EventLoop::handle(std::uint64_t key) {
    const auto descriptor = static_cast<int>(key & UINT32_MAX);
    const auto found = sources_.find(descriptor);
    // An event fetched before an earlier one of its turn made a source forget or rest this one.
    if (found == sources_.end() || found->second.serial != key >> 32 || found->second.resting)
        return;
    EventSource& source = found->second.source;
    if (!call_out([&]() REQUIRES(connection_lock) { source.ready(); })) rest(descriptor);
}

int EventLoop::add(Watched& watched) {
    if (++last_serial_ == 0) ++last_serial_;
    watched.serial = last_serial_;
    watched.resting = false;
    return poller_.add(watched.descriptor, epoll_events(watched.interest), watched.key());
}

support::Result<void> EventLoop::watch(int descriptor, EventSource& source, Interest interest) {
    Watched& watched = sources_.try_emplace(descriptor, *this, descriptor, source).first->second;
    watched.interest = interest;
    try {
        reserve(watched);  // for its rests
    } catch (const std::bad_alloc&) {
        sources_.erase(descriptor);
        throw;
    }
    if (const int error = add(watched)) {
        sources_.erase(descriptor);
        return system_failure(error, "epoll_ctl");
    }
    return {};
}

void EventLoop::change_interest(int descriptor, Interest interest) {
    const auto found = sources_.find(descriptor);
    if (found == sources_.end() || found->second.interest == interest) return;
    found->second.interest = interest;
    if (!found->second.resting)
        poller_.change(descriptor, epoll_events(interest), found->second.key());
}

void EventLoop::rest(int descriptor) {
    const auto found = sources_.find(descriptor);
    if (found == sources_.end() || found->second.resting) return;
    // Taken out: a hang-up is told even to who waits for nothing.
    poller_.remove(descriptor);
    found->second.resting = true;
    arm(found->second, Timer::Clock::now() + kRest);
}

void EventLoop::Watched::expired() {
    if (loop.add(*this) == 0) return;
    resting = true;  // the kernel has no memory for it
    loop.arm(*this, Clock::now() + kRest);
}

void EventLoop::forget(int descriptor) {
    const auto found = sources_.find(descriptor);
    if (found == sources_.end()) return;
    if (!found->second.resting) poller_.remove(descriptor);
    cancel(found->second);
    sources_.erase(found);
}

void EventLoop::arm(Timer& timer, Timer::Clock::time_point deadline) {
    cancel(timer);
    if (timer.entry_) {
        timer.entry_.value() = {deadline, &timer};
        timers_.insert(std::move(timer.entry_));
    } else {
        timers_.emplace(deadline, &timer);
    }
    timer.armed_ = true;
    timer.deadline_ = deadline;
    if (deadline >= sleeps_until_ || in_call_) return;
    sleeps_until_ = deadline;
    poller_.wake();
}

void EventLoop::reserve(Timer& timer) {
    if (timer.armed_ || timer.entry_) return;
    arm(timer, Timer::Clock::time_point::max());
    cancel(timer);
}

void EventLoop::cancel(Timer& timer) {
    if (!timer.armed_) return;
    timer.entry_ = timers_.extract({timer.deadline_, &timer});
    timer.armed_ = false;
}

/// @return the time to sleep in milliseconds, -1 for no limit.
int EventLoop::plan_sleep() {
    const auto now = Timer::Clock::now();
    // The time of a timer that was cancelled meanwhile is kept: those of the connections to come
    // are usually later, and arming them then wakes nobody.
    if (sleeps_until_ <= now) sleeps_until_ = Timer::Clock::time_point::max();
    if (!timers_.empty()) sleeps_until_ = std::min(sleeps_until_, timers_.begin()->first);
    if (sleeps_until_ == Timer::Clock::time_point::max()) return -1;
    if (sleeps_until_ <= now) return 0;  // however long ago: the difference need not fit
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(sleeps_until_ - now).count();
    return static_cast<int>(std::min<std::int64_t>(left, INT_MAX));
}

void EventLoop::run_expired_timers() {
    const auto now = Timer::Clock::now();
    // No more than there are now: one that arms itself for the past has its turn after the sources.
    for (auto left = timers_.size(); left > 0; --left) {
        if (timers_.empty() || timers_.begin()->first > now) return;
        Timer& timer = *timers_.begin()->second;
        cancel(timer);
        call_out([&]() REQUIRES(connection_lock) { timer.expired(); });
    }
}

}  // namespace dapl::cm
