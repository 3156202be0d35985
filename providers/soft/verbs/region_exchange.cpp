// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/region_exchange.hpp"

#include <algorithm>
#include <chrono>

#include "providers/soft/verbs/adapter.hpp"
#include "providers/soft/verbs/exchange_rules.hpp"
#include "providers/soft/verbs/memory_regions.hpp"
#include "providers/soft/verbs/queue_pair.hpp"
#include "providers/soft/verbs/target.hpp"
#include "providers/soft/verbs/transfer.hpp"

namespace softverbs {
namespace {

/// A transfer on path P costs so much more than plain copies: a system call, and 1 ns for so many
/// bytes.
constexpr std::uint64_t kCallNs = 1000, kBytesPerNs = 16;
/// More would stop all traffic for too long.
constexpr std::uint64_t kLargestInUse = std::uint64_t{1} << 30;
/// A requester that takes longer, stopped perhaps, puts the exchange off.
constexpr std::chrono::milliseconds kPatience{20};

/// Stops the requesters of all queue pairs, who come again when it ends.
class Pause {
  public:
    explicit Pause(Adapter& adapter) REQUIRES(adapter.mutex) : queue_pairs_(adapter.queue_pairs()) {
        for (QueuePair* qp : queue_pairs_) qp->pause();
    }
    ~Pause() {
        for (QueuePair* qp : queue_pairs_) qp->resume();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

    bool is_quiet() const {
        const Deadline end = Clock::now() + kPatience;
        return std::all_of(queue_pairs_.begin(), queue_pairs_.end(), [end](QueuePair* qp) {
            for (int turns = 0; !qp->is_at_rest(); relax(turns))
                if (turns % 64 == 63 && Clock::now() > end) return false;
            return true;
        });
    }

  private:
    const std::set<QueuePair*>& queue_pairs_;
};

/// A bound window has a copy of what the entry says.
bool is_candidate(const MemoryRegion* region, std::uint32_t key) {
    return region && region->lkey == key && !region->windows &&
           region->placement.reason == PageReason::kNotWorthIt;
}

void exchange(Adapter& adapter, MemoryRegion& region, bool on_application_thread)
    REQUIRES(adapter.mutex, adapter.window_lock) {
    SharedPages& pages = SharedPages::of_process();
    MrEntry& entry = adapter.view().mr(region.lkey);
    PageReason reason = pages.exchange_verdict(on_application_thread);
    if (reason == PageReason::kExchanged && region.length > kLargestInUse)
        reason = PageReason::kLarge;
    if (reason == PageReason::kThreads && !on_application_thread) {
        adapter.hot_for_application.store(region.lkey);
        return;
    }
    if (reason != PageReason::kExchanged) {
        entry.reason = region.placement.reason = reason;
        return;
    }
    const Pause pause(adapter);
    if (!pause.is_quiet()) return;
    region.placement = pages.exchange(reinterpret_cast<std::uintptr_t>(region.addr), region.length,
                                      region.placement, on_application_thread);
    region.placement.write_to(entry);
}

void exchange_by_key(Adapter& adapter, std::uint32_t key, bool on_application_thread)
    REQUIRES(adapter.mutex) {
    support::SpinLockGuard guard(adapter.window_lock);
    MemoryRegion* region = adapter.key_owners.region(key);
    if (is_candidate(region, key)) exchange(adapter, *region, on_application_thread);
}

}  // namespace

void count_traffic(const Target& target, const RemoteRange& range) {
    MrEntry& entry = target.arena.mr(range.key);
    if (entry.reason != PageReason::kNotWorthIt) return;
    const auto saved = static_cast<std::uint32_t>(kCallNs + range.length / kBytesPerNs);
    const std::uint32_t before = entry.traffic.fetch_add(saved, std::memory_order_relaxed);
    const std::uint32_t cost = exchange_cost(entry.length);
    if (before / cost == (before + saved) / cost) return;
    target.arena.header().hot_key.store(range.key, std::memory_order_seq_cst);
    target.peer->ring_doorbell();
}

void serve_hot_region(Adapter& adapter) REQUIRES(adapter.mutex) {
    std::atomic<std::uint32_t>& hot = adapter.view().header().hot_key;
    if (hot.load(std::memory_order_seq_cst) == 0) return;
    exchange_by_key(adapter, hot.exchange(0, std::memory_order_seq_cst), false);
}

void exchange_at_leisure(Adapter& adapter) {
    const CancellationDisabled guard;
    support::MutexLock lock(adapter.mutex);
    exchange_by_key(adapter, adapter.hot_for_application.exchange(0), true);
}

}  // namespace softverbs
