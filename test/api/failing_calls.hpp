// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Replaces functions of the C library in the program that includes this file, and makes one call
/// of one function fail, in whichever thread and library it is made. Include it once in a program.
/// Calls within the C library itself are not intercepted.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace test {

/// Functions that can be made to fail. The allocation functions count as one, kMalloc.
enum class Failing : int {
    kMalloc,
    kMmap,
    kSocket,
    kEventfd,
    kEpollCtl,
    kPthreadCreate,
    kMemfdCreate,
    kFtruncate,
    kCount,
};
inline constexpr const char* kFailingNames[] = {"malloc",       "mmap",      "socket",
                                                "eventfd",      "epoll_ctl", "pthread_create",
                                                "memfd_create", "ftruncate"};
static_assert(sizeof kFailingNames / sizeof *kFailingNames == static_cast<int>(Failing::kCount));

inline std::atomic<int> g_failing{-1};             ///< which function; -1: none
inline std::atomic<std::int64_t> g_calls_left{0};  ///< calls that succeed before the one that fails
inline std::atomic<bool> g_has_failed{false};
inline thread_local bool g_is_spared = false;  ///< this thread's calls do not fail
/// Blocks that malloc() and its like have allocated and free() has not freed.
inline std::atomic<std::int64_t> g_blocks{0};

/// Makes call number `index` of the function fail once, counted from 0 from now on.
inline void let_fail(Failing function, std::int64_t index) {
    g_has_failed = false;
    g_calls_left = index;
    g_failing = static_cast<int>(function);
}
/// Lets no further call fail. @return whether the call that was to fail was made.
inline bool end_failing() {
    g_failing = -1;
    return g_has_failed;
}

inline bool fails_now(Failing function) {
    if (g_failing.load(std::memory_order_relaxed) != static_cast<int>(function)) return false;
    if (g_is_spared) return false;
    if (g_calls_left.fetch_sub(1) != 0) return false;
    g_has_failed = true;
    return true;
}

/// @return the C library's own function. The lookup allocates no memory.
template <class Function>
Function* real(std::atomic<Function*>& known, const char* name) {
    Function* found = known.load();
    if (!found) known = found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    return found;
}

inline void* counted(void* block) {
    if (block) ++g_blocks;
    return block;
}

}  // namespace test

// A sanitizer replaces these functions by its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
    if (test::fails_now(test::Failing::kMalloc)) {
        errno = ENOMEM;
        return nullptr;
    }
    return test::counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) {
    if (test::fails_now(test::Failing::kMalloc)) {
        errno = ENOMEM;
        return nullptr;
    }
    return test::counted(__libc_calloc(count, size));
}
void* realloc(void* block, std::size_t size) {
    if (test::fails_now(test::Failing::kMalloc)) {
        errno = ENOMEM;
        return nullptr;
    }
    void* const made = __libc_realloc(block, size);
    if (!block) return test::counted(made);
    if (!made && size == 0) --test::g_blocks;
    return made;
}
void* memalign(std::size_t alignment, std::size_t size) {
    if (test::fails_now(test::Failing::kMalloc)) {
        errno = ENOMEM;
        return nullptr;
    }
    return test::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    void* const made = memalign(alignment, size);
    if (!made) return ENOMEM;
    *block = made;
    return 0;
}
void free(void* block) {
    if (block) --test::g_blocks;
    __libc_free(block);
}

void* mmap(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
    using Function = void*(void*, std::size_t, int, int, int, off_t);
    static std::atomic<Function*> known;
    if (test::fails_now(test::Failing::kMmap)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return test::real(known, "mmap")(address, length, protection, flags, fd, offset);
}

/// Defines a function that fails with -1 and errno.
#define TEST_FAILING(function, kind, error, parameters, arguments) \
    int function parameters noexcept {                             \
        static std::atomic<int(*) parameters> known;               \
        if (test::fails_now(test::Failing::kind)) {                \
            errno = error;                                         \
            return -1;                                             \
        }                                                          \
        return test::real(known, #function) arguments;             \
    }
TEST_FAILING(socket, kSocket, EMFILE, (int family, int type, int protocol),
             (family, type, protocol))
TEST_FAILING(eventfd, kEventfd, EMFILE, (unsigned count, int flags), (count, flags))
TEST_FAILING(memfd_create, kMemfdCreate, EMFILE, (const char* name, unsigned flags), (name, flags))
TEST_FAILING(ftruncate, kFtruncate, ENOSPC, (int fd, off_t length), (fd, length))
#undef TEST_FAILING

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
    using Function = int(int, int, int, epoll_event*);
    static std::atomic<Function*> known;
    // Only EPOLL_CTL_ADD needs memory.
    if (operation == EPOLL_CTL_ADD && test::fails_now(test::Failing::kEpollCtl)) {
        errno = ENOMEM;
        return -1;
    }
    return test::real(known, "epoll_ctl")(epoll, operation, fd, event);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
    using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static std::atomic<Function*> known;
    if (test::fails_now(test::Failing::kPthreadCreate)) return EAGAIN;
    return test::real(known, "pthread_create")(thread, attributes, start, argument);
}

}  // extern "C"
#pragma GCC visibility pop
#endif
