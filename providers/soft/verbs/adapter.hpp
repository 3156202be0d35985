// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software adapter of this process: its arena, the tables of its objects, and what its service
/// thread does for them. Made when the first context is opened, gone with the last.
///
/// Lock order, outermost first: Adapter::mutex, QueuePair::send_lock, Adapter::walk_mutex,
/// QueuePair::receive_lock, CompletionQueue::lock, SharedReceiveQueue::lock; Adapter::window_lock
/// and the locks of channels and of async events come last.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "dapl/support/mutex.hpp"
#include "providers/soft/fabric/process.hpp"
#include "providers/soft/verbs/arena.hpp"
#include "providers/soft/verbs/copy_setting.hpp"
#include "providers/soft/verbs/own_pages.hpp"

namespace softverbs {

class CompletionQueue;
class MemoryWindow;
class PeerPages;
class QueuePair;
class SharedReceiveQueue;
struct MemoryRegion;

/// Hands out small numbers; a freed one is used again last.
class IndexPool {
  public:
    explicit IndexPool(std::uint32_t limit) : limit_(limit) {}
    /// @return -1 when all are taken.
    std::int64_t take() {
        if (!free_.empty() && (free_.size() > kRest || next_ == limit_)) {
            const std::uint32_t index = free_.front();
            free_.pop_front();
            return index;
        }
        return next_ < limit_ ? std::int64_t{next_++} : -1;
    }
    void put(std::uint32_t index) { free_.push_back(index); }

  private:
    /// Freed numbers wait until there are more of them than this.
    static constexpr std::size_t kRest = 64;
    const std::uint32_t limit_;
    std::uint32_t next_ = 0;
    std::deque<std::uint32_t> free_;
};

/// The private objects behind the entries of the arena's table of memory keys.
class KeyOwners {
  public:
    KeyOwners();
    ~KeyOwners();
    KeyOwners(const KeyOwners&) = delete;
    KeyOwners& operator=(const KeyOwners&) = delete;
    void enter(std::uint32_t index, MemoryRegion* region) { owners_[index].region = region; }
    void enter(std::uint32_t index, MemoryWindow* window) { owners_[index].window = window; }
    void leave(std::uint32_t index) { owners_[index] = {nullptr, nullptr}; }
    /// By a key of any generation. @return nullptr when no such object has the entry.
    MemoryRegion* region(std::uint32_t key) const { return owners_[key >> kKeyIndexShift].region; }
    MemoryWindow* window(std::uint32_t key) const { return owners_[key >> kKeyIndexShift].window; }

  private:
    struct Owner {
        MemoryRegion* region;
        MemoryWindow* window;
    };
    Owner* const owners_;  ///< [kMaxMrs], untouched pages of which cost nothing
};

class Adapter {
  public:
    /// Joins the fabric, or adds a reference. @return an errno; the user has been told.
    static Result<std::shared_ptr<Adapter>> join();
    static void leave(std::shared_ptr<Adapter> adapter);
    ~Adapter();

    Process& process() { return process_; }
    Arena& arena() { return *arena_; }
    ArenaView view() const { return view_; }

    /// Lock of the tables: objects are added, removed, and visited by the service thread under it.
    support::Mutex mutex;

