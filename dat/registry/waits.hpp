// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Threads that wait in a provider's library. A program may close the adapter instance under them
/// (doc/thread-safety.md): they return to code of the library after it has let them go, so that it
/// must not be unmapped before they have left it, which only the caller of that code can know.
#pragma once

#include <atomic>
#include <cstdint>

namespace dat {

/// Counts, in one of several lines of the cache, which of its threads mostly has for itself.
class Waits {
  public:
    /// @return whether any thread is between the two ends of a WaitInProvider.
    static bool any();

  private:
    friend class WaitInProvider;
    static constexpr unsigned kLines = 16;
    struct alignas(64) Line {
        std::atomic<std::uint32_t> count{0};
    };
    static Line& line_of_thread();
    static Line lines_[kLines];
};

/// While it exists no provider is unmapped. A deferred cancellation that unwinds the stack ends it.
class WaitInProvider {
  public:
    WaitInProvider() : count_(Waits::line_of_thread().count) {
        count_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~WaitInProvider() { count_.fetch_sub(1, std::memory_order_release); }
    WaitInProvider(const WaitInProvider&) = delete;
    WaitInProvider& operator=(const WaitInProvider&) = delete;

  private:
    std::atomic<std::uint32_t>& count_;
};

}  // namespace dat
