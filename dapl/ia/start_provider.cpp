// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that a provider library exports: libdat2 calls them when it loads the library for
/// an IA name (each library has its own dat_provider_init, which calls start_provider) and when the
/// name's last adapter instance is closed.
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>

#include "broker/entry.hpp"
#include "check/dat/table.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/provider/aix_profile.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/library.hpp"
#include "dapl/provider/provider.hpp"
#include "support/log/log.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {
namespace {

constexpr int kMostNames = 64;

/// Lies in the library's static memory: the first words of objects point here until the library is
/// unmapped, and nothing has to be freed at exit, when other threads may still call the library. A
/// forked child inherits what its parent had registered, and starts with a free lock.
struct Entry {
    Provider provider;
    Provider sharing;
    bool registered;
};
Entry entries[kMostNames];
std::size_t entries_used = 0;  ///< behind these nothing has been registered, and no page is touched

bool same_key(const DAT_PROVIDER_INFO& a, const DAT_PROVIDER_INFO& b) {
    return std::strcmp(a.ia_name, b.ia_name) == 0 && a.dapl_version_major == b.dapl_version_major &&
           a.dapl_version_minor == b.dapl_version_minor && a.is_thread_safe == b.is_thread_safe;
}

std::span<Entry> used_entries() {
    return {entries, entries_used};
}

Entry* registered_as(const DAT_PROVIDER_INFO& info) {
    for (Entry& entry : used_entries())
        if (entry.registered && same_key(entry.provider.info, info)) return &entry;
    return nullptr;
}

Entry* free_entry() {
    for (Entry& entry : used_entries())
        if (!entry.registered) return &entry;
    return entries_used < kMostNames ? &entries[entries_used++] : nullptr;
}

using Decorator = void (*)(DAT_PROVIDER& table);

/// Builds the table from the inside out: the core's functions with their trace points, the
/// functions of decorators around them, the checks of the program's calls, if the user wants any,
/// and finally the restrictions of the profile.
void decorate(Provider& provider, const check::Policy& checks,
              std::initializer_list<Decorator> decorators) {
    provider.table = kProviderTable;
    for (const Decorator decorator : decorators) decorator(provider.table);
    check::dat::decorate(provider.table, checks);
    if (provider.profile == support::ApiProfile::kAix) limit_to_aix(provider.table);
    provider.table.device_name = provider.info.ia_name;
}

/// @return nullptr when there are too many names.
const Provider* enter(const Library& library, const DAT_PROVIDER_INFO& info,
                      const char* parameters) {
    const support::ApiProfile profile = support::api_profile();
    const check::Policy checks = check::dat::policy_of(info.ia_name);
    const support::SpinLockGuard guard(process_state().providers_lock);
    Entry* entry = registered_as(info);
    if (!entry) entry = free_entry();
    if (!entry) return nullptr;
    Provider& provider = entry->provider;
    provider.info = info;
    provider.library = library;
    provider.info.ia_name[DAT_NAME_MAX_LENGTH - 1] = '\0';
    std::snprintf(provider.parameters, sizeof provider.parameters, "%s",
                  parameters ? parameters : "");
    provider.profile = profile;
    provider.sharing = nullptr;
    entry->sharing = provider;
    decorate(provider, checks, {});
    decorate(entry->sharing, checks, {memory::decorate});
    provider.sharing = &entry->sharing;
    entry->registered = true;
    return &provider;
}

/// @return nullptr when it is not registered.
const Provider* leave(const DAT_PROVIDER_INFO& info) {
    const support::SpinLockGuard guard(process_state().providers_lock);
    Entry* entry = registered_as(info);
    if (!entry) return nullptr;
    entry->registered = false;
    return &entry->provider;
}

}  // namespace

const Provider* find_provider(const char* name) {
    const support::SpinLockGuard guard(process_state().providers_lock);
    for (const Entry& entry : used_entries())
        if (entry.registered && std::strcmp(entry.provider.info.ia_name, name) == 0)
            return &entry.provider;
    return nullptr;
}

void start_provider(const Library& library, const DAT_PROVIDER_INFO* info, const char* parameters) {
    if (!info) return;
    // Returns no result: libdat2 looks for the entry and reports to the user if it is missing.
    try {
        const Provider* provider = enter(library, *info, parameters);
        if (provider)
            dat_registry_add_provider(&provider->table, &provider->info);
        else
            support::report<support::kTooManyNames>(info->ia_name);
    } catch (const std::bad_alloc&) {
        return;
    }
}

}  // namespace dapl

#define EXPORTED extern "C" [[gnu::visibility("default")]]

EXPORTED void dat_provider_fini(const DAT_PROVIDER_INFO* info) {
    if (!info) return;
    try {
        const dapl::Provider* provider = dapl::leave(*info);
        if (provider) dat_registry_remove_provider(&provider->table, info);
    } catch (const std::bad_alloc&) {
        return;  // dat_provider_init found no memory either: no name is registered
    }
}

EXPORTED DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP operation,
                                    va_list arguments) {
    const dapl::Header* header = dapl::live_header(handle);
    return header ? header->provider.load()->handle_extendedop_func(handle, operation, arguments)
                  : dapl::entry::handle_extendedop(handle, operation, arguments);
}
