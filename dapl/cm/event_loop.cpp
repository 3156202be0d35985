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

/// The state that outlives one loop. A forked child starts anew: it has no event thread, and the
/// locks may be held by threads that it does not have either.
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

/// Sources called per turn before the timers are checked again.
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
            // Locked anew for each source, to let the application's threads in between.
            const support::MutexLock guard(connection_lock);
            handle(key);
        });
    }
}

/// @return false if the call threw (it ran out of memory): its event is lost.
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
    // The event is stale if the descriptor was forgotten or put to rest after the event had been
    // fetched, by an earlier source of the same turn for instance.
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
        reserve(watched);  // so that rest() needs no memory
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
    // Removed, since epoll reports a hang-up even for an empty set of events.
    poller_.remove(descriptor);
    found->second.resting = true;
    arm(found->second, Timer::Clock::now() + kRest);
}

void EventLoop::Watched::expired() {
    if (loop.add(*this) == 0) return;
    resting = true;  // the kernel has no memory for it: try again later
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
    // The deadline of a cancelled timer is kept: timers of later connections usually end after it,
    // and arming those then need not wake this thread.
    if (sleeps_until_ <= now) sleeps_until_ = Timer::Clock::time_point::max();
    if (!timers_.empty()) sleeps_until_ = std::min(sleeps_until_, timers_.begin()->first);
    if (sleeps_until_ == Timer::Clock::time_point::max()) return -1;
    if (sleeps_until_ <= now) return 0;  // no subtraction: a long past deadline might overflow it
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(sleeps_until_ - now).count();
    return static_cast<int>(std::min<std::int64_t>(left, INT_MAX));
}

void EventLoop::run_expired_timers() {
    const auto now = Timer::Clock::now();
    // Runs no more timers than there are now: one that arms itself for the past has to wait until
    // the sources have had their turn.
    for (auto left = timers_.size(); left > 0; --left) {
        if (timers_.empty() || timers_.begin()->first > now) return;
        Timer& timer = *timers_.begin()->second;
        cancel(timer);
        call_out([&]() REQUIRES(connection_lock) { timer.expired(); });
    }
}

}  // namespace dapl::cm
