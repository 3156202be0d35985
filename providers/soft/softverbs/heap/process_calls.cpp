// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// fork(), also from a stack that lies in the heap, and the calls that would close the page file.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdint>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/heap/kernel.hpp"
#include "providers/soft/softverbs/heap/start.hpp"

namespace {

using softverbs::heap::Heap;
using softverbs::heap::started;
namespace kernel = softverbs::heap::kernel;

/// Whether a pipe can be opened. The fork handlers need one, but cannot report that there is none.
bool has_free_descriptors() {
    int ends[2];
    if (!Heap::of_process().is_open()) return true;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    syscall(SYS_close, ends[0]);
    syscall(SYS_close, ends[1]);
    return true;
}

/// Refuses to fork (ENOSYS) when the C library's thread descriptor is in the heap: it is at the end
/// of a stack that the application has provided, and the child writes to it before any handler
/// runs. When the child finds no memory for its copy of the heap, it ends, and the call fails with
/// ENOMEM.
pid_t fork_or_fail() {
    if (Heap::of_process().contains(pthread_self())) {
        errno = ENOSYS;
        return -1;
    }
    if (!has_free_descriptors()) return -1;
    const pid_t child = started.next.fork();
    if (child <= 0 || !softverbs::heap::child_was_lost()) return child;
    while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) continue;
    errno = ENOMEM;
    return -1;
}

/// A fork on another stack. On a stack in the heap, parent and child would both run on the same
/// memory.
struct Detour {
    ucontext_t here, there;
    pid_t child;
    int cause;
};

void fork_there(unsigned low, unsigned high) {
    auto* detour = static_cast<Detour*>(kernel::pointer(std::uint64_t{high} << 32 | low));
    detour->child = fork_or_fail();
    detour->cause = errno;
}

pid_t fork_on_another_stack() {
    constexpr std::size_t kStack = 256 << 10;
    void* const memory = kernel::map(nullptr, kStack, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return -1;
    auto* detour = new (memory) Detour{};
    getcontext(&detour->there);
    detour->there.uc_stack.ss_sp = static_cast<char*>(memory) + sizeof(Detour);
    detour->there.uc_stack.ss_size = kStack - sizeof(Detour);
    detour->there.uc_link = &detour->here;
    const auto address = reinterpret_cast<std::uintptr_t>(detour);
    makecontext(&detour->there, reinterpret_cast<void (*)()>(&fork_there), 2,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
    swapcontext(&detour->here, &detour->there);
    const pid_t child = detour->child;
    const int cause = detour->cause;
    kernel::unmap(reinterpret_cast<std::uintptr_t>(memory), kStack);
    if (child < 0) errno = cause;
    return child;
}

bool is_page_file(int fd) {
    return fd >= 0 && fd == Heap::of_process().descriptor();
}

/// A child of vfork() may replace the number without a move: it has a descriptor table of its own,
/// but our memory.
bool may_replace(int fd) {
    return !is_page_file(fd) || getpid() != started.pid || Heap::of_process().move_descriptor();
}

int refuse() {
    errno = EBADF;
    return -1;
}

}  // namespace

extern "C" {

pid_t fork() noexcept {
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return Heap::of_process().contains(stack) ? fork_on_another_stack() : fork_or_fail();
}

/// Calls the handlers itself: _Fork() runs none of pthread_atfork().
pid_t _Fork() noexcept {
    if (!started.next._Fork) {
        errno = ENOSYS;
        return -1;
    }
    Heap& heap = Heap::of_process();
    heap.before_fork();
    const pid_t child = started.next._Fork();
    if (child == 0)
        heap.after_fork_in_child();
    else
        heap.after_fork_in_parent();
    return child;
}

int close(int fd) {
    if (is_page_file(fd)) return refuse();
    return started.next.close ? started.next.close(fd) : static_cast<int>(syscall(SYS_close, fd));
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
    const int ours = Heap::of_process().descriptor();
    const auto kept = static_cast<unsigned>(ours);
    const auto range = [flags](unsigned from, unsigned to) {
        return static_cast<int>(syscall(SYS_close_range, from, to, flags));
    };
    if (ours < 0 || kept < first || kept > last || (flags & CLOSE_RANGE_CLOEXEC) != 0)
        return range(first, last);
    if (kept > first && range(first, kept - 1) != 0) return -1;
    return kept < last ? range(kept + 1, last) : 0;
}

void closefrom(int first) noexcept {
    close_range(first < 0 ? 0 : static_cast<unsigned>(first), ~0U, 0);
}

int dup2(int from, int to) noexcept {
    if (from != to && !may_replace(to)) return -1;
    if (started.next.dup2) return started.next.dup2(from, to);
    // Newer architectures have no system call dup2, and dup3 refuses to duplicate onto itself.
    if (from == to) return syscall(SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
    return static_cast<int>(syscall(SYS_dup3, from, to, 0));
}

int dup3(int from, int to, int flags) noexcept {
    if (from != to && !may_replace(to)) return -1;
    return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}
}
