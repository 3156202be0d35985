// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Remote memory region: a memory window of the device, and what it is bound to. Those of
/// dat_rmr_create serve every EP of their PZ; those of dat_rmr_create_for_ep serve the EP through
/// which they were bound, and are unbound when its queue pair ends (reset, free) or its peer
/// invalidates them.
#pragma once

#include <memory>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Lmr;

/// What an RMR was bound to last.
struct RmrBinding {
    Lmr* lmr = nullptr;  ///< nullptr: to nothing
    DAT_LMR_TRIPLET triplet{};
    DAT_MEM_PRIV_FLAGS privileges{};
    DAT_VA_TYPE va_type{};
    DAT_RMR_CONTEXT context = 0;
    /// dat_rmr_create_for_ep: the EP and its queue pair (Ep::binding_base).
    const std::atomic<std::uint64_t>* ep_base = nullptr;
    std::uint64_t binding_base = 0;
};

class Rmr final : public Object<Rmr>, public ListNode<Rmr> {
  public:
    static constexpr Kind kKind = Kind::kRmr;
    Rmr(Pz& zone, verbs::MemoryWindow made);
    ~Rmr();

    bool is_for_ep() const { return type == IBV_MW_TYPE_2; }

    Ia& ia;
    Pz& pz;
    verbs::MemoryWindow window;  ///< its rkey changes with `posting` held
    const ibv_mw_type type;
    support::SpinLock posting;  ///< one bind at a time. Before the lock of an EP's side

    /// Gives it a new identity, bound to nothing. @param window another one of its type; afterwards
    /// the old one, whose end is the end of its binding.
    void exchange(verbs::MemoryWindow& window) EXCLUDES(posting);

  private:
    friend class RmrTable;
    RmrBinding binding_;             ///< RmrTable::lock_
    DAT_RMR_CONTEXT kept_;           ///< what all its contexts have in common. RmrTable::lock_
    Rmr* next_in_bucket_ = nullptr;  ///< RmrTable::lock_
};

/// The RMRs of an adapter instance, found by their contexts: of a context the last 8 bits change
/// with each bind, and the others stay for the RMR's life. Thread safe; its lock comes after all
/// others.
class RmrTable {
  public:
    /// Throws std::bad_alloc.
    void add(Rmr& rmr) EXCLUDES(lock_);
    void remove(Rmr& rmr) EXCLUDES(lock_);

    /// Its contexts are this one and what follows it; it is bound to nothing.
    void rename(Rmr& rmr, DAT_RMR_CONTEXT context) EXCLUDES(lock_);

    /// @return what it is bound to now: `lmr` is nullptr when that has ended.
    RmrBinding binding_of(Rmr& rmr) EXCLUDES(lock_);
    /// A bind is about to be posted, or was refused. @return the binding before.
    RmrBinding replace(Rmr& rmr, const RmrBinding& next) EXCLUDES(lock_);
    enum class Found { kNone, kUnbound, kBound };
    /// @return whether the context is an RMR's, and whether one under which it is bound now; then
    /// `binding` is that.
    Found find(DAT_RMR_CONTEXT context, RmrBinding& binding) EXCLUDES(lock_);
    /// A bind has completed, of an RMR that may have been freed.
    void completed(DAT_RMR_CONTEXT context, bool well) EXCLUDES(lock_);
    /// The peer has invalidated it.
    void invalidated(DAT_RMR_CONTEXT context) EXCLUDES(lock_);
    /// @return whether an RMR is bound to it. Forgets those that are no more.
    bool is_bound_to(const Lmr& lmr) EXCLUDES(lock_);

  private:
    static constexpr std::uint32_t kBuckets = 4096;
    static std::uint32_t bucket_of(DAT_RMR_CONTEXT context);
    void link(Rmr& rmr) REQUIRES(lock_);
    void unlink(Rmr& rmr) REQUIRES(lock_);
    Rmr* find_locked(DAT_RMR_CONTEXT context) REQUIRES(lock_);
    RmrBinding& current(Rmr& rmr) REQUIRES(lock_);
    void set(Rmr& rmr, const RmrBinding& next) REQUIRES(lock_);

    support::SpinLock lock_;
    std::unique_ptr<Rmr*[]> buckets_ GUARDED_BY(lock_);
};

/// Ends the bindings of all RMRs to an LMR, so that its registration can end: peers get a remote
/// access error. One call for an LMR at a time. May wait for peers, with no lock held.
/// @return false when the device does not let one go, or a peer is in the middle of a transfer.
bool unbind_all(Ia& ia, Lmr& lmr);

/// Frees it, bound or not. May wait for peers. @return false when one is in the middle of a
/// transfer: it is bound to nothing, and a later call frees it.
bool free_rmr(Rmr& rmr);

/// For a read into memory that an RMR's context names. @param segment afterwards named by the
/// context of the LMR behind it; unchanged where the context is no RMR's.
DAT_RETURN name_locally(Ia& ia, DAT_LMR_TRIPLET& segment);

}  // namespace dapl
