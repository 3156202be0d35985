// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/memory/rmr.hpp"

#include <vector>

#include "dapl/adapter/ia.hpp"
#include "dapl/memory/lmr.hpp"

namespace dapl {
namespace {

/// The part of a context that binds do not change.
constexpr DAT_RMR_CONTEXT kKept = ~DAT_RMR_CONTEXT{0xff};

/// Whether the queue pair through which the RMR was bound has ended, and the binding with it. EPs
/// live in memory that is never unmapped, so the base of a freed one can be read too.
bool has_ended(const RmrBinding& binding) {
    return binding.ep_base &&
           binding.ep_base->load(std::memory_order_acquire) != binding.binding_base;
}

}  // namespace

Rmr::Rmr(Pz& zone, verbs::MemoryWindow made)
    : ia(zone.ia),
      pz(zone),
      window(std::move(made)),
      type(window->type),
      kept_(window->rkey & kKept) {
    ia.rmr_table->add(*this);
    ++pz.users;
}

Rmr::~Rmr() {
    ia.rmr_table->remove(*this);
    window.reset();  // before its zone may be freed
    --pz.users;
}

void Rmr::exchange(verbs::MemoryWindow& given) {
    support::SpinLockGuard lock(posting);
    ia.rmr_table->rename(*this, given->rkey);
    window.swap(given);
}

namespace {

/// @return an RMR that is bound to the LMR, or nullptr.
Rmr* first_bound(Ia& ia, const Lmr& lmr) REQUIRES(ia.mutex) {
    Rmr* rmr = ia.rmrs.first();
    while (rmr && ia.rmr_table->binding_of(*rmr).lmr != &lmr) rmr = ia.rmrs.after(*rmr);
    return rmr;
}

}  // namespace

/// An RMR that is bound to the LMR belongs to the LMR's zone, which stays. It may be freed while
/// its new window is allocated without the lock: the window then goes to the next RMR, or is freed.
bool unbind_all(Ia& ia, Lmr& lmr) {
    std::erase_if(lmr.old_windows, [](verbs::MemoryWindow& window) { return verbs::end(window); });
    bool all_ended = lmr.old_windows.empty();
    for (;;) {
        ibv_mw_type type;
        {
            support::MutexLock lock(ia.mutex);
            const Rmr* rmr = first_bound(ia, lmr);
            if (!rmr) return all_ended;
            type = rmr->type;
        }
        verbs::MemoryWindow exchanged(ibv_alloc_mw(lmr.pz.domain.get(), type));
        if (!exchanged) return false;
        {
            support::MutexLock lock(ia.mutex);
            Rmr* rmr = first_bound(ia, lmr);
            if (rmr && rmr->type == type) rmr->exchange(exchanged);
        }
        if (verbs::end(exchanged)) continue;
        all_ended = false;
        lmr.old_windows.push_back(std::move(exchanged));
    }
}

std::uint32_t RmrTable::bucket_of(DAT_RMR_CONTEXT context) {
    constexpr std::uint32_t kGolden = 0x9e3779b1;  // spreads contexts that differ in few bits
    return ((context & kKept) * kGolden) >> 20;
}

void RmrTable::add(Rmr& rmr) {
    static_assert(kBuckets == 1 << 12, "bucket_of keeps 12 bits");
    auto buckets = std::make_unique<Rmr*[]>(kBuckets);
    support::SpinLockGuard lock(lock_);
    if (!buckets_) buckets_.swap(buckets);
    link(rmr);
}

void RmrTable::link(Rmr& rmr) {
    Rmr*& first = buckets_[bucket_of(rmr.kept_)];
    rmr.next_in_bucket_ = first;
    first = &rmr;
}

void RmrTable::unlink(Rmr& rmr) {
    Rmr** link = &buckets_[bucket_of(rmr.kept_)];
    while (*link != &rmr) link = &(*link)->next_in_bucket_;
    *link = rmr.next_in_bucket_;
}

void RmrTable::remove(Rmr& rmr) {
    support::SpinLockGuard lock(lock_);
    set(rmr, {});
    unlink(rmr);
}

void RmrTable::rename(Rmr& rmr, DAT_RMR_CONTEXT context) {
    support::SpinLockGuard lock(lock_);
    set(rmr, {});
    unlink(rmr);
    rmr.kept_ = context & kKept;
    link(rmr);
}

Rmr* RmrTable::find_locked(DAT_RMR_CONTEXT context) {
    Rmr* rmr = buckets_ ? buckets_[bucket_of(context)] : nullptr;
    while (rmr && rmr->kept_ != (context & kKept)) rmr = rmr->next_in_bucket_;
    return rmr;
}

void RmrTable::set(Rmr& rmr, const RmrBinding& next) {
    if (rmr.binding_.lmr) --rmr.binding_.lmr->bindings;
    rmr.binding_ = next;
    if (next.lmr) ++next.lmr->bindings;
}

RmrBinding& RmrTable::current(Rmr& rmr) {
    if (has_ended(rmr.binding_)) set(rmr, {});
    return rmr.binding_;
}

RmrBinding RmrTable::binding_of(Rmr& rmr) {
    support::SpinLockGuard lock(lock_);
    return current(rmr);
}

RmrBinding RmrTable::replace(Rmr& rmr, const RmrBinding& next) {
    support::SpinLockGuard lock(lock_);
    const RmrBinding before = current(rmr);
    set(rmr, next);
    return before;
}

RmrTable::Found RmrTable::find(DAT_RMR_CONTEXT context, RmrBinding& binding) {
    support::SpinLockGuard lock(lock_);
    Rmr* rmr = find_locked(context);
    if (!rmr) return Found::kNone;
    binding = current(*rmr);
    return binding.lmr && binding.context == context ? Found::kBound : Found::kUnbound;
}

void RmrTable::completed(DAT_RMR_CONTEXT context, bool well) {
    support::SpinLockGuard lock(lock_);
    Rmr* rmr = find_locked(context);
    if (rmr && !well && rmr->binding_.context == context) set(*rmr, {});
}

void RmrTable::invalidated(DAT_RMR_CONTEXT context) {
    support::SpinLockGuard lock(lock_);
    Rmr* rmr = find_locked(context);
    if (rmr && rmr->is_for_ep() && rmr->binding_.context == context) set(*rmr, {});
}

bool RmrTable::is_bound_to(const Lmr& lmr) {
    support::SpinLockGuard lock(lock_);
    for (std::uint32_t i = 0; buckets_ && lmr.bindings != 0 && i < kBuckets; ++i) {
        for (Rmr* rmr = buckets_[i]; rmr; rmr = rmr->next_in_bucket_) {
            if (rmr->binding_.lmr == &lmr && current(*rmr).lmr) return true;
        }
    }
    return false;
}

}  // namespace dapl
