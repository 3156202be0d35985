// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software adapter of this process: its arena, the tables of its objects, and what its service
/// thread does for them. Made when the first context is opened, gone with the last. The tables are
/// in adapter.cpp; adapter_service.cpp has what needs to know the objects.
///
/// Lock order, outermost first: Adapter::mutex, QueuePair::send_lock, QueuePair::receive_lock,
/// CompletionQueue::lock, SharedReceiveQueue::lock; Adapter::window_lock, the lock of Requesters
/// and those of channels and of async events come last. No lock is held while requesters are waited
/// for, but that of the queue pair whose request it is (bind, invalidate).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "providers/soft/softverbs/fabric/process.hpp"
#include "providers/soft/softverbs/verbs/arena.hpp"
#include "providers/soft/softverbs/verbs/copy_setting.hpp"
#include "providers/soft/softverbs/verbs/kick.hpp"
#include "providers/soft/softverbs/verbs/object_table.hpp"
#include "providers/soft/softverbs/verbs/own_pages.hpp"
#include "providers/soft/softverbs/verbs/requesters.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class CompletionQueue;
class MemoryWindow;
class PeerPages;
class PlacementWatch;
class QueuePair;
class SharedReceiveQueue;
struct MemoryRegion;

inline constexpr std::uint32_t kMaxPds = 1 << 16;
inline constexpr std::uint32_t kMaxAhs = 1 << 20;

/// kIndexRest for regions and windows, and for queue pairs, whose keys and numbers peers keep: an
/// old one is reused late. A program that always makes new ones pays some megabytes for it.
inline constexpr std::uint32_t kRegionRest = 1 << 16;
inline constexpr std::uint32_t kQueuePairRest = 1 << 10;

/// Counts objects that need no number, up to what the device says it has. Control path only.
class ObjectCount {
  public:
    explicit ObjectCount(std::uint32_t limit) : limit_(limit) {}
    bool take() {
        if (count_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
        put();
        return false;
    }
    void put() { count_.fetch_sub(1, std::memory_order_relaxed); }

  private:
    const std::uint32_t limit_;
    std::atomic<std::uint32_t> count_{0};
};

/// The private objects behind the entries of the arena's table of memory keys.
class KeyOwners {
  public:
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
    LargeTable<Owner> owners_{kMaxMrs};
};

class Adapter {
  public:
    /// Joins the fabric, or adds a reference. @return an errno; the user has been told.
    static Result<std::shared_ptr<Adapter>> join();
    static void leave(const std::shared_ptr<Adapter>& adapter);
    ~Adapter();

