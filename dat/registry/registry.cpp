// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/registry.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "dat/registry/ia_handles.hpp"
#include "dat/registry/waits.hpp"
#include "support/base/limits.hpp"
#include "support/base/made_node.hpp"
#include "support/log/log.hpp"
#include "support/settings/configuration_files.hpp"
#include "support/settings/settings.hpp"

namespace dat {

Key Key::of(const DAT_PROVIDER_INFO& info) {
    return {std::string(info.ia_name, strnlen(info.ia_name, sizeof info.ia_name)),
            info.dapl_version_major, info.dapl_version_minor, info.is_thread_safe != DAT_FALSE};
}

DAT_PROVIDER_INFO Key::info() const {
    DAT_PROVIDER_INFO info = {};
    ia_name.copy(info.ia_name, sizeof info.ia_name - 1);
    info.dapl_version_major = major;
    info.dapl_version_minor = minor;
    info.is_thread_safe = thread_safe ? DAT_TRUE : DAT_FALSE;
    return info;
}

const char* why_not_offered(const ConfRecord& record) {
    if (record.kernel) return "it is for the kernel's interface (k)";
    return record.is_default ? nullptr : "it is marked nondefault";
}

Key key_of(const ConfRecord& record) {
    return {record.ia_name, record.major, record.minor, record.thread_safe};
}

Registry::Registry(ConfFile file, std::vector<ConfiguredIas> configured)
    : file_(std::move(file)), configured_(std::move(configured)) {
    for (const ConfiguredIas& ias : configured_) add_records(ias.path, ias.records);
    add_records(file_.path, file_.text.records);
}

void Registry::add_records(const std::string& path, const std::vector<ConfRecord>& records) {
    for (const ConfRecord& record : records) {
        if (why_not_offered(record)) continue;
        const Key key = key_of(record);
        Entry* entry = find_entry(key);
        if (!entry) {
            entry = &entries_.emplace_back();
            entry->key = key;
        }
        entry->candidates.push_back(
            {fmt::format("{}:{}", path, record.line), record.library, record.ia_params});
    }
}

Registry::~Registry() {
    // Threads of the provider of an IA left open may still be running in its code.
    for (Entry& entry : entries_) entry.library.keep_mapped();
}

void Registry::report_file_once() {
    if (file_reported_.exchange(true)) return;
    support::report_configuration_once();
    support::warn_about_unknown_settings(support::SettingsOf::kRegistry);
    for (const ConfiguredIas& ias : configured_) support::report_problems(ias.path, ias.problems);
    if (file_.unreadable.empty()) report_problems(file_);
}

void Registry::report_no_entries() {
    if (file_.unreadable.empty() || !entries_.empty() || unreadable_told_by_open_) return;
    if (unreadable_told_by_list_.exchange(true)) return;
    support::report<support::kConfFileUnreadable>(file_.path, file_.unreadable);
}

Entry* Registry::find_entry(const Key& key) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&key](const Entry& entry) { return entry.key == key; });
    return found == entries_.end() ? nullptr : &*found;
}

bool Registry::is_registered(const Key& key) {
    support::MutexLock guard(lock_);
    return registrations_.count(key) != 0;
}

bool Registry::is_known(const Key& key) {
    return find_entry(key) || is_registered(key);
}

tl::expected<Lease, NoProvider> Registry::acquire(const Key& asked) {
    Lease lease;
    lease.key = served_key(asked);
    lease.entry = find_entry(lease.key);
    if (lease.entry) {
        if (auto entered = enter(*lease.entry); !entered)
            return tl::unexpected<NoProvider>(std::move(entered.error()));
        lease.record = lease.entry->loaded;  // does not change while this lease is held
    }
    lease.provider = count_open(lease.key);
    if (lease.provider) return lease;
    if (lease.entry) leave(*lease.entry);  // its registration was removed after it was loaded
    return tl::unexpected<NoProvider>(NoProvider{});
}

Key Registry::served_key(const Key& asked) {
    Key served = asked;
    if (!is_known(asked) && !asked.thread_safe) served.thread_safe = true;
    return served;
}

const DAT_PROVIDER* Registry::count_open(const Key& key) {
    support::MutexLock guard(lock_);
    const auto found = registrations_.find(key);
    if (found == registrations_.end()) return nullptr;
    ++found->second.open;
    return found->second.provider;
}

void Registry::release(const Lease& lease) {
    {
        support::MutexLock guard(lock_);
        const auto found = registrations_.find(lease.key);
        if (found != registrations_.end() && found->second.open > 0) --found->second.open;
    }
    if (lease.entry) leave(*lease.entry);
}

tl::expected<void, NoProvider> Registry::enter(Entry& entry) {
    {
        support::MutexLock guard(lock_);
        while (changing_ && entry.state != Entry::State::kLoaded) changed_.wait(lock_);
        if (entry.state == Entry::State::kLoaded) {
            ++entry.users;
            return {};
        }
        begin_change(entry);
    }
    try {
        auto loaded = load(entry);
        settle(entry, loaded ? 1 : 0);
        return loaded;
    } catch (...) {
        settle(entry, 0);
        throw;
    }
}

void Registry::begin_change(Entry& entry) {
    changing_ = true;
    changer_ = pthread_self();
    entry.state = Entry::State::kChanging;
}

void Registry::settle(Entry& entry, unsigned users) {
    support::MutexLock guard(lock_);
    entry.state = users ? Entry::State::kLoaded : Entry::State::kUnloaded;
    entry.users = users;
    changing_ = false;
    changed_.notify_all();
}

