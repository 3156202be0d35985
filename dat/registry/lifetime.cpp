// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/lifetime.hpp"

#include <pthread.h>

#include <utility>

#include "support/base/guard.hpp"
#include "support/trace/trace_ring.hpp"

namespace dat {
namespace {

support::SpinLock g_lock;  // taken after Registry::lock_, at fork only
/// Deleted by hand, not by the destructor of a static object: at exit() those run before
/// library_unloaded().
std::shared_ptr<Registry>* g_registry GUARDED_BY(g_lock) = nullptr;

/// Waits for a load in progress before it takes g_lock: the provider being loaded calls registry().
void before_fork() NO_THREAD_SAFETY_ANALYSIS {
    const support::CancellationDisabled disabled;
    if (const auto held = registry()) held->before_fork();
    g_lock.lock();
}

void after_fork_in_parent() NO_THREAD_SAFETY_ANALYSIS {
    if (g_registry) (*g_registry)->after_fork_in_parent();
    g_lock.unlock();
}

void after_fork_in_child() NO_THREAD_SAFETY_ANALYSIS {
    if (g_registry) (*g_registry)->after_fork_in_child();
    g_lock.unlock();
}

/// Reads the files here and not at first use, as the reference does: a program that later changes
/// DAT_OVERRIDE, its directory, its root or its user gets the same answers from both. Errors in the
/// files are reported at first use (Registry::report_file_once).
__attribute__((constructor)) void library_loaded() {
    support::set_trace_side(support::TraceSide::kDat);
    try {
        auto* made = new std::shared_ptr<Registry>(
            std::make_shared<Registry>(read_conf_file(), read_configured_ias()));
        support::SpinLockGuard guard(g_lock);
        g_registry = made;
    } catch (...) {
        return;  // calls that need the registry return DAT_INVALID_STATE
    }
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

__attribute__((destructor)) void library_unloaded() {
    std::shared_ptr<Registry>* last = nullptr;
    {
        support::SpinLockGuard guard(g_lock);
        last = std::exchange(g_registry, nullptr);
    }
    delete last;  // threads still inside a call share the registry, and the last of them frees it
}

}  // namespace

std::shared_ptr<Registry> registry() {
    support::SpinLockGuard guard(g_lock);
    return g_registry ? *g_registry : nullptr;
}

}  // namespace dat
