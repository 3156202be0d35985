// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Remote memory region: a memory window of the device, and its binding. RMRs of dat_rmr_create
/// serve every EP of their PZ. Those of dat_rmr_create_for_ep serve the EP through which they were
/// bound, and are unbound when that EP's queue pair ends (reset, free) or its peer invalidates
/// them.
#pragma once

#include <memory>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/base/result.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Lmr;

/// The last binding of an RMR.
struct RmrBinding {
    Lmr* lmr = nullptr;  ///< nullptr: not bound
    DAT_LMR_TRIPLET triplet{};
    DAT_MEM_PRIV_FLAGS privileges{};
    DAT_VA_TYPE va_type{};
    DAT_RMR_CONTEXT context = 0;
    /// For dat_rmr_create_for_ep: Ep::binding_base of the EP, and its value when the RMR was bound.
    /// They differ once that queue pair has ended.
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
    support::SpinLock posting;  ///< serialises binds; taken before the lock of an EP's side

    /// Replaces the window, which gives the RMR new contexts and leaves it unbound.
    /// @param window in: one of the same type; out: the old one. Freeing that ends its binding.
    void exchange(verbs::MemoryWindow& window) EXCLUDES(posting);

  private:
    friend class RmrTable;
    RmrBinding binding_;             ///< guarded by RmrTable::lock_
    DAT_RMR_CONTEXT kept_;           ///< upper bits of its contexts. Guarded by RmrTable::lock_
    Rmr* next_in_bucket_ = nullptr;  ///< guarded by RmrTable::lock_
};

/// The RMRs of an adapter instance, found by their contexts. The low 8 bits of a context change
/// with each bind; the others only when the window is exchanged. Thread safe; its lock comes after
/// all others.
class RmrTable {
  public:
    /// Throws std::bad_alloc.
    void add(Rmr& rmr) EXCLUDES(lock_);
    void remove(Rmr& rmr) EXCLUDES(lock_);

    /// Gives the RMR new contexts, of which this is the first, and leaves it unbound.
    void rename(Rmr& rmr, DAT_RMR_CONTEXT context) EXCLUDES(lock_);

    /// @return the present binding; `lmr` is nullptr if there is none or it has ended.
    RmrBinding binding_of(Rmr& rmr) EXCLUDES(lock_);
    /// Replaces the binding, before a bind is posted or when it was refused. @return the one
    /// before.
    RmrBinding replace(Rmr& rmr, const RmrBinding& next) EXCLUDES(lock_);
    enum class Found { kNone, kUnbound, kBound };
    /// @param binding out: the binding, if the result is kBound.
    /// @return whether the context is an RMR's, and whether the RMR is bound under it now.
    Found find(DAT_RMR_CONTEXT context, RmrBinding& binding) EXCLUDES(lock_);
    /// Notes that a bind has completed; its RMR may have been freed. A failed bind leaves it
    /// unbound.
    void completed(DAT_RMR_CONTEXT context, bool well) EXCLUDES(lock_);
    /// Drops a binding that the peer has invalidated.
    void invalidated(DAT_RMR_CONTEXT context) EXCLUDES(lock_);
    /// @return whether an RMR is bound to the LMR. Drops bindings that have ended.
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

/// Ends the bindings of all RMRs to an LMR, so that it can be deregistered: peers get a remote
/// access error. One call for an LMR at a time. May wait for peers, with no lock held.
/// @return false if the device has no window to replace a bound one, or a peer is in the middle of
/// a transfer.
bool unbind_all(Ia& ia, Lmr& lmr);

/// Makes an RMR. Throws std::bad_alloc.
/// @return it, or the code of dat_rmr_create.
support::Result<Rmr*> make_rmr(Pz& pz, ibv_mw_type type);

/// Frees an RMR, bound or not. May wait for peers. @return false if a peer is in the middle of a
/// transfer: the RMR is not bound any more, and a later call frees it.
bool free_rmr(Rmr& rmr);

/// Translates the local segment of an RDMA read that names its memory by an RMR context.
/// @param segment in, out: names the memory by the LMR's context afterwards; unchanged if the
/// context is not an RMR's.
DAT_RETURN name_locally(Ia& ia, DAT_LMR_TRIPLET& segment);

}  // namespace dapl