void Registry::leave(Entry& entry) {
    {
        support::MutexLock guard(lock_);
        --entry.users;
        while (changing_) changed_.wait(lock_);
        // While this thread waited, others may have used it again, or unloaded it.
        if (entry.users > 0 || entry.state != Entry::State::kLoaded) return;
        begin_change(entry);
    }
    entry.library.fini(entry.key.info());
    unload(std::exchange(entry.library, ProviderLibrary()), entry);
    settle(entry, 0);
}

tl::expected<void, NoProvider> Registry::load(Entry& entry) {
    NoProvider failure;
    for (const Candidate& candidate : entry.candidates) {
        errno = 0;
        std::string reason = try_candidate(entry, candidate);
        if (reason.empty()) return {};
        if (support::is_limit(errno)) failure.limit = errno;
        failure.reasons.push_back(fmt::format("{}: {}", candidate.where, reason));
    }
    return tl::unexpected<NoProvider>(std::move(failure));
}

/// @return why the candidate cannot be used; empty when its library is loaded and registered.
std::string Registry::try_candidate(Entry& entry, const Candidate& candidate) {
    auto library = ProviderLibrary::load(candidate.library);
    if (!library) return std::move(library.error());
    library->init(entry.key.info(), candidate.ia_params);
    if (!is_registered(entry.key)) {
        // Skips dat_provider_fini: providers in use crash in it when they did not register.
        unload(std::move(*library), entry);
        return fmt::format("{} registered no provider for this record (ia_params '{}')",
                           candidate.library, candidate.ia_params);
    }
    entry.library = std::move(*library);
    entry.loaded = &candidate;
    support::trace(support::Level::kDebug, "loaded {} for {} ({})", candidate.library,
                   entry.key.ia_name, candidate.where);
    return {};
}

/// Keeps the library mapped while any thread waits in a provider. That thread may be in another
/// library; this one then stays mapped without need.
void Registry::unload(ProviderLibrary library, const Entry& entry) {
    const bool is_registered = !forget_registrations(library.module(), entry);
    if (is_registered || Waits::any()) library.keep_mapped();
}

/// Removes what a library registered and did not remove itself, because it must not outlive the
/// library's code.
/// @return false when some of it is open, under another key than that of `unloading`.
bool Registry::forget_registrations(const void* module, const Entry& unloading) {
    bool all = true;
    Registrations gone;
    support::MutexLock guard(lock_);
    for (auto it = registrations_.begin(); it != registrations_.end();) {
        const bool theirs = module && it->second.module == module;
        const Entry* holder = find_entry(it->first);
        // Another entry has the same library loaded, or is about to load it, by a handle of its
        // own.
        const bool held =
            holder && holder != &unloading &&
            (holder->state == Entry::State::kChanging ||
             (holder->state == Entry::State::kLoaded && holder->library.module() == module));
        const bool open = it->second.open > 0;
        if (theirs && !held && open) all = false;
        const auto next = std::next(it);
        if (theirs && !held && !open) gone.insert(registrations_.extract(it));
        it = next;
    }
    return all;
}

bool Registry::add(const Key& key, const DAT_PROVIDER* provider, const void* module) {
    auto made = support::made_node<Registrations>(key, Registration{provider, module});
    Registrations::insert_return_type done;
    support::MutexLock guard(lock_);
    done = registrations_.insert(std::move(made));
    return done.inserted;
}

Registry::Removal Registry::remove(const Key& key) {
    Registrations::node_type gone;
    support::MutexLock guard(lock_);
    const auto found = registrations_.find(key);
    if (found == registrations_.end()) return Removal::kUnknown;
    if (found->second.open > 0) return Removal::kInUse;
    gone = registrations_.extract(found);
    return Removal::kDone;
}

void Registry::keep(DAT_IA_HANDLE ia, Lease lease) {
    auto made = support::made_node<Leases>(ia, std::make_shared<const Lease>(std::move(lease)));
    Leases::node_type before;
    support::MutexLock guard(lock_);
    before = leases_.extract(ia);
    leases_.insert(std::move(made));
}

std::shared_ptr<const Lease> Registry::lease_of(DAT_IA_HANDLE ia) {
    support::MutexLock guard(lock_);
    const auto found = leases_.find(ia);
    return found == leases_.end() ? nullptr : found->second;
}

bool Registry::forget(DAT_IA_HANDLE ia) {
    Leases::node_type gone;
    support::MutexLock guard(lock_);
    gone = leases_.extract(ia);
    if (gone.empty()) return false;
    remove_ia(ia);
    return true;
}

/// Waits until no other thread loads or unloads: the child would find the dynamic linker's lock
/// held for ever.
void Registry::before_fork() NO_THREAD_SAFETY_ANALYSIS {
    lock_.lock();
    while (changing_ && !pthread_equal(changer_, pthread_self())) changed_.wait(lock_);
}

void Registry::after_fork_in_child() NO_THREAD_SAFETY_ANALYSIS {
    forget_all_ias();
    Leases gone;
    gone.swap(leases_);
    for (auto& [key, registration] : registrations_) registration.open = 0;
    for (Entry& entry : entries_) {
        entry.users = 0;
        // The thread that was loading or unloading it does not exist in the child.
        if (entry.state == Entry::State::kChanging) entry.state = Entry::State::kUnloaded;
    }
    changing_ = false;
    new (&changed_) support::CondVar;  // the old one may count waiters of the parent
    lock_.unlock();
}

}  // namespace dat
