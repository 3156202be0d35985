// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/adapter.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "dapl/support/settings.hpp"
#include "providers/soft/fabric/per_process.hpp"
#include "providers/soft/verbs/agent.hpp"
#include "providers/soft/verbs/channel_wakeup.hpp"
#include "providers/soft/verbs/completion_queue.hpp"
#include "providers/soft/verbs/exchange_rules.hpp"
#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/peer_pages.hpp"
#include "providers/soft/verbs/queue_pair.hpp"
#include "providers/soft/verbs/region_exchange.hpp"
#include "providers/soft/verbs/shared_pages.hpp"
#include "providers/soft/verbs/shared_receive_queue.hpp"

namespace softverbs {
namespace {

/// The adapter of this process, while the device is open.
struct Instance {
    support::Mutex mutex;  ///< opening and closing
    std::shared_ptr<Adapter> adapter GUARDED_BY(mutex);
};
Instance& instance() {
    static PerProcess<Instance> instances;
    return instances.get();
}

template <class T>
T* lazy_table(std::size_t count) {
    void* memory = std::calloc(count, sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
}

/// The objects whose bits were set; clears them.
std::vector<std::uint32_t> take_kicks(std::atomic<std::uint64_t>* kicks,
                                      std::atomic<std::uint64_t>* summary, std::uint32_t words) {
    std::vector<std::uint32_t> kicked;
    for (std::uint32_t s = 0; s * 64 < words; ++s) {
        std::uint64_t marked = summary[s].load(std::memory_order_relaxed);
        if (marked != 0) marked = summary[s].exchange(0, std::memory_order_seq_cst);
        for (; marked != 0; marked &= marked - 1) {
            const std::uint32_t word = s * 64 + std::countr_zero(marked);
            std::uint64_t bits = kicks[word].exchange(0, std::memory_order_seq_cst);
            for (; bits != 0; bits &= bits - 1)
                kicked.push_back(word * 64 + std::countr_zero(bits));
        }
    }
    return kicked;
}

}  // namespace

KeyOwners::KeyOwners() : owners_(lazy_table<Owner>(kMaxMrs)) {}

KeyOwners::~KeyOwners() {
    std::free(owners_);
}

void set_kick(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
              std::uint32_t index) {
    kicks[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_seq_cst);
    fault_point(FaultPoint::kKickSet);
    summary[index / 4096].fetch_or(std::uint64_t{1} << index / 64 % 64, std::memory_order_seq_cst);
    fault_point(FaultPoint::kKickSummarySet);
}

bool raise_event(int fd, std::uint64_t count) {
    return syscall(SYS_write, fd, &count, sizeof count) == sizeof count;
}

void relax(int& turns) {
    constexpr int kTurnsBeforeYield = 64;
    if (++turns % kTurnsBeforeYield == 0) {
        sched_yield();
    } else {
        __builtin_ia32_pause();
    }
}

Result<PublishedArena> Adapter::prepare(Process& process, std::shared_ptr<Adapter>& made) {
    std::unique_ptr<Arena> arena = Arena::create();
    if (!arena) return tl::unexpected<int>(errno);
    std::shared_ptr<Adapter> adapter(new Adapter(process, std::move(arena)));
    Adapter* raw = adapter.get();
    process.keep(adapter);
    process.on_doorbell([raw] { raw->serve_doorbell(); });
    process.on_peer_death([raw](const std::shared_ptr<Peer>& peer) { raw->peer_died(peer); });
    serve_channel_requests(*raw);
    serve_agent_requests(*raw);
    made = adapter;
    PublishedArena published{raw->arena_->fd(), reinterpret_cast<std::byte*>(raw->view().base()),
                             kArenaSize};
    published.pages_fd = SharedPages::of_process().page_file();
    if (published.pages_fd >= 0) published.pages_size = kPageFileSize;
    return published;
}

Result<std::shared_ptr<Adapter>> Adapter::join() {
    Instance& mine = instance();
    support::MutexLock lock(mine.mutex);
    std::shared_ptr<Adapter> made;
    Result<Process*> process =
        Process::join([&made](Process& joined) { return prepare(joined, made); });
    if (!process) return tl::unexpected<int>(process.error());
    if (made) mine.adapter = made;
    return mine.adapter;
}

void Adapter::leave(std::shared_ptr<Adapter> adapter) {
    Instance& mine = instance();
    support::MutexLock lock(mine.mutex);
    // A child that inherited the context has no part in the parent's membership.
    if (Process::current() != &adapter->process_) return;
    Process::leave();
    if (Process::current()) return;
    mine.adapter.reset();
    SharedPages::of_process().device_closed();
}

Adapter::Adapter(Process& process, std::unique_ptr<Arena> arena)
    : process_(process),
      arena_(std::move(arena)),
      view_(arena_->view()),
      block_of_(lazy_table<std::uint16_t>(65536)),
      qps_(lazy_table<std::atomic<QueuePair*>>(kMaxQps)),
      receivers_(lazy_table<std::atomic<QueuePair*>>(kMaxQps)),
      receiver_cqs_(lazy_table<std::atomic<std::uint32_t>>(kMaxQps)) {
    if (own_keys_.allocate(kMaxMrs * sizeof(MrEntry)) != 0) throw std::bad_alloc();
    view_.header().agent_copying = reinterpret_cast<std::uintptr_t>(&agent_copying);
    copy_ = copy_setting();
    unsealed_pages_ = shared_pages_setting() == SharedPagesSetting::kAlways;
}

Adapter::~Adapter() {
    std::free(block_of_);
    std::free(qps_);
    std::free(receivers_);
    std::free(receiver_cqs_);
}

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
        block_of_[*block & 0xffff] = static_cast<std::uint16_t>(place + 1);
        view().header().qp_blocks[place].store(*block + 1, std::memory_order_release);
        ++blocks_;
        for (std::uint32_t i = 0; i < kQpsPerBlock; ++i)
            free_qps_.push_back(*block * kQpsPerBlock + i);
    }
    const std::uint32_t qp_num = free_qps_.front();
    free_qps_.pop_front();
    return qp_num;
}

