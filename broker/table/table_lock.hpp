// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The lock of a table. If its holder dies, the next process repairs what that one left half done
/// and gets the lock. Nobody waits for ever for a holder that is stopped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "broker/table/table.hpp"
#include "support/thread/mutex.hpp"

namespace dapl::memory {

/// Initialises the lock of a new table.
void make_lock(pthread_mutex_t& mutex);
/// @return whether memory that another process has written holds such a lock.
bool is_lock(const pthread_mutex_t& mutex);

class CAPABILITY("mutex") TableLock {
  public:
    /// @param name of the table, for messages. @param silent suppresses all messages.
    TableLock(const Table& table, std::string name, bool silent = false)
        : table_(table), name_(std::move(name)), silent_(silent) {}
    /// Must not be called by the holder. @return false if the holder does not release the lock in
    /// time or the table cannot be repaired, which is reported; then nothing is locked.
    bool acquire() TRY_ACQUIRE(true);
    void unlock() RELEASE();
    /// Wakes the threads that sleep on a word, once the lock is released.
    void wake_later(std::atomic<std::uint32_t>& word);
    /// Sets how long acquire() waits for the holder.
    void set_patience(Time patience) { patience_ = patience; }

  private:
    int wait_for_it(Time patience) NO_THREAD_SAFETY_ANALYSIS;
    bool inherit() NO_THREAD_SAFETY_ANALYSIS;
    bool give_up(int error);

    const Table& table_;
    const std::string name_;
    const bool silent_;
    Time patience_ = 5'000'000'000;
    std::atomic<bool> held_up_{false};  ///< the last acquire() timed out
    std::atomic<bool> broken_{false};
    std::array<std::atomic<std::uint32_t>*, 32> sleepers_{};  ///< written by the lock's holder
    std::size_t sleeper_count_ = 0;
};

using TableGuard = support::ScopedLock<TableLock>;

}  // namespace dapl::memory
