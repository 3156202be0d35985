// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counts the threads that wait in a provider's library. A program may close the IA while they wait
/// (doc/thread-safety.md): when they are released they still return through the library's code, so
/// it must not be unmapped before they have left it. Only the caller of that code can know when.
#pragma once

#include <atomic>
#include <cstdint>

namespace dat {

/// The count, spread over several cache lines, so that each thread mostly has one for itself.
class Waits {
  public:
    /// @return whether any WaitInProvider exists.
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

/// While one exists, no provider is unmapped. Also ends when a deferred cancellation unwinds the
/// stack.
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
