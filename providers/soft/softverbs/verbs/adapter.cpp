// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/adapter.hpp"

#include <cerrno>

#include "providers/soft/softverbs/memory/peer_pages.hpp"
#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {

thread_local std::uint32_t Adapter::Working::of_this_thread[2];

Result<std::uint32_t> Adapter::take_qp_num() {
    constexpr std::uint32_t kEnough = 8;
    if (free_qps_.size() == 0 || (free_qps_.size() < kQueuePairRest && blocks_ < kEnough)) {
        if (blocks_ == kMaxQpBlocks) return tl::unexpected<int>(ENOMEM);
        const std::uint32_t place = blocks_;
        const std::uint64_t bytes = kQpsPerBlock * sizeof(QpEntry);
        if (const int cause = arena_->publish(kQpTable + place * bytes, bytes)) {
            return tl::unexpected<int>(cause);
        }
        const Result<std::uint32_t> block = process_.take_block();
        if (!block) return tl::unexpected<int>(block.error());
        block_of_[*block & 0xffff] = static_cast<std::uint16_t>(place + 1);
        own_blocks_[place] = *block;
        view().header().qp_blocks[place].store(*block + 1, std::memory_order_release);
        ++blocks_;
        for (std::uint32_t i = 0; i < kQpsPerBlock; ++i) free_qps_.push(place * kQpsPerBlock + i);
    }
    const std::uint32_t index = free_qps_.pop();
    return own_blocks_[index / kQpsPerBlock] * kQpsPerBlock + index % kQpsPerBlock;
}

QpEntry& Adapter::begin_entry(std::uint32_t qp_num) {
    QpEntry& entry = view().qp(index_of(qp_num));
    entry.readiness.store(Readiness::kNotReady);
    entry.generation.fetch_add(1);
    entry.dest_qp_num = 0;
    entry.pd = 0;
    entry.access = 0;
    entry.cq = kNoCq;
    entry.srq = 0;
    entry.ring_offset = 0;
    entry.ring_size = entry.slot_stride = entry.max_sge = 0;
    entry.port = 0;
    entry.qkey = 0;
    entry.turn = 0;
    entry.consumed = 0;
    entry.established = 0;
    entry.waiting = 0;
    entry.transfer = 0;
    entry.requester_word = 0;
    entry.fault = Fault::kNone;
    entry.xrc_domain = 0;
    return entry;
}

Result<std::uint32_t> Adapter::add(CompletionQueue* cq) {
    const std::int64_t index = cqs_.numbers.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kCqTable + index * sizeof(CqHeader);
    if (const int cause = arena_->publish(offset, sizeof(CqHeader))) {
        cqs_.numbers.put(index);
        return tl::unexpected<int>(cause);
    }
    support::MutexLock lock(region_mutex);
    cqs_.enter(index, cq);
    return index;
}

void Adapter::remove(CompletionQueue*, std::uint32_t index) {
    {
        support::MutexLock lock(region_mutex);
        cqs_.leave(index);
    }
    cqs_.numbers.put(index);
}

Result<std::uint32_t> Adapter::add(SharedReceiveQueue* srq) {
    const std::int64_t index = srqs_.numbers.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kSrqTable + index * sizeof(SrqHeader);
    if (const int cause = arena_->publish(offset, sizeof(SrqHeader))) {
        srqs_.numbers.put(index);
        return tl::unexpected<int>(cause);
    }
    srqs_.enter(index, srq);
    return index;
}

void Adapter::remove(SharedReceiveQueue*, std::uint32_t index) {
    srqs_.leave(index);
    srqs_.numbers.put(index);
}

std::int64_t Adapter::choose_mr() {
    support::MutexLock lock(region_mutex);
    return mr_numbers_.take();
}

