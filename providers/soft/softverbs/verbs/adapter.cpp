// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/adapter.hpp"

#include <cerrno>

#include "providers/soft/softverbs/verbs/peer_pages.hpp"
#include "providers/soft/softverbs/verbs/shared_pages.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {

thread_local std::uint32_t Adapter::Working::of_this_thread[2];

Result<std::uint32_t> Adapter::take_qp_num() {
    if (free_qps_.empty() || (free_qps_.size() < 64 && blocks_ < 8)) {
        if (blocks_ == kMaxQpBlocks) return tl::unexpected<int>(ENOMEM);
        const std::uint32_t place = blocks_;
        const std::uint64_t bytes = kQpsPerBlock * sizeof(QpEntry);
        if (const int cause = arena_->publish(kQpTable + place * bytes, bytes)) {
            return tl::unexpected<int>(cause);
        }
        const Result<std::uint32_t> block = process_.take_block();
        if (!block) return tl::unexpected<int>(block.error());
        free_qps_.resize(free_qps_.size() + kQpsPerBlock);
        block_of_[*block & 0xffff] = static_cast<std::uint16_t>(place + 1);
        view().header().qp_blocks[place].store(*block + 1, std::memory_order_release);
        ++blocks_;
        for (std::uint32_t i = 0; i < kQpsPerBlock; ++i)
            free_qps_[free_qps_.size() - kQpsPerBlock + i] = *block * kQpsPerBlock + i;
    }
    const std::uint32_t qp_num = free_qps_.front();
    free_qps_.pop_front();
    return qp_num;
}

Result<std::uint32_t> Adapter::add(CompletionQueue* cq) {
    const std::int64_t index = cq_indices_.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kCqTable + index * sizeof(CqHeader);
    if (const int cause = arena_->publish(offset, sizeof(CqHeader))) {
        cq_indices_.put(index);
        return tl::unexpected<int>(cause);
    }
    try {
        auto made = support::made_node<CompletionQueues>(index, cq);
        support::MutexLock lock(region_mutex);
        cqs_.insert(std::move(made));
    } catch (const std::bad_alloc&) {
        cq_indices_.put(index);
        throw;
    }
    return index;
}

void Adapter::remove(CompletionQueue*, std::uint32_t index) {
    CompletionQueues::node_type gone;
    {
        support::MutexLock lock(region_mutex);
        gone = cqs_.extract(index);
    }
    cq_indices_.put(index);
}

Result<std::uint32_t> Adapter::add(SharedReceiveQueue* srq) {
    const std::int64_t index = srq_indices_.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kSrqTable + index * sizeof(SrqHeader);
    if (const int cause = arena_->publish(offset, sizeof(SrqHeader))) {
        srq_indices_.put(index);
        return tl::unexpected<int>(cause);
    }
    try {
        srqs_[index] = srq;
    } catch (const std::bad_alloc&) {
        srq_indices_.put(index);
        throw;
    }
    return index;
}

void Adapter::remove(SharedReceiveQueue*, std::uint32_t index) {
    srqs_.erase(index);
    srq_indices_.put(index);
}

std::uint32_t Adapter::choose_mr() {
    support::MutexLock lock(region_mutex);
    const bool takes_fresh = free_mrs_ <= kIndexRest && fresh_mr_ != kMaxMrs;
    if (takes_fresh) return fresh_mr_++;
    if (free_mrs_ == 0) return kMaxMrs;
    const std::uint32_t index = first_free_mr_;
    first_free_mr_ = own_keys_[index].reserved;
    --free_mrs_;
    return index;
}

Result<std::uint32_t> Adapter::take_mr() {
    const std::uint32_t index = choose_mr();
    if (index == kMaxMrs) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kMrTable + index * sizeof(MrEntry);
    const int cause = arena_->publish(offset, sizeof(MrEntry));
    if (cause == 0) return index;
    return_mr(index);
    return tl::unexpected<int>(cause);
}

void Adapter::return_mr(std::uint32_t index) {
    support::MutexLock lock(region_mutex);
    if (free_mrs_++ == 0)
        first_free_mr_ = index;
    else
        own_keys_[last_free_mr_].reserved = index;
    last_free_mr_ = index;
}

std::shared_ptr<PeerPages> Adapter::pages_of(const std::shared_ptr<Peer>& peer) {
    support::MutexLock lock(mutex);
    std::erase_if(peer_pages_, [](const auto& pages) { return pages.second.expired(); });
    std::weak_ptr<PeerPages>& known = peer_pages_[peer->member().id];
    std::shared_ptr<PeerPages> pages = known.lock();
    if (!pages) {
        pages = std::make_shared<PeerPages>(peer, ArenaView(peer->arena(), peer->arena_size()));
        known = pages;
    }
    return pages;
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
    // A thread that begins after the turn counts for the other side, and holds nobody up.
    for (int side = 0; side < 2; ++side) {
        const std::uint32_t turn = working_turn_.fetch_add(1, std::memory_order_seq_cst) & 1;
        const std::atomic<std::uint32_t>& count = working_[turn];
        for (int turns = 0; count.load(std::memory_order_seq_cst) > Working::of_this_thread[turn];)
            relax(turns);
    }
}

}  // namespace softverbs
