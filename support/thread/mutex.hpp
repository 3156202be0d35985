// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lock types that clang's thread-safety analysis understands. The declaration of data names the
/// lock that guards it (GUARDED_BY); a function names the lock that its caller must hold
/// (REQUIRES).
#pragma once

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "support/base/processor.hpp"

#if defined(__clang__)
#define SUPPORT_ANNOTATION(x) __attribute__((x))
#else
#define SUPPORT_ANNOTATION(x)
#endif
#define CAPABILITY(x) SUPPORT_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY SUPPORT_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) SUPPORT_ANNOTATION(guarded_by(x))
#define PT_GUARDED_BY(x) SUPPORT_ANNOTATION(pt_guarded_by(x))
#define ACQUIRED_BEFORE(...) SUPPORT_ANNOTATION(acquired_before(__VA_ARGS__))
#define ACQUIRED_AFTER(...) SUPPORT_ANNOTATION(acquired_after(__VA_ARGS__))
#define REQUIRES(...) SUPPORT_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) SUPPORT_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) SUPPORT_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) SUPPORT_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) SUPPORT_ANNOTATION(release_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(x) SUPPORT_ANNOTATION(lock_returned(x))
#define NO_THREAD_SAFETY_ANALYSIS SUPPORT_ANNOTATION(no_thread_safety_analysis)

namespace support {

/// A pthread mutex, for the control path and everything that may block.
class CAPABILITY("mutex") Mutex {
  public:
    Mutex() = default;
    ~Mutex() { pthread_mutex_destroy(&native_); }
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() ACQUIRE() { pthread_mutex_lock(&native_); }
    bool try_lock() TRY_ACQUIRE(true) { return pthread_mutex_trylock(&native_) == 0; }
    void unlock() RELEASE() { pthread_mutex_unlock(&native_); }
    pthread_mutex_t* native() { return &native_; }

  private:
    pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
};

/// A lock of one word, for short sections without a system call. Yields after a bounded spin: the
/// holder may need this very core.
class CAPABILITY("mutex") SpinLock {
  public:
    void lock() ACQUIRE() {
        if (!take()) [[unlikely]]
            wait();
    }
    bool try_lock() TRY_ACQUIRE(true) { return take(); }
    /// @return whether somebody holds it now. By the order of sequentially consistent operations, a
    /// current holder may not see what the caller has stored before; whoever takes the lock later
    /// does.
    bool is_held() const { return held_.load(std::memory_order_seq_cst) != 0; }
    [[gnu::always_inline]] void unlock() RELEASE() { held_.store(0, std::memory_order_release); }

  private:
    static constexpr int kSpinsBeforeYield = 100;
    /// Uses a full word, so that processors set and test the bit in one instruction.
    bool take() { return (held_.fetch_or(1, std::memory_order_seq_cst) & 1) == 0; }
    [[gnu::noinline]] void wait() {
        for (int spins = 0; held_.load(std::memory_order_relaxed) != 0 || !take();) {
            pause_processor();
            if (++spins < kSpinsBeforeYield) continue;
            spins = 0;
            sched_yield();
        }
    }
    std::atomic<std::uint32_t> held_{0};
};

template <class Lock>
class SCOPED_CAPABILITY ScopedLock {
  public:
    explicit ScopedLock(Lock& lock) ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
    /// For a lock that try_lock() has taken.
    enum Taken { kTaken };
    ScopedLock(Lock& lock, Taken) REQUIRES(lock) : lock_(lock) {}
    [[gnu::always_inline]] ~ScopedLock() RELEASE() { lock_.unlock(); }
    ScopedLock(const ScopedLock&) = delete;
    ScopedLock& operator=(const ScopedLock&) = delete;

  private:
    Lock& lock_;
};
using MutexLock = ScopedLock<Mutex>;
using SpinLockGuard = ScopedLock<SpinLock>;

/// A condition variable on the monotonic clock. wait() is a cancellation point if the caller has
/// enabled cancellation; the mutex is held again while the cleanup runs.
class CondVar {
  public:
    CondVar() {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&native_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    ~CondVar() { pthread_cond_destroy(&native_); }
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;
    void wait(Mutex& mutex) REQUIRES(mutex) { pthread_cond_wait(&native_, mutex.native()); }
    /// @param deadline absolute CLOCK_MONOTONIC time. @return false when it has passed.
    bool wait_until(Mutex& mutex, const timespec& deadline) REQUIRES(mutex) {
        return pthread_cond_timedwait(&native_, mutex.native(), &deadline) != ETIMEDOUT;
    }
    void notify_one() { pthread_cond_signal(&native_); }
    void notify_all() { pthread_cond_broadcast(&native_); }

  private:
    pthread_cond_t native_;
};

}  // namespace support