/// Derives the key from the private copy of last_key; the one in the arena is for other processes
/// (diagnosis.hpp, owner_arena.hpp).
std::uint32_t Adapter::new_key(std::uint32_t index, std::uint32_t kept) {
    constexpr std::uint32_t kGenerations = 1u << kKeyIndexShift;
    constexpr std::uint32_t kSmallest = 1u << 8;
    // The first key of an entry begins at a random generation, so that a guessed or old key is
    // unlikely to be valid.
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    MrEntry& own = own_keys_[index];
    const std::uint32_t last = own.last_key.load(std::memory_order_relaxed);
    const std::uint64_t mixed =
        (view_.header().nonce ^ (index + std::uint64_t{1}) * kMultiplier) * kMultiplier;
    const std::uint32_t place = last == 0 ? static_cast<std::uint32_t>(mixed >> 40)
                                          : (last | kept) % kGenerations - kSmallest + 1;
    const std::uint32_t key =
        index << kKeyIndexShift | (kSmallest + place % (kGenerations - kSmallest));
    own.last_key.store(key, std::memory_order_relaxed);
    view_.mr(key).last_key.store(key, std::memory_order_relaxed);
    return key;
}

Result<std::uint32_t> Adapter::take_mr() {
    const std::int64_t index = choose_mr();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kMrTable + index * sizeof(MrEntry);
    const int cause = arena_->publish(offset, sizeof(MrEntry));
    if (cause == 0) return index;
    return_mr(index);
    return tl::unexpected<int>(cause);
}

void Adapter::return_mr(std::uint32_t index) {
    support::MutexLock lock(region_mutex);
    mr_numbers_.put(index);
}

std::shared_ptr<PeerPages> Adapter::pages_of(const std::shared_ptr<Peer>& peer) {
    const MemberId member = peer->member().id;
    forget_expired_pages();
    std::shared_ptr<PeerPages> pages = known_pages(member);
    if (pages) return pages;
    const ArenaView arena(peer->arena(), peer->arena_size());
    auto made = std::make_shared<PeerPages>(peer, arena);
    auto node = support::made_node<KnownPages>(member, made);
    {
        support::MutexLock lock(mutex);
        auto entered = peer_pages_.insert(std::move(node));
        if (entered.inserted) return made;
        node = std::move(entered.node);  // another thread was first; freed without the lock
        pages = entered.position->second.lock();
        if (!pages) entered.position->second.swap(node.mapped());
    }
    return pages ? pages : made;
}

std::shared_ptr<PeerPages> Adapter::known_pages(MemberId member) {
    support::MutexLock lock(mutex);
    const auto known = peer_pages_.find(member);
    return known != peer_pages_.end() ? known->second.lock() : nullptr;
}

void Adapter::forget_expired_pages() {
    KnownPages gone;
    support::MutexLock lock(mutex);
    gone = support::taken_out(peer_pages_, [](const auto& one) { return one.second.expired(); });
}

bool Adapter::wait_for_key_users(std::uint32_t key, Deadline deadline) {
    return requesters.wait(deadline, [this, key](std::uint32_t, std::uint32_t used) {
        if (used == TransferMark::kQueues) return false;
        return used == key || used == TransferMark::kReceives ||
               own_key(used).region.load(std::memory_order_relaxed) == key;
    });
}

void Adapter::wait_for_agent_copy() const {
    if (process_.service().on_service_thread()) return;
    for (int turns = 0; agent_copying.load(std::memory_order_seq_cst);) relax(turns);
}

void Adapter::wait_for_own_threads() {
    if (process_.service().on_service_thread()) return;
    wait_for_agent_copy();
    // Threads that begin after the turn has changed count for the other one, so they do not prolong
    // the wait.
    for (int side = 0; side < 2; ++side) {
        const std::uint32_t turn = working_turn_.fetch_add(1, std::memory_order_seq_cst) & 1;
        const std::atomic<std::uint32_t>& count = working_[turn];
        for (int turns = 0; count.load(std::memory_order_seq_cst) > Working::of_this_thread[turn];)
            relax(turns);
    }
}

}  // namespace softverbs
