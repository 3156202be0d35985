// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared pages at a fork. Left alone they would be memory shared by parent and child, so the child
/// puts private copies in their place before fork() returns, while the parent waits.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/soft/softverbs/fabric/result.hpp"
#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "support/log/log.hpp"

namespace softverbs {

/// Registers the fork handlers, once there is something to keep apart. The C library forgets them
/// when this library is unloaded.
void SharedPages::watch_forks() {
    if (std::exchange(forks_watched_, true)) return;
    pthread_atfork([] { of_process().before_fork(); }, [] { of_process().after_fork_in_parent(); },
                   [] { of_process().after_fork_in_child(); });
}

void SharedPages::before_fork() NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    copied_[0] = copied_[1] = -1;
    if (allocations_.empty()) return;
    if (pipe2(copied_, O_CLOEXEC) != 0) copied_[0] = copied_[1] = -1;
}

void SharedPages::after_fork_in_parent() NO_THREAD_SAFETY_ANALYSIS {
    const CancellationDisabled guard;
    const UniqueFd answer(copied_[0]);
    UniqueFd(copied_[1]).reset();
    char done = 0;
    while (answer.valid() && read(answer.get(), &done, 1) < 0 && errno == EINTR) continue;
    mutex_.unlock();
}

void SharedPages::after_fork_in_child() NO_THREAD_SAFETY_ANALYSIS {
    if (memory_.is_open()) memory_.open();  // the open file shows the parent's mappings
    for (const auto& [begin, allocation] : allocations_)
        keep_apart({begin, begin + allocation.length});
    // The allocations stay, as the application still frees them. The parent's regions are not the
    // child's.
    for (auto& [begin, allocation] : allocations_) {
        allocation.shared = false;
        allocation.regions = 0;
    }
    if (page_file_ >= 0) close(std::exchange(page_file_, -1));
    memory_.close();
    const UniqueFd answer(copied_[0]);
    const UniqueFd done(copied_[1]);
    while (done.valid() && write(done.get(), "", 1) < 0 && errno == EINTR) continue;
    mutex_.unlock();
}

/// Gives this process its own copy of the pages. Without memory for a copy they are unmapped:
/// missing memory does less harm than memory that two processes take for their own.
void SharedPages::keep_apart(PageRange pages) {
    const int cause = make_private(page_file_, pages);
    if (cause == 0) return;
    support::report<support::kForkWithoutCopy>(pages.length(), std::strerror(cause));
    munmap(reinterpret_cast<void*>(pages.begin), pages.length());
}

}  // namespace softverbs
