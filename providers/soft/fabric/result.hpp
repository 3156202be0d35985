// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What softverbs' control path returns, and who owns a descriptor. Verbs speak errno, so a failure
/// is an errno value; whoever makes one that the user cannot explain to himself has reported it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <tl/expected.hpp>
#include <utility>

#include "dapl/support/guard.hpp"

namespace softverbs {

/// A value or a positive errno value.
template <class T>
using Result = tl::expected<T, int>;

using Clock = std::chrono::steady_clock;
/// Absolute time at which a wait gives up with ETIMEDOUT.
using Deadline = Clock::time_point;

/// Owns one file descriptor.
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~UniqueFd() { reset(); }
    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1) {
        if (fd_ >= 0) close(fd_);
        fd_ = fd;
    }
    /// Invalid when no descriptor is left or `fd` is none.
    static UniqueFd duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

  private:
    int fd_ = -1;
};

/// The socket calls are cancellation points, and verbs calls are none.
using support::CancellationDisabled;

}  // namespace softverbs
