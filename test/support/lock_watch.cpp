// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// To be preloaded into a program: finds allocations under mutexes that registering memory takes. A
/// registration cache's malloc() and free() call dat_lmr_create() and dat_lmr_free(), so a thread
/// that holds such a mutex must neither allocate nor free.
///
/// Keeps, per thread, the mutexes that the code of a watched file has locked. Registering mutexes
/// are those ever locked within the two calls, for memory that is addressed as usual
/// (DAT_VA_TYPE_VA), and those ever locked by a thread that holds a registering mutex. A call of
/// malloc() and its like by a thread that holds one is a finding. At exit each finding is written
/// once to the file LOCK_WATCH.PID as a line of addresses, FILE+OFFSET each: where the mutex was
/// locked, then the callers of the allocation. test/api/locks.bats turns these into file names and
/// lines. Spin locks are not seen.
#include <dat2/udat.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/support/malloc_hooks.hpp"

namespace {

constexpr int kMostHeld = 16;
constexpr int kFrames = 24;
constexpr int kMostFindings = 2000;
constexpr const char* kWatched[] = {"libdaplsoft", "libdaploscm", "libdaploucm", "libsoftverbs",
                                    "libdat2"};

/// Address of a pthread_mutex_t.
using Lock = const void*;
struct Held {
    Lock mutex;
    void* site;
};
struct Thread {
    Held held[kMostHeld];
    int count;
    bool busy, registers;
};
[[gnu::tls_model("initial-exec")]] thread_local Thread own;

/// Mutexes that registering memory takes.
constexpr int kMostMutexes = 4096;
const pthread_mutex_t gone_of_registering = PTHREAD_MUTEX_INITIALIZER;
Lock of_registering[kMostMutexes];
std::atomic<int> of_registering_count;

bool is_of_registering(Lock mutex) {
    const int count = of_registering_count.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i)
        if (of_registering[i] == mutex) return true;
    return false;
}

/// A place in a watched file, by offset, since the file may be unloaded later.
struct Place {
    const char* file;
    std::uintptr_t offset;
};
struct Finding {
    Lock mutex;
    Place site;
    Place frames[kFrames];
    int count;
};
Finding findings[kMostFindings];
std::atomic<int> found;
std::atomic_flag writing;

using Function = int (*)(pthread_mutex_t*);
Function real_lock, real_try_lock, real_unlock, real_destroy;

void resolve() {
    if (real_unlock) return;
    real_lock = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    real_try_lock = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_trylock"));
    real_destroy = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_destroy"));
    real_unlock = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
}

struct Range {
    const char* file;
    std::uintptr_t base, begin, end;
};
constexpr int kMostRanges = 32;
Range ranges[kMostRanges];
std::atomic<int> range_count;

/// @return a copy of the name that is never freed, one for each name.
const char* kept_name(const char* name) {
    static char names[kMostRanges][512];
    for (auto& kept : names) {
        if (!*kept) strncpy(kept, name, sizeof kept - 1);
        if (strcmp(kept, name) == 0) return kept;
    }
    return "";
}

bool is_watched(const char* path) {
    for (const char* name : kWatched)
        if (strstr(path, name)) return true;
    return false;
}

int note_range(dl_phdr_info* info, std::size_t, void*) {
    if (!is_watched(info->dlpi_name)) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
        const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        const int count = range_count;
        if (count == kMostRanges) return 0;
        ranges[count] = {kept_name(info->dlpi_name), info->dlpi_addr, begin,
                         begin + header.p_memsz};
        range_count = count + 1;
    }
    return 0;
}

void note_ranges() {
    range_count = 0;
    dl_iterate_phdr(note_range, nullptr);
}

/// @return the place, without a file if it is not in a watched one. Looks up the address before,
/// since a return address may belong to the next line.
Place place_of(const void* address) {
    const auto value = reinterpret_cast<std::uintptr_t>(address) - 1;
    for (int i = 0; i < range_count; ++i)
        if (value >= ranges[i].begin && value < ranges[i].end)
            return {ranges[i].file, value - ranges[i].base};
    return {nullptr, 0};
}

bool waits_for_registering() {
    for (int i = 0; i < own.count; ++i)
        if (is_of_registering(own.held[i].mutex)) return true;
    return own.registers;
}

void note_mutex(Lock mutex) {
    if (is_of_registering(mutex) || !waits_for_registering()) return;
    while (writing.test_and_set()) continue;
    const int count = of_registering_count;
    if (count < kMostMutexes) {
        of_registering[count] = mutex;
        of_registering_count.store(count + 1, std::memory_order_release);
    }
    writing.clear();
}

/// Settles the findings about the mutex now: another one may get its address later.
void destroyed(Lock mutex) {
    const bool counts = is_of_registering(mutex);
    while (writing.test_and_set()) continue;
    for (int i = 0; i < found; ++i)
        if (findings[i].mutex == mutex) findings[i].mutex = counts ? &gone_of_registering : nullptr;
    int count = of_registering_count;
    for (int i = 0; i < count; ++i)
        if (of_registering[i] == mutex) of_registering[i--] = of_registering[--count];
    of_registering_count = count;
    writing.clear();
}

