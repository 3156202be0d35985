// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A function of a room above, which rooms below can call.
#pragma once

#include <functional>
#include <memory>

#include "support/thread/mutex.hpp"

namespace softverbs {

/// Thread safe. The function runs on the thread that calls, without the hook's lock.
template <class... Arguments>
class Hook {
  public:
    using Function = std::function<void(Arguments...)>;

    void set(Function function) EXCLUDES(mutex_) {
        auto made = std::make_shared<const Function>(std::move(function));
        support::MutexLock lock(mutex_);
        function_.swap(made);
    }
    /// Does nothing before set().
    void operator()(Arguments... arguments) const EXCLUDES(mutex_) {
        std::shared_ptr<const Function> function;
        {
            support::MutexLock lock(mutex_);
            function = function_;
        }
        if (function) (*function)(arguments...);
    }

  private:
    mutable support::Mutex mutex_;
    std::shared_ptr<const Function> function_ GUARDED_BY(mutex_);
};

}  // namespace softverbs
