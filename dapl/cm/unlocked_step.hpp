// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A step of one connection that the event thread takes without connection_lock. The kernel waits
/// within some calls (on RoCE it finds a queue pair's way to the peer in a thread of its own), and
/// the application's threads begin and accept other connections meanwhile.
#pragma once

#include <utility>

#include "dapl/cm/lock.hpp"

namespace dapl::cm {

/// A member of the connection. Whoever else changes or ends the connection overtakes first.
class UnlockedStep {
  public:
    UnlockedStep() = default;
    UnlockedStep(const UnlockedStep&) = delete;
    UnlockedStep& operator=(const UnlockedStep&) = delete;
    ~UnlockedStep() REQUIRES(connection_lock) { overtake(); }

    /// The event thread's.
    /// @param work may use what outlives the connection's overtake(): the queue pair, the manager.
    /// @return false where the step was overtaken: the connection is another thread's then, and may
    /// be gone, with its manager.
    template <class Work>
    [[nodiscard]] bool run(const Work& work) REQUIRES(connection_lock) {
        Run run;
        {
            const Released released(*this, run);
            work();
        }
        return !run.is_overtaken;
    }

    /// Other threads'. Returns when the step is done, however it went.
    void overtake() REQUIRES(connection_lock) {
        Run* const run = std::exchange(current_, nullptr);
        if (!run) return;
        run->is_overtaken = true;
        const support::MutexLock until_done(run->working);
    }

  private:
    /// On the event thread's stack, which it leaves with connection_lock held: after overtake().
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
