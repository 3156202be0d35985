// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/table_lock.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "broker/table/fault_points.hpp"
#include "broker/table/futex.hpp"
#include "broker/table/repair.hpp"
#include "support/log/log.hpp"

namespace dapl::memory {
namespace {

/// Limits the wait for a holder after an acquire() that timed out, in ns.
constexpr Time kShortPatience = 10'000'000;
constexpr long kStep = 100'000'000;

}  // namespace

void make_lock(pthread_mutex_t& mutex) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

bool is_lock(const pthread_mutex_t& mutex) {
    pthread_mutex_t fresh;
    make_lock(fresh);
    return mutex.__data.__kind == fresh.__data.__kind;
}

/// Waits in short steps of pthread_mutex_timedlock, which ThreadSanitizer knows. The timeout is
/// checked with the monotonic clock, since the realtime clock of pthread_mutex_timedlock may be
/// set.
int TableLock::wait_for_it(Time patience) {
    int error = pthread_mutex_trylock(&table_.header->mutex);
    for (const Time end = now() + patience;
         error == EBUSY || (error == ETIMEDOUT && now() < end);) {
        timespec step;
        clock_gettime(CLOCK_REALTIME, &step);
        step.tv_nsec += std::min<long>(kStep, static_cast<long>(patience));
        step.tv_sec += step.tv_nsec / 1'000'000'000;
        step.tv_nsec %= 1'000'000'000;
        error = pthread_mutex_timedlock(&table_.header->mutex, &step);
    }
    return error;
}

bool TableLock::acquire() {
    if (broken_.load(std::memory_order_relaxed)) return false;
    const bool short_of = held_up_.load(std::memory_order_relaxed);
    const int error = wait_for_it(short_of ? kShortPatience : patience_);
    if (error == EOWNERDEAD ? !inherit() : error != 0) return give_up(error);
    if (short_of) held_up_.store(false, std::memory_order_relaxed);
    fault_point(FaultPoint::kLocked);
    return true;
}

/// Repairs the table after the death of the holder. The mutex stays inconsistent until the repair
/// is complete, so that another process repeats the repair if this one dies too.
bool TableLock::inherit() {
    support::trace(support::Level::kDebug, "registrations: the holder of the lock of {} has died",
                   name_);
    try {
        repair(table_);
    } catch (const std::bad_alloc&) {
        pthread_mutex_unlock(&table_.header->mutex);  // not consistent: nobody can lock it again
        return false;
    }
    fault_point(FaultPoint::kRepaired);
    return pthread_mutex_consistent(&table_.header->mutex) == 0;
}

bool TableLock::give_up(int error) {
    const bool first = !(error == ETIMEDOUT ? held_up_ : broken_).exchange(true);
    if (!first || silent_) return false;
    if (error == ETIMEDOUT)
        support::report<support::kRegistrationsHeldUp>(name_, patience_ / 1'000'000'000);
    else
        support::report<support::kRegistrationsBroken>(name_, strerror(error));
    return false;
}

void TableLock::unlock() NO_THREAD_SAFETY_ANALYSIS {
    std::array<std::atomic<std::uint32_t>*, 32> sleepers;
    const std::size_t count = std::exchange(sleeper_count_, 0);
    std::copy_n(sleepers_.begin(), count, sleepers.begin());
    pthread_mutex_unlock(&table_.header->mutex);
    fault_point(FaultPoint::kUnlocked);
    for (std::size_t i = 0; i < count; ++i) futex_wake(*sleepers[i]);
}

void TableLock::wake_later(std::atomic<std::uint32_t>& word) {
    for (std::size_t i = 0; i < sleeper_count_; ++i)
        if (sleepers_[i] == &word) return;
    if (sleeper_count_ == sleepers_.size())
        futex_wake(word);
    else
        sleepers_[sleeper_count_++] = &word;
}

}  // namespace dapl::memory