    Process& process() const { return process_; }
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
    /// @param qp index of a queue pair.
    bool receives_complete_in(std::uint32_t qp, std::uint32_t cq) const {
        return receivers_[qp].load(std::memory_order_acquire) &&
               receiver_cqs_[qp].load(std::memory_order_acquire) == cq;
    }
    /// Waits for those who are putting a datagram's completion into the queue.
    bool wait_for_datagrams(std::uint32_t cq, Deadline deadline) const;
    /// How often our queue pair has had its turn at a datagram queue pair, times two; odd while it
    /// has it or waits for it. Unlike QpEntry::turn no peer can write it. Under its send_lock.
    std::atomic<std::uint32_t>& turns_of(std::uint32_t qp) { return turns_[qp]; }
    /// Whether a queue pair of ours is not at work where the word says so: a peer has written it.
    bool is_forged_turn(const std::atomic<std::uint32_t>& turn, std::uint32_t holder) const;
    bool is_ours(std::uint32_t qp_num) const {
        return qp_num < 1u << 24 && block_of_[qp_num / kQpsPerBlock] != 0;
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
    void return_qp_num(std::uint32_t qp_num) REQUIRES(mutex) { free_qps_.push(index_of(qp_num)); }
    template <class Visit>
    void each_queue_pair(const Visit& visit) const REQUIRES(mutex) {
        for (std::uint32_t index = 0; index < blocks_ * kQpsPerBlock; ++index)
            if (QueuePair* qp = qps_[index].load(std::memory_order_relaxed)) visit(*qp);
    }
    void add(QueuePair* qp) REQUIRES(mutex);
    void remove(QueuePair* qp) REQUIRES(mutex);

    Result<std::uint32_t> add(CompletionQueue* cq) REQUIRES(mutex);
    void remove(CompletionQueue* cq, std::uint32_t index) REQUIRES(mutex);
    /// @return nullptr where none has the number, which may be a peer's.
    CompletionQueue* find_cq(std::uint32_t index) const REQUIRES(mutex) { return cqs_.find(index); }
    Result<std::uint32_t> add(SharedReceiveQueue* srq) REQUIRES(mutex);
    void remove(SharedReceiveQueue* srq, std::uint32_t index) REQUIRES(mutex);

    /// All that registering and deregistering lock, but for window_lock and the locks of completion
    /// queues. Nothing is allocated or freed under it: a program's malloc may register memory.
    support::Mutex region_mutex;
    /// @return index of a free memory-region entry, or an errno.
    Result<std::uint32_t> take_mr() EXCLUDES(region_mutex);
    void return_mr(std::uint32_t index) EXCLUDES(region_mutex);
    /// @return a key that the entry, whose user the caller is, has not had for long.
    /// @param kept bits of the key that the next one is to differ beyond.
    std::uint32_t new_key(std::uint32_t index, std::uint32_t kept = 0);
    /// Waits for threads of ours that are taking completions out, and may be placing payloads.
    void pass_pollers() EXCLUDES(region_mutex);

    /// What our own keys permit, as we made them; the copies in the arena are for peers, any of
    /// whom may write there. Written as those are; a key may have been ended by a peer, which only
    /// the arena tells.
    MrEntry& own_key(std::uint32_t key) const { return own_keys_[key >> kKeyIndexShift]; }

    /// Whether no other process has ended this key of a region of ours (MrEntry::ended).
    bool stands(std::uint32_t key) const {
        return view_.mr(key).ended.load(std::memory_order_seq_cst) != key;
    }

    /// Which windows are bound to which regions. A leaf lock.
    support::SpinLock window_lock;
    KeyOwners key_owners GUARDED_BY(window_lock);
    /// Those of our queue pairs.
    Requesters requesters;
    /// Waits until no requester uses the key any more, which was invalid when the call began.
    /// @param key of a window; of a region, which is reached by the keys of its windows as well.
    /// @return false at the deadline: one that has been stopped, perhaps, is still in the middle of
    /// a transfer.
    bool wait_for_key_users(std::uint32_t key, Deadline deadline) EXCLUDES(mutex);
    /// Service thread: kAgentChunk bytes in the arena for its copies; 0 when there is no memory.
    std::uint64_t agent_staging();
    /// Until the service thread has done the copy that it is at. Not on that thread.
    void wait_for_agent_copy() const;
    /// Waits until each thread of ours has done the queued request that it is at. The caller holds
    /// no lock that the service thread takes.
    void wait_for_own_threads();
    /// Set by the service thread while it checks keys and copies.
    std::atomic<bool> agent_copying{false};
    /// A thread of ours that carries out a queued request.
    class Working {
      public:
        explicit Working(Adapter& adapter)
            : turn_(adapter.working_turn_.load(std::memory_order_relaxed) & 1),
              count_(adapter.working_[turn_]) {
            count_.fetch_add(1, std::memory_order_seq_cst);
            ++of_this_thread[turn_];
        }
        ~Working() {
            --of_this_thread[turn_];
            count_.fetch_sub(1, std::memory_order_release);
        }
        Working(const Working&) = delete;
        Working& operator=(const Working&) = delete;

        /// No thread waits for itself: the malloc() of the program that it calls may deregister
        /// memory.
        [[gnu::tls_model("initial-exec")]] static thread_local std::uint32_t of_this_thread[2];

      private:
        const std::uint32_t turn_;
        std::atomic<std::uint32_t>& count_;
    };

    /// Counts what the service thread placed for peers. The completion that tells of it comes by
    /// way of another process; who polls it reads this first, so that the order holds within this
    /// process alone as well.
    std::atomic<std::uint32_t> agent_copies{0};

    const std::unique_ptr<PlacementWatch> placement;

    /// Descriptors of the peers' completion channels (channel_wakeup.hpp), by member and channel
    /// id.
    using PeerChannels = std::map<std::pair<MemberId, std::uint32_t>, std::shared_ptr<UniqueFd>>;
    PeerChannels peer_channels GUARDED_BY(mutex);

    /// The shared pages of a peer, mapped as long as any target holds them.
    std::shared_ptr<PeerPages> pages_of(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);
    /// Those of this process, as a peer maps them.
    PeerPages& own_pages() const { return *own_pages_; }

    ObjectCount pds{kMaxPds};
    ObjectCount ahs{kMaxAhs};
    std::uint32_t next_pd() { return pd_serial_.fetch_add(1) + 1; }
    std::uint32_t next_channel() { return channel_serial_.fetch_add(1) + 1; }
    int arena_fd() const { return arena_->fd(); }
    /// Bytes of the longest message that travels in its receiver's queues.
    std::uint32_t longest_inline() const { return longest_inline_; }
    /// SOFTVERBS_COPY forbids process_vm.
    bool agent_only() const { return copy_ == CopySetting::kAgent; }
    bool process_vm_only() const { return copy_ == CopySetting::kProcessVm; }
    /// @return true once: the user is told that copies take the slow path.
    bool first_agent_use() { return !agent_told_.exchange(true); }

  private:
    Adapter(Process& process, std::unique_ptr<Arena> arena);
    static Result<PublishedArena> prepare(Process& process, std::shared_ptr<Adapter>& made);
    std::int64_t choose_mr() EXCLUDES(region_mutex);
    // -- adapter_service.cpp
    void serve_doorbell() EXCLUDES(mutex);
    void serve_qps() REQUIRES(mutex);
    void serve_cqs() REQUIRES(mutex);
    void serve_srqs() REQUIRES(mutex);
    void peer_died(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);

    Process& process_;
    const std::unique_ptr<Arena> arena_;
    const ArenaView view_;
    CopySetting copy_ = CopySetting::kAuto;
    std::uint32_t longest_inline_ = kSlotInlineBytes;
    std::atomic<bool> agent_told_{false};
    LargeTable<std::uint16_t> block_of_{65536};                   ///< place + 1 of a block of ours
    std::uint32_t own_blocks_[kMaxQpBlocks] GUARDED_BY(mutex){};  ///< by place
    LargeTable<std::atomic<QueuePair*>> qps_{kMaxQps};
    /// Those whose receives complete in a queue, by the same index, and which queue that is.
    LargeTable<std::atomic<QueuePair*>> receivers_{kMaxQps};
    LargeTable<std::atomic<std::uint32_t>> receiver_cqs_{kMaxQps};
    LargeTable<std::atomic<std::uint32_t>> turns_{kMaxQps};
    LargeTable<MrEntry> own_keys_{kMaxMrs};
    std::atomic<std::uint32_t> blocks_{0};     ///< changed under mutex
    std::atomic<std::uint32_t> working_[2]{};  ///< threads, by the turn in which they began
    std::atomic<std::uint32_t> working_turn_{0};
    std::uint64_t agent_staging_ = 0;
    std::shared_ptr<PeerPages> own_pages_;
    OwnPages image_page_;                              ///< ArenaHeader::image_address
    NumberQueue free_qps_ GUARDED_BY(mutex){kMaxQps};  ///< by index
    NumberPool mr_numbers_ GUARDED_BY(region_mutex){kMaxMrs, kRegionRest};
    ObjectTable<CompletionQueue> cqs_{kMaxCqs};  ///< changed with mutex and region_mutex held
    ObjectTable<SharedReceiveQueue> srqs_ GUARDED_BY(mutex){kMaxSrqs};
    using KnownPages = std::map<MemberId, std::weak_ptr<PeerPages>>;
    std::shared_ptr<PeerPages> known_pages(MemberId member) EXCLUDES(mutex);
    void forget_expired_pages() EXCLUDES(mutex);
    KnownPages peer_pages_ GUARDED_BY(mutex);
    std::atomic<std::uint32_t> pd_serial_{0};
    std::atomic<std::uint32_t> channel_serial_{0};
};

}  // namespace softverbs
