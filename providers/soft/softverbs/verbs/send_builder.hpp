// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sends that a program puts together between ibv_wr_start and ibv_wr_complete.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "providers/soft/softverbs/verbs/own_pages.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A list of as many send requests as the queue pair takes, each with room for its segments or its
/// inline data. One thread at a time builds, from begin() to end().
class SendBuilder {
  public:
    /// @param capabilities of the queue pair. @return 0 or ENOMEM.
    int allocate(const ibv_qp_cap& capabilities);

    void begin() ACQUIRE(mutex_);
    void end() RELEASE(mutex_) { mutex_.unlock(); }

    /// The next request of the list, without data. Where there is no room the list fails, and what
    /// the program adds goes to a place that is not posted.
    ibv_send_wr& add(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags) REQUIRES(mutex_);
    /// The one that was added last.
    ibv_send_wr& current() REQUIRES(mutex_) { return request(current_); }
    /// The list will not be posted; the first cause counts.
    void fail(int cause) REQUIRES(mutex_);

    // -- the data of the current request
    void set_segments(const ibv_sge* segments, std::size_t count) REQUIRES(mutex_);
    /// Copies the data, which are the caller's again at once.
    void set_inline(const ibv_data_buf* buffers, std::size_t count) REQUIRES(mutex_);

    int cause() const REQUIRES(mutex_) { return cause_; }
    /// @return nullptr when the list is empty.
    ibv_send_wr* first() REQUIRES(mutex_) { return count_ == 0 ? nullptr : &request(0); }

  private:
    ibv_send_wr& request(std::uint32_t index) const;

    support::Mutex mutex_;  ///< before all locks of the queue pair
    OwnPages pages_;
    std::uint32_t stride_ = 0;  ///< bytes from one request to the next
    std::uint32_t max_requests_ = 0;
    std::uint32_t max_segments_ = 0;
    std::uint32_t max_inline_ = 0;
    std::uint32_t count_ GUARDED_BY(mutex_) = 0;
    std::uint32_t current_ GUARDED_BY(mutex_) = 0;
    int cause_ GUARDED_BY(mutex_) = 0;
};

}  // namespace softverbs