void Adapter::add(QueuePair* qp) {
    live_qps_.insert(qp);
    qps_[qp->index()].store(qp, std::memory_order_release);
    add_receiver(qp);
}

void Adapter::add_receiver(QueuePair* qp) {
    receiver_cqs_[qp->index()].store(qp->receive_queue().index(), std::memory_order_release);
    receivers_[qp->index()].store(qp, std::memory_order_release);
}

void Adapter::remove_receiver(QueuePair* qp) {
    receivers_[qp->index()].store(nullptr, std::memory_order_release);
}

void Adapter::remove(QueuePair* qp) {
    live_qps_.erase(qp);
    support::MutexLock lock(walk_mutex_);
    qps_[qp->index()].store(nullptr, std::memory_order_release);
}

Result<std::uint32_t> Adapter::add(CompletionQueue* cq) {
    const std::int64_t index = cq_indices_.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kCqTable + index * sizeof(CqHeader);
    if (const int cause = arena_->publish(offset, sizeof(CqHeader))) {
        cq_indices_.put(index);
        return tl::unexpected<int>(cause);
    }
    cqs_[index] = cq;
    return index;
}

void Adapter::remove(CompletionQueue*, std::uint32_t index) {
    cqs_.erase(index);
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
    srqs_[index] = srq;
    return index;
}

void Adapter::remove(SharedReceiveQueue*, std::uint32_t index) {
    srqs_.erase(index);
    srq_indices_.put(index);
}

Result<std::uint32_t> Adapter::take_mr() {
    const std::int64_t index = mrs_.take();
    if (index < 0) return tl::unexpected<int>(ENOMEM);
    const std::uint64_t offset = kMrTable + index * sizeof(MrEntry);
    if (const int cause = arena_->publish(offset, sizeof(MrEntry))) {
        mrs_.put(index);
        return tl::unexpected<int>(cause);
    }
    return index;
}

std::shared_ptr<PeerPages> Adapter::pages_of(const std::shared_ptr<Peer>& peer) {
    support::MutexLock lock(mutex);
    std::erase_if(peer_pages_, [](const auto& pages) { return pages.second.expired(); });
    std::weak_ptr<PeerPages>& known = peer_pages_[peer->member().id];
    std::shared_ptr<PeerPages> pages = known.lock();
    if (!pages) {
        pages = std::make_shared<PeerPages>(peer, ArenaView(peer->arena()), unsealed_pages_);
        known = pages;
    }
    return pages;
}

void Adapter::wait_for_requesters() {
    support::MutexLock lock(mutex);
    for (QueuePair* qp : live_qps_) {
        qp->wait_for_requester();
        for (int turns = 0; qp->executing();) relax(turns);
    }
}

void Adapter::wait_for_key_users() {
    {
        support::MutexLock lock(walk_mutex_);
        const std::uint32_t count = blocks_.load(std::memory_order_acquire) * kQpsPerBlock;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (QueuePair* qp = qps_[i].load(std::memory_order_acquire)) qp->wait_for_requester();
        }
    }
    wait_for_agent_copy();
}

void Adapter::wait_for_agent_copy() const {
    for (int turns = 0; agent_copying.load(std::memory_order_seq_cst);) relax(turns);
}

void Adapter::serve_doorbell() {
    support::MutexLock lock(mutex);
    serve_qps();
    serve_cqs();
    serve_srqs();
    serve_hot_region(*this);
}

void Adapter::serve_qps() {
    ArenaHeader& header = view().header();
    for (const std::uint32_t index :
         take_kicks(header.qp_kicks, header.qp_kick_summary, kMaxQps / 64)) {
        if (QueuePair* qp = qps_[index].load(std::memory_order_acquire)) qp->serve_kick();
    }
}

void Adapter::serve_cqs() {
    ArenaHeader& header = view().header();
    for (const std::uint32_t index :
         take_kicks(header.cq_kicks, header.cq_kick_summary, kMaxCqs / 64)) {
        const auto found = cqs_.find(index);
        if (found != cqs_.end()) found->second->serve_kick(live_qps_);
    }
}

void Adapter::serve_srqs() {
    ArenaHeader& header = view().header();
    for (const std::uint32_t index :
         take_kicks(header.srq_kicks, header.srq_kick_summary, kMaxSrqs / 64)) {
        const auto found = srqs_.find(index);
        if (found != srqs_.end()) found->second->serve_kick();
    }
}

void Adapter::peer_died(const std::shared_ptr<Peer>& peer) {
    forget_channels_of(*this, *peer);
    support::MutexLock lock(mutex);
    bool concerned = false;
    for (QueuePair* qp : live_qps_) concerned = qp->peer_died(*peer) || concerned;
    for (const auto& [index, cq] : cqs_) cq->repeat_wake();
    if (!concerned) return;
    process_.service().at(Clock::now() + kLongestSilence, [this, peer] {
        support::MutexLock guard(mutex);
        for (QueuePair* qp : live_qps_) qp->give_up_peer(*peer);
    });
}

}  // namespace softverbs