    /// The data path's look-up, without a lock. Only numbers of live queue pairs are asked for:
    /// destroy_qp removes a queue pair's completions before the queue pair.
    QueuePair* find_qp(std::uint32_t qp_num) const {
        const std::uint32_t block = block_of_[qp_num / kQpsPerBlock & 0xffff];
        if (block == 0) return nullptr;
        return qps_[(block - 1) * kQpsPerBlock + qp_num % kQpsPerBlock].load(
            std::memory_order_acquire);
    }
    /// The queue pair that a completion in the queue `cq` names; the queue's lock is held. A peer
    /// may have written any number there: of a queue pair that is not this queue's nothing is
    /// touched, for it may be on its way out.
    QueuePair* find_receiver(std::uint32_t qp_num, std::uint32_t cq) const {
        const std::uint32_t block = block_of_[qp_num / kQpsPerBlock & 0xffff];
        if (block == 0) return nullptr;
        const std::size_t index = (block - 1) * kQpsPerBlock + qp_num % kQpsPerBlock;
        QueuePair* qp = receivers_[index].load(std::memory_order_acquire);
        const bool is_ours = receiver_cqs_[index].load(std::memory_order_acquire) == cq;
        return is_ours && receivers_[index].load(std::memory_order_acquire) == qp ? qp : nullptr;
    }
    void add_receiver(QueuePair* qp);
    /// Before the completions of the queue pair are taken out of its queue.
    void remove_receiver(QueuePair* qp);
    /// @return place in the table of queue pairs of a number that is ours.
    std::uint32_t index_of(std::uint32_t qp_num) const {
        return (block_of_[qp_num / kQpsPerBlock & 0xffff] - 1u) * kQpsPerBlock +
               qp_num % kQpsPerBlock;
    }
    /// @return a free number whose entry's pages are there, or an errno.
    Result<std::uint32_t> take_qp_num() REQUIRES(mutex);
    void return_qp_num(std::uint32_t qp_num) REQUIRES(mutex) { free_qps_.push_back(qp_num); }
    const std::set<QueuePair*>& queue_pairs() const REQUIRES(mutex) { return live_qps_; }
    void add(QueuePair* qp) REQUIRES(mutex);
    void remove(QueuePair* qp) REQUIRES(mutex);

    Result<std::uint32_t> add(CompletionQueue* cq) REQUIRES(mutex);
    void remove(CompletionQueue* cq, std::uint32_t index) REQUIRES(mutex);
    const std::map<std::uint32_t, CompletionQueue*>& completion_queues() const REQUIRES(mutex) {
        return cqs_;
    }
    Result<std::uint32_t> add(SharedReceiveQueue* srq) REQUIRES(mutex);
    void remove(SharedReceiveQueue* srq, std::uint32_t index) REQUIRES(mutex);

    /// @return index of a free memory-region entry, or an errno.
    Result<std::uint32_t> take_mr() REQUIRES(mutex);
    void return_mr(std::uint32_t index) REQUIRES(mutex) { mrs_.put(index); }

    /// What our own keys permit, as we made them; the copies in the arena are for peers, any of
    /// whom may write there. Written as those are; a key may have been ended by a peer, which only
    /// the arena tells.
    MrEntry& own_key(std::uint32_t key) const {
        return reinterpret_cast<MrEntry*>(own_keys_.get())[key >> kKeyIndexShift];
    }

    /// Whether no other process has ended this key of a region of ours (MrEntry::ended).
    bool stands(std::uint32_t key) const {
        return view_.mr(key).ended.load(std::memory_order_seq_cst) != key;
    }

    /// Which windows are bound to which regions. A leaf lock.
    support::SpinLock window_lock;
    KeyOwners key_owners GUARDED_BY(window_lock);
    /// The same as wait_for_requesters, for a thread that holds a queue pair's send_lock: waits
    /// until nobody uses a key any more that was invalid when the call began.
    void wait_for_key_users() EXCLUDES(walk_mutex_);
    /// Until the service thread has done the copy that it is at.
    void wait_for_agent_copy() const;
    /// Set by the service thread while it checks keys and copies.
    std::atomic<bool> agent_copying{false};

    /// Counts what the service thread placed for peers. The completion that tells of it comes by
    /// way of another process; who polls it reads this first, so that the order holds within this
    /// process alone as well.
    std::atomic<std::uint32_t> agent_copies{0};

    /// Waits until every requester that began before now has finished: after this nobody works with
    /// a key that was invalid when the call began.
    void wait_for_requesters() EXCLUDES(mutex);

