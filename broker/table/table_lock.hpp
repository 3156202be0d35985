// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The lock of a table. It passes on when its holder dies, after what that one left half done has
/// been repaired; and nobody waits for ever for a holder that is stopped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "broker/table/table.hpp"
#include "support/thread/mutex.hpp"

namespace dapl::memory {

/// Makes the lock of a new table.
void make_lock(pthread_mutex_t& mutex);
/// Whether memory that somebody else has written holds such a lock.
bool is_lock(const pthread_mutex_t& mutex);

class CAPABILITY("mutex") TableLock {
  public:
    /// @param name of the table, for messages. @param silent tells the user nothing.
    TableLock(const Table& table, std::string name, bool silent = false)
        : table_(table), name_(std::move(name)), silent_(silent) {}
    /// @return false when the holder does not let go of it, or the table is beyond repair; the user
    /// has been told. Then nothing is locked. Not to be called by one who holds it.
    bool acquire() TRY_ACQUIRE(true);
    void unlock() RELEASE();
    /// Wakes those who sleep on a word, once the lock is free.
    void wake_later(std::atomic<std::uint32_t>& word);
    /// How long a holder may be away.
    void set_patience(Time patience) { patience_ = patience; }

  private:
    int wait_for_it(Time patience) NO_THREAD_SAFETY_ANALYSIS;
    bool inherit() NO_THREAD_SAFETY_ANALYSIS;
    bool give_up(int error);

    const Table& table_;
    const std::string name_;
    const bool silent_;
    Time patience_ = 5'000'000'000;
    std::atomic<bool> held_up_{false};  ///< it was, the last time
    std::atomic<bool> broken_{false};
    std::array<std::atomic<std::uint32_t>*, 32> sleepers_{};  ///< written by the lock's holder
    std::size_t sleeper_count_ = 0;
};

using TableGuard = support::ScopedLock<TableLock>;

}  // namespace dapl::memory
