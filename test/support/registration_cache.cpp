// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// To be preloaded into a program: gives it a registration cache like those of MPI libraries. While
/// an IA, or a verbs device, is open, malloc() registers memory with it and free() deregisters it,
/// in every thread that calls them, including the libraries' own. A thread that allocates or frees
/// while it holds a lock that registering takes thus deadlocks.
///
/// A program may be linked with it instead.
///
/// At its end each process appends a line to the file REGISTRATION_CACHE: how many regions it has
/// registered and deregistered.
#include "test/support/registration_cache.hpp"

#if defined(HAS_REGISTRATION_CACHE)
#include <dat2/udat.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/support/malloc_hooks.hpp"

namespace {

/// Cache for the first IA or device that the process opens, until that is closed.
struct Cache {
    void* opened;
    DAT_PZ_HANDLE pz;  ///< if an IA is open
    ibv_pd* pd;        ///< if a device is open
    std::atomic<bool> on;
    std::atomic<int> inside;  ///< number of threads using the cache
    std::atomic<int> registered, deregistered;
    std::atomic<unsigned> turn;
    std::array<std::atomic<void*>, 64> kept;
    alignas(64) char memory[4096];
};
Cache cache;
[[gnu::tls_model("initial-exec")]] thread_local bool is_inside;

/// Marks the thread while it is in the cache, whose own allocations are not registered. Restores
/// errno.
class Inside {
  public:
    Inside() {
        is_inside = true;
        ++cache.inside;
    }
    ~Inside() {
        --cache.inside;
        is_inside = false;
        errno = saved_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    const int saved_ = errno;
};

/// @tparam Function type of the function.
template <class Function>
Function* next(const char* name, void* where = RTLD_NEXT) {
    return reinterpret_cast<Function*>(dlsym(where, name));
}

/// Looked up once a device is open, when the program has loaded the library.
struct Verbs {
    decltype(&ibv_alloc_pd) alloc_pd = next<decltype(ibv_alloc_pd)>("ibv_alloc_pd", RTLD_DEFAULT);
    decltype(&ibv_dealloc_pd) dealloc_pd =
        next<decltype(ibv_dealloc_pd)>("ibv_dealloc_pd", RTLD_DEFAULT);
    /// A type of its own because verbs.h makes the name a macro.
    using RegMr = ibv_mr*(ibv_pd*, void*, std::size_t, int);
    RegMr* reg_mr = next<RegMr>("ibv_reg_mr", RTLD_DEFAULT);
    decltype(&ibv_dereg_mr) dereg_mr = next<decltype(ibv_dereg_mr)>("ibv_dereg_mr", RTLD_DEFAULT);
};
const Verbs& verbs() {
    static const Verbs functions;
    return functions;
}

void deregister(void* region) {
    if (!region) return;
    const bool done = cache.pd ? verbs().dereg_mr(static_cast<ibv_mr*>(region)) == 0
                               : dat_lmr_free(region) == DAT_SUCCESS;
    if (done) ++cache.deregistered;
}

void* register_one() {
    if (cache.pd)
        return verbs().reg_mr(cache.pd, cache.memory, sizeof cache.memory, IBV_ACCESS_LOCAL_WRITE);
    DAT_REGION_DESCRIPTION region{};
    region.for_va = cache.memory;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local;
    DAT_RMR_CONTEXT remote;
    DAT_VLEN size;
    DAT_VADDR address;
    const DAT_RETURN code = dat_lmr_create(cache.opened, DAT_MEM_TYPE_VIRTUAL, region,
                                           sizeof cache.memory, cache.pz, DAT_MEM_PRIV_ALL_FLAG,
                                           DAT_VA_TYPE_VA, &lmr, &local, &remote, &size, &address);
    return code == DAT_SUCCESS ? lmr : nullptr;
}

/// Deregisters everything, since anything left would keep the IA or device from being closed.
void end(const void* closed) {
    if (!closed || closed != cache.opened) return;
    cache.on = false;
    while (cache.inside != 0) sched_yield();
    is_inside = true;
    for (auto& kept : cache.kept) deregister(kept.exchange(nullptr));
    if (cache.pd)
        verbs().dealloc_pd(cache.pd);
    else
        dat_pz_free(cache.pz);
    is_inside = false;
    cache.pd = nullptr;
    cache.opened = nullptr;
}

void write_counts() {
    const char* const path = getenv("REGISTRATION_CACHE");
    if (!path || cache.registered == 0) return;
    char line[64];
    const int length =
        snprintf(line, sizeof line, "%d %d\n", cache.registered.load(), cache.deregistered.load());
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (write(file, line, static_cast<std::size_t>(length)) != length) abort();
    close(file);
}

/// A forked child starts without an open IA or device: these stay the parent's.
[[gnu::constructor]] void forget_in_children() {
    pthread_atfork(nullptr, nullptr, [] {
        cache.on = false;
        cache.opened = nullptr;
        cache.pd = nullptr;
        cache.inside = cache.registered = cache.deregistered = 0;
        for (auto& kept : cache.kept) kept = nullptr;
    });
}
[[gnu::destructor]] void finish() {
    write_counts();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT length, DAT_EVD_HANDLE* async,
                        DAT_IA_HANDLE* ia, DAT_UINT32 major, DAT_UINT32 minor,
                        DAT_BOOLEAN thread_safety) {
    static auto* const real = next<decltype(dat_ia_openv)>("dat_ia_openv");
    const DAT_RETURN code = real(name, length, async, ia, major, minor, thread_safety);
    if (code != DAT_SUCCESS || cache.opened || dat_pz_create(*ia, &cache.pz) != DAT_SUCCESS)
        return code;
    cache.opened = *ia;
    cache.on = true;
    return code;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags) {
    static auto* const real = next<decltype(dat_ia_close)>("dat_ia_close");
    end(ia);
    return real(ia, flags);
}

ibv_context* ibv_open_device(ibv_device* device) {
    static auto* const real = next<decltype(ibv_open_device)>("ibv_open_device");
    ibv_context* const context = real(device);
    if (!context || cache.opened || !(cache.pd = verbs().alloc_pd(context))) return context;
    cache.opened = context;
    cache.on = true;
    return context;
}

int ibv_close_device(ibv_context* context) {
    static auto* const real = next<decltype(ibv_close_device)>("ibv_close_device");
    end(context);
    return real(context);
}

}  // extern "C"
#pragma GCC visibility pop

namespace test::hooks {

void before_allocation() {
    if (is_inside || !cache.on) return;
    const Inside inside;
    if (!cache.on) return;
    void* const region = register_one();
    if (!region) return;
    ++cache.registered;
    deregister(cache.kept[cache.turn++ % cache.kept.size()].exchange(region));
}

void before_free() {
    if (is_inside || !cache.on) return;
    const Inside inside;
    const unsigned first = cache.turn;
    for (unsigned i = 0; i < cache.kept.size(); ++i) {
        std::atomic<void*>& kept = cache.kept[(first + i) % cache.kept.size()];
        if (!kept.load()) continue;
        deregister(kept.exchange(nullptr));
        return;
    }
}

void before_end() {
    write_counts();
}

}  // namespace test::hooks

int registrations_of_cache() {
    return cache.registered;
}

#else

int registrations_of_cache() {
    return 0;
}

#endif
