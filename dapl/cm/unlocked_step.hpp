// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A step of one connection that runs without connection_lock: on the active side in the event
/// thread, on the passive side in dat_cr_accept. Some calls wait in the kernel (on RoCE it resolves
/// a queue pair's path to the peer in a thread of its own), and other connections go on during the
/// wait.
#pragma once

#include <utility>

#include "dapl/cm/lock.hpp"

namespace dapl::cm {

/// A member of the connection. Other threads call overtake() before they change or end the
/// connection.
class UnlockedStep {
  public:
    UnlockedStep() = default;
    UnlockedStep(const UnlockedStep&) = delete;
    UnlockedStep& operator=(const UnlockedStep&) = delete;
    ~UnlockedStep() REQUIRES(connection_lock) { overtake(); }

    /// Runs `work` without connection_lock.
    /// @param work may use what outlives the connection's overtake(): the queue pair, the manager.
    /// @return false if the step was overtaken: the connection then belongs to another thread, and
    /// it may be destroyed already, with its manager.
    template <class Work>
    [[nodiscard]] bool run(const Work& work) REQUIRES(connection_lock) {
        Run run;
        {
            const Released released(*this, run);
            work();
        }
        // NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape): current_ does not point to it now
        return !run.is_overtaken;
    }

    /// For other threads. Returns when the running step, if any, is done, whatever its result.
    void overtake() REQUIRES(connection_lock) {
        Run* const run = std::exchange(current_, nullptr);
        if (!run) return;
        run->is_overtaken = true;
        const support::MutexLock until_done(run->working);
    }

  private:
    /// Lives on the stack of the step's thread, which destroys it with connection_lock held, so not
    /// before an overtake() is done with it.
    struct Run {
        support::Mutex working;  ///< taken with connection_lock held, never the other way round
        bool is_overtaken GUARDED_BY(connection_lock) = false;
    };

    class Released {
      public:
        Released(UnlockedStep& step, Run& run) NO_THREAD_SAFETY_ANALYSIS : step_(step), run_(run) {
            step_.current_ = &run_;
            run_.working.lock();
            connection_lock.unlock();
        }
        ~Released() NO_THREAD_SAFETY_ANALYSIS {
            run_.working.unlock();
            connection_lock.lock();
            if (!run_.is_overtaken) step_.current_ = nullptr;
        }
        Released(const Released&) = delete;
        Released& operator=(const Released&) = delete;

      private:
        UnlockedStep& step_;
        Run& run_;
    };

    Run* current_ GUARDED_BY(connection_lock) = nullptr;
};

}  // namespace dapl::cm