    /// Descriptors of the peers' completion channels (channel_wakeup.hpp), by member and channel
    /// id.
    std::map<std::pair<MemberId, std::uint32_t>, std::shared_ptr<UniqueFd>> peer_channels
        GUARDED_BY(mutex);

    /// Key of a region whose pages a thread of the application may be able to exchange; else 0.
    std::atomic<std::uint32_t> hot_for_application{0};
    /// The shared pages of a peer, mapped as long as any target holds them.
    std::shared_ptr<PeerPages> pages_of(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);

    std::uint32_t next_pd() { return pd_serial_.fetch_add(1) + 1; }
    std::uint32_t next_channel() { return channel_serial_.fetch_add(1) + 1; }
    /// SOFTVERBS_COPY forbids process_vm.
    bool agent_only() const { return copy_ == CopySetting::kAgent; }
    bool process_vm_only() const { return copy_ == CopySetting::kProcessVm; }
    /// @return true once: the user is told that copies take the slow path.
    bool first_agent_use() { return !agent_told_.exchange(true); }

  private:
    Adapter(Process& process, std::unique_ptr<Arena> arena);
    static Result<PublishedArena> prepare(Process& process, std::shared_ptr<Adapter>& made);
    void serve_doorbell() EXCLUDES(mutex);
    void serve_qps() REQUIRES(mutex);
    void serve_cqs() REQUIRES(mutex);
    void serve_srqs() REQUIRES(mutex);
    void peer_died(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);

    Process& process_;
    const std::unique_ptr<Arena> arena_;
    const ArenaView view_;
    CopySetting copy_ = CopySetting::kAuto;
    bool unsealed_pages_ = false;  ///< SOFTVERBS_SHARED_PAGES=always
    std::atomic<bool> agent_told_{false};
    /// Large tables, untouched pages of which cost nothing.
    std::uint16_t* const block_of_;       ///< [65536], place + 1 of a block of ours
    std::atomic<QueuePair*>* const qps_;  ///< [kMaxQps]
    /// Those whose receives complete in a queue, by the same index, and which queue that is.
    std::atomic<QueuePair*>* const receivers_;        ///< [kMaxQps]
    std::atomic<std::uint32_t>* const receiver_cqs_;  ///< [kMaxQps]
    OwnPages own_keys_;                               ///< MrEntry[kMaxMrs]
    std::atomic<std::uint32_t> blocks_{0};            ///< changed under mutex
    /// Held to walk over qps_ without `mutex`: no queue pair goes meanwhile. After send_lock.
    support::Mutex walk_mutex_;
    std::deque<std::uint32_t> free_qps_ GUARDED_BY(mutex);
    std::set<QueuePair*> live_qps_ GUARDED_BY(mutex);
    IndexPool cq_indices_ GUARDED_BY(mutex){kMaxCqs};
    IndexPool srq_indices_ GUARDED_BY(mutex){kMaxSrqs};
    IndexPool mrs_ GUARDED_BY(mutex){kMaxMrs};
    std::map<std::uint32_t, CompletionQueue*> cqs_ GUARDED_BY(mutex);
    std::map<std::uint32_t, SharedReceiveQueue*> srqs_ GUARDED_BY(mutex);
    std::map<MemberId, std::weak_ptr<PeerPages>> peer_pages_ GUARDED_BY(mutex);
    std::atomic<std::uint32_t> pd_serial_{0};
    std::atomic<std::uint32_t> channel_serial_{0};
};

/// Tells the owner of an arena that one of its objects wants attention: sets the object's bit. The
/// caller rings the owner's doorbell afterwards.
void set_kick(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
              std::uint32_t index);

/// Writes to an eventfd. Unlike write(), no cancellation point: locks are held.
bool raise_event(int fd, std::uint64_t count = 1);

/// One turn of a loop that waits for another thread or process to finish a short piece of work.
void relax(int& turns);

}  // namespace softverbs
