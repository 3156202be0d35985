// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The two dictionaries behind dat_ia_open: what dat.conf and opendat.yaml offer (entries, fixed
/// once the files are read) and what providers have registered (registrations).
///
/// Thread safe. One lock guards both; it is never held while a library is loaded or a provider
/// runs. Loads and unloads take turns instead, since two entries may name the same library: an
/// entry that is being changed is marked so, and whoever needs it or the turn waits.
#pragma once

#include <dat2/udat.h>
// needs udat.h before it
#include <dat2/dat_registry.h>

#include <atomic>
#include <compare>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "dat/registry/conf_file.hpp"
#include "dat/registry/configured_ias.hpp"
#include "dat/registry/provider_library.hpp"
#include "support/thread/mutex.hpp"

namespace dat {

/// Identifies a provider to be opened: name, API version, thread safety.
struct Key {
    std::string ia_name;
    DAT_UINT32 major = 0;
    DAT_UINT32 minor = 0;
    bool thread_safe = false;

    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): compares with 0
    static Key of(const DAT_PROVIDER_INFO& info);
    DAT_PROVIDER_INFO info() const;
};

/// A record. Several with one key are tried in order, those of opendat.yaml before dat.conf's.
struct Candidate {
    std::string where;  ///< FILE:LINE
    std::string library;
    std::string ia_params;
};

struct Entry {
    enum class State { kUnloaded, kChanging, kLoaded };

    Key key;                            ///< constant
    std::vector<Candidate> candidates;  ///< constant

    // The rest is guarded by the registry's lock, except for the thread that made the state
    // kChanging.
    State state = State::kUnloaded;
    unsigned users = 0;  ///< open IAs, and opens in progress
    ProviderLibrary library;
    const Candidate* loaded = nullptr;  ///< the candidate that `library` was loaded from
};

/// The right to use a registered provider, returned with Registry::release().
struct Lease {
    Key key;  ///< key of the registration
    const DAT_PROVIDER* provider = nullptr;
    Entry* entry = nullptr;  ///< nullptr: there is no record, the program registered the provider
    const Candidate* record = nullptr;  ///< the candidate of the entry that was loaded
};

/// Why there is no lease: one reason for each candidate tried, none when nothing has that key.
struct NoProvider {
    std::vector<std::string> reasons;
    int limit = 0;  ///< errno when a system limit kept a library from being loaded, else 0
};

/// @return why a valid record of dat.conf is not offered to programs, nullptr when it is offered.
const char* why_not_offered(const ConfRecord& record);
Key key_of(const ConfRecord& record);

class Registry {
  public:
    /// @param configured the strongest file first.
    explicit Registry(ConfFile file, std::vector<ConfiguredIas> configured = {});
    /// Forgets all entries; unloads no library.
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// Finds or loads the provider for `asked`. When there is no exact match, a thread-safe
    /// provider serves a request for one that is not thread safe.
    tl::expected<Lease, NoProvider> acquire(const Key& asked);
    /// @return the key that acquire() looks up: the thread-safe one, or the one asked for.
    Key served_key(const Key& asked);
    /// Unloads the library when this was its last lease.
    void release(const Lease& lease);

    /// @param module that of the provider's code (module_of()), so that unloading it removes the
    /// registration.
    /// @return false when the key is taken.
    bool add(const Key& key, const DAT_PROVIDER* provider, const void* module);
    enum class Removal { kDone, kInUse, kUnknown };
    Removal remove(const Key& key);

    /// The keys that can be opened, in the order of the files.
    const std::list<Entry>& entries() const { return entries_; }
    const ConfFile& file() const { return file_; }
    const std::vector<ConfiguredIas>& configured() const { return configured_; }
    /// Reports what is wrong with the files, when a program first uses the registry: programs that
    /// are merely linked with this library are not disturbed.
    void report_file_once();
    /// Called when the program asks for the list of IAs: reports why it is empty if the file cannot
    /// be read, unless a failed open has reported it.
    void report_no_entries();
    /// Called for a failed open, whose report names the IA. @return false when the list has
    /// reported the cause.
    bool tells_unreadable_file() const {
        unreadable_told_by_open_ = true;
        return !unreadable_told_by_list_;
    }

    /// Stores the lease of an open IA, under the handle that the consumer has.
    void keep(DAT_IA_HANDLE ia, Lease lease);
    std::shared_ptr<const Lease> lease_of(DAT_IA_HANDLE ia);
    /// Removes that lease and the IA's number. @return whether the IA was still known.
    bool forget(DAT_IA_HANDLE ia);

    /// Fork handlers: the child starts with no open IA; libraries loaded by the parent stay loaded.
    /// before_fork() waits while another thread loads or unloads one, because the child could never
    /// load any otherwise.
    void before_fork();
    void after_fork_in_parent() NO_THREAD_SAFETY_ANALYSIS { lock_.unlock(); }
    void after_fork_in_child();

  private:
    struct Registration {
        const DAT_PROVIDER* provider;
        const void* module;
        unsigned open = 0;
    };

    void add_records(const std::string& path, const std::vector<ConfRecord>& records);
    Entry* find_entry(const Key& key);
    bool is_known(const Key& key);
    tl::expected<void, NoProvider> enter(Entry& entry);
    void leave(Entry& entry);
    tl::expected<void, NoProvider> load(Entry& entry);
    std::string try_candidate(Entry& entry, const Candidate& candidate);
    void unload(ProviderLibrary library, const Entry& entry);
    void begin_change(Entry& entry) REQUIRES(lock_);
    void settle(Entry& entry, unsigned users) EXCLUDES(lock_);
    bool forget_registrations(const void* module, const Entry& unloading) EXCLUDES(lock_);
    bool is_registered(const Key& key) EXCLUDES(lock_);
    const DAT_PROVIDER* count_open(const Key& key) EXCLUDES(lock_);

    ConfFile file_;                          // constant
    std::vector<ConfiguredIas> configured_;  // constant
    std::list<Entry> entries_;               // the list is constant, its entries are not
    std::atomic<bool> file_reported_{false};
    std::atomic<bool> unreadable_told_by_list_{false};
    mutable std::atomic<bool> unreadable_told_by_open_{false};

    support::Mutex lock_;  // leaf: no other lock is taken under it
    support::CondVar changed_;
    bool changing_ GUARDED_BY(lock_) = false;   ///< some entry is kChanging
    pthread_t changer_ GUARDED_BY(lock_) = {};  ///< the thread that changes it
    // Nodes are allocated and freed without the lock (made_node.hpp).
    using Registrations = std::map<Key, Registration>;
    using Leases = std::map<DAT_IA_HANDLE, std::shared_ptr<const Lease>>;
    Registrations registrations_ GUARDED_BY(lock_);
    Leases leases_ GUARDED_BY(lock_);
};

}  // namespace dat
