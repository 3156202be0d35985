// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Wakes the agent thread when something happens that rings no doorbell of the table: dat_regd has
/// begun to listen, has sent something or has ended, or the holder of the lease has ended. It is
/// used where there may be a dat_regd, whose users must learn at once who speaks for a table.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <string>

#include "support/base/unique_fd.hpp"

namespace dapl::memory::regd {

class Watch {
  public:
    using Wake = void (*)(void* context);
    /// Watches the directory of dat_regd's socket. @param wake called by a thread of this object.
    Watch(const std::string& directory, Wake wake, void* context);
    /// In a child after fork, the parent goes on watching.
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// @return whether all is watched; false if this process had no descriptor or thread for it.
    bool valid() const { return is_running_; }
    /// @return whether something has appeared in the directory since the last call.
    bool take_appeared() { return appeared_.exchange(false); }
    /// Watches a socket until it is closed.
    void add(int socket);
    /// Watches a process, and the one before no longer. @return false if its end will wake nobody:
    /// it has ended, or cannot be watched.
    bool follow(pid_t process);

  private:
    void* run();

    const Wake wake_;
    void* const context_;
    const pid_t owner_;
    support::UniqueFd stop_, directory_, process_, all_;
    pid_t followed_ = 0;
    std::atomic<bool> appeared_{false};
    bool is_running_ = false;
    pthread_t thread_{};
};

}  // namespace dapl::memory::regd