void locked(Lock mutex, void* site) {
    if (own.busy || own.count == kMostHeld || !place_of(site).file) return;
    note_mutex(mutex);
    own.held[own.count++] = {mutex, site};
}

void unlocked(Lock mutex) {
    for (int i = own.count - 1; i >= 0; --i) {
        if (own.held[i].mutex != mutex) continue;
        for (; i + 1 < own.count; ++i) own.held[i] = own.held[i + 1];
        --own.count;
        return;
    }
}

[[gnu::noinline]] void note() {
    own.busy = true;
    Finding now{};
    void* frames[kFrames];
    const int depth = backtrace(frames, kFrames);
    for (int i = 0; i < depth; ++i) {
        const Place place = place_of(frames[i]);
        if (place.file) now.frames[now.count++] = place;
    }
    while (writing.test_and_set()) continue;
    for (int i = 0; i < own.count; ++i) {
        now.site = place_of(own.held[i].site);
        now.mutex = own.held[i].mutex;
        bool known = false;
        const int count = found;
        for (int at = 0; at < count && !known; ++at)
            known = memcmp(&findings[at], &now, sizeof now) == 0;
        if (known || count == kMostFindings) continue;
        findings[count] = now;
        found = count + 1;
    }
    writing.clear();
    own.busy = false;
}

void write_place(FILE* file, const Place& place) {
    fprintf(file, " %s+%#zx", place.file, static_cast<std::size_t>(place.offset));
}

/// Creates LOCK_WATCH.watched too, as evidence that registering mutexes were seen.
void write_findings() {
    own.busy = true;
    const char* const prefix = getenv("LOCK_WATCH");
    if (!prefix || of_registering_count == 0) return;
    char path[512];
    snprintf(path, sizeof path, "%s.watched", prefix);
    if (FILE* file = fopen(path, "a")) fclose(file);
    snprintf(path, sizeof path, "%s.%d", prefix, getpid());
    FILE* file = fopen(path, "a");
    if (!file) return;
    for (int i = 0; i < found; ++i) {
        Lock mutex = findings[i].mutex;
        if (mutex != &gone_of_registering && !is_of_registering(mutex)) continue;
        write_place(file, findings[i].site);
        for (int frame = 0; frame < findings[i].count; ++frame)
            write_place(file, findings[i].frames[frame]);
        fputc('\n', file);
    }
    fclose(file);
}

/// Clears the list of held mutexes in a forked child: those that the libraries' fork handlers have
/// locked are initialised again or left locked there. To be called after the libraries have
/// registered their handlers, so that this one runs after theirs.
void forget_in_children() {
    static std::atomic_flag done;
    if (!done.test_and_set()) pthread_atfork(nullptr, nullptr, [] { own.count = 0; });
}

[[gnu::constructor]] void begin() {
    resolve();
    void* frames[2];
    backtrace(frames, 2);  // allocates on its first call
    note_ranges();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    resolve();
    const int code = real_lock(mutex);
    if (code == 0) locked(mutex, __builtin_return_address(0));
    return code;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
    resolve();
    const int code = real_try_lock(mutex);
    if (code == 0) locked(mutex, __builtin_return_address(0));
    return code;
}

int pthread_mutex_destroy(pthread_mutex_t* mutex) {
    resolve();
    destroyed(mutex);
    return real_destroy(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
    resolve();
    unlocked(mutex);
    return real_unlock(mutex);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr) {
    static auto* const real =
        reinterpret_cast<decltype(&dat_lmr_free)>(dlsym(RTLD_NEXT, "dat_lmr_free"));
    DAT_LMR_PARAM asked{};
    own.registers = dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &asked) == DAT_SUCCESS &&
                    asked.va_type == DAT_VA_TYPE_VA;
    const DAT_RETURN code = real(lmr);
    own.registers = false;
    return code;
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                          DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                          DAT_VA_TYPE va_type, DAT_LMR_HANDLE* lmr, DAT_LMR_CONTEXT* local,
                          DAT_RMR_CONTEXT* remote, DAT_VLEN* size, DAT_VADDR* address) {
    static auto* const real =
        reinterpret_cast<decltype(&dat_lmr_create)>(dlsym(RTLD_NEXT, "dat_lmr_create"));
    forget_in_children();
    own.registers = type == DAT_MEM_TYPE_VIRTUAL && va_type == DAT_VA_TYPE_VA;
    const DAT_RETURN code =
        real(ia, type, region, length, pz, privileges, va_type, lmr, local, remote, size, address);
    own.registers = false;
    return code;
}

/// Notes the ranges again: the library may be a watched one.
void* dlopen(const char* path, int mode) {
    static void* (*const real)(const char*, int) =
        reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
    void* const library = real(path, mode);
    own.busy = true;
    note_ranges();
    own.busy = false;
    return library;
}

}  // extern "C"
#pragma GCC visibility pop

namespace test::hooks {

void before_allocation() {
    if (own.count != 0 && !own.busy) [[unlikely]]
        note();
}
void before_free() {
    before_allocation();
}
void before_end() {
    write_findings();
}

}  // namespace test::hooks

namespace {
[[gnu::destructor]] void end() {
    write_findings();
}
}  // namespace
