// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The send requests that a program builds between ibv_wr_start and ibv_wr_complete.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "providers/soft/softverbs/arena/own_pages.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A list of at most max_send_wr send requests, each with space for its segments or its inline
/// data. One thread at a time builds, from begin() to end(); if the program has promised that, it
/// calls begin_alone() instead, and no end().
class SendBuilder {
  public:
    /// @param capabilities of the queue pair. @return 0 or ENOMEM.
    int allocate(const ibv_qp_cap& capabilities);

    void begin() ACQUIRE(mutex_);
    void begin_alone() REQUIRES(mutex_);
    void end() RELEASE(mutex_) { mutex_.unlock(); }

    /// Appends a request without data. If the list is full it fails, and the request goes to a
    /// spare element that is never posted.
    ibv_send_wr& add(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags) REQUIRES(mutex_);
    /// @return the request that was added last.
    ibv_send_wr& current() REQUIRES(mutex_) { return request(current_); }
    /// Fails the list, which then is not posted; the first cause is kept.
    void fail(int cause) REQUIRES(mutex_);

    // -- the data of the current request
    void set_segments(const ibv_sge* segments, std::size_t count) REQUIRES(mutex_);
    /// Copies the data: the caller may reuse its buffers at once.
    void set_inline(const ibv_data_buf* buffers, std::size_t count) REQUIRES(mutex_);

    int cause() const REQUIRES(mutex_) { return cause_; }
    /// @return nullptr when the list is empty.
    ibv_send_wr* first() REQUIRES(mutex_) { return count_ == 0 ? nullptr : &request(0); }

  private:
    ibv_send_wr& request(std::uint32_t index) const;

    support::Mutex mutex_;  ///< taken before all locks of the queue pair
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
