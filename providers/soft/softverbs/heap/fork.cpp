// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The heap across fork(). The pages of the page file are shared, so parent and child would use one
/// memory; therefore the child copies the heap into a page file of its own before fork() returns,
/// while the parent waits. All locks of the allocator are held during the copy (start.cpp registers
/// these handlers before all others).
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/heap/kernel.hpp"

namespace softverbs::heap {
namespace {

constinit __thread bool lost_child = false;

void close_end(int& fd) {
    if (fd >= 0) syscall(SYS_close, std::exchange(fd, -1));
}

}  // namespace

bool child_was_lost() {
    return std::exchange(lost_child, false);
}

/// Blocks signals, so that no signal handler runs in the child before its memory is its own.
/// Without a pipe the parent does not wait. Our fork() has made sure that a pipe can be opened;
/// callers within the C library (daemon(), forkpty()) have opened descriptors just before, or only
/// their child goes on.
void Heap::before_fork() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&mutex_);
    signals_ = before;
    lost_child = false;
    if (!is_open() || pipe2(copied_, O_CLOEXEC) != 0) copied_[0] = copied_[1] = -1;
}

/// A child that ends before its copy is complete counts as lost too.
void Heap::after_fork_in_parent() {
    close_end(copied_[1]);
    if (copied_[0] >= 0) {
        char done = 0;
        ssize_t got;
        do {
            got = syscall(SYS_read, copied_[0], &done, 1);
        } while (got < 0 && errno == EINTR);
        lost_child = got != 1;
    }
    close_end(copied_[0]);
    const sigset_t before = signals_;
    pthread_mutex_unlock(&mutex_);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Reads the pages that the parent has ever touched into our own memory, which is mapped there
/// already.
bool Heap::read_pages(const Area& area, int parents_file) {
    auto at = static_cast<off_t>(area.begin);
    const auto end = static_cast<off_t>(area.end);
    while ((at = lseek(parents_file, at, SEEK_DATA)) >= 0 && at < end) {
        off_t hole = lseek(parents_file, at, SEEK_HOLE);
        if (hole > end) hole = end;
        while (at < hole) {
            const ssize_t got = pread(parents_file, kernel::pointer(static_cast<std::uint64_t>(at)),
                                      static_cast<std::size_t>(hole - at), at);
            if (got <= 0) return false;
            at += got;
        }
    }
    return at >= 0 || errno == ENXIO;
}

bool Heap::make_own(const Area& area, int parents_file) {
    if (area.kind != Kind::kFile) return true;
    if (area.inheritance == Inheritance::kAbsent) return give_back(area.begin, area.end) == 0;
    if (map_pages(area.begin, area.length(), PROT_READ | PROT_WRITE, 0) == MAP_FAILED) return false;
    if (area.inheritance == Inheritance::kCopied && !read_pages(area, parents_file)) return false;
    if (!area.is_dumped) kernel::advise(area.begin, area.length(), MADV_DONTDUMP);
    return area.protection == (PROT_READ | PROT_WRITE) ||
           kernel::protect(area.begin, area.length(), area.protection) == 0;
}

/// If no page file can be made, the child goes on with ordinary memory. If there is no memory for
/// the copy, the child exits.
void Heap::after_fork_in_child() {
    close_end(copied_[0]);
    mutex_ = PTHREAD_MUTEX_INITIALIZER;
    const int parents_file = fd_.exchange(-1);
    if (parents_file >= 0) {
        fd_ = make_file();
        for (std::size_t i = areas_.count(); i-- > 0;) {
            const Area area = areas_[i];
            if (!make_own(area, parents_file)) _exit(127);
        }
        if (fd_ >= 0) {  // keeps the descriptor's number
            dup3(fd_, parents_file, O_CLOEXEC);
            syscall(SYS_close, fd_.exchange(parents_file));
        } else {
            syscall(SYS_close, parents_file);
        }
    }
    if (copied_[1] >= 0) {
        while (syscall(SYS_write, copied_[1], "", 1) < 0 && errno == EINTR) continue;
    }
    close_end(copied_[1]);
    const sigset_t before = signals_;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace softverbs::heap
