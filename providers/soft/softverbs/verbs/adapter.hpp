// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The software adapter of this process: its arena, the tables of its objects, and the work of its
/// service thread. Created when the first context is opened, destroyed with the last. The tables
/// are implemented in adapter.cpp; adapter_service.cpp has the functions that need the objects'
/// classes.
///
/// Lock order, outermost first: Adapter::mutex, QueuePair::send_lock, QueuePair::receive_lock,
/// CompletionQueue::lock, SharedReceiveQueue::lock; Adapter::window_lock, the lock of Requesters
/// and those of channels and of async events come last. A wait for requesters holds no lock but the
/// resize_mutex_ of a queue. Whoever holds another lock (send_lock in a bind or an invalidation,
/// the adapter's mutex on the service thread) waits with a deadline of now, and tries again later.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/arena/kick.hpp"
#include "providers/soft/softverbs/arena/own_pages.hpp"
#include "providers/soft/softverbs/arena/requesters.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "providers/soft/softverbs/memory/copy_setting.hpp"
#include "providers/soft/softverbs/verbs/absent_regions.hpp"
#include "providers/soft/softverbs/verbs/object_table.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class CompletionQueue;
class MemoryWindow;
struct Context;
class PeerPages;
class PlacementWatch;
class QueuePair;
class SharedReceiveQueue;
class XrcDomain;
struct MemoryRegion;

inline constexpr std::uint32_t kMaxPds = 1 << 16;
inline constexpr std::uint32_t kMaxAhs = 1 << 20;

/// NumberPool's `rest` for regions and windows, and the same limit for queue pairs. Peers keep
/// their keys and numbers, so a freed one is reused late; a program that keeps creating objects
/// pays some megabytes for it.
inline constexpr std::uint32_t kRegionRest = 1 << 16;
inline constexpr std::uint32_t kQueuePairRest = 1 << 10;

/// Counts objects that need no number, up to the device's limit. Control path only.
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
    explicit KeyOwners(TablePages& pages) : owners_(pages, kMaxMrs) {}
    void enter(std::uint32_t index, MemoryRegion* region) { owners_[index].region = region; }
    void enter(std::uint32_t index, MemoryWindow* window) { owners_[index].window = window; }
    void leave(std::uint32_t index) { owners_[index] = {nullptr, nullptr}; }
    /// Looks up the object by a key of any generation.
    /// @return nullptr when the entry belongs to no such object.
    MemoryRegion* region(std::uint32_t key) const { return owners_[key >> kKeyIndexShift].region; }
    MemoryWindow* window(std::uint32_t key) const { return owners_[key >> kKeyIndexShift].window; }

  private:
    struct Owner {
        MemoryRegion* region;
        MemoryWindow* window;
    };
    LargeTable<Owner> owners_;
};

/// Objects by index, each with the completion queue of its receives. A thread that holds that
/// queue's lock finds the object; one that holds another queue's lock, and follows an index that a
/// peer has written, does not touch it: it may be in destruction.
template <class T>
class ReceiverTable {
  public:
    ReceiverTable(TablePages& pages, std::uint32_t limit)
        : objects_(pages, limit), cqs_(pages, limit) {}
    void enter(std::uint32_t index, T* object, std::uint32_t cq) {
        cqs_[index].store(cq, std::memory_order_release);
        objects_[index].store(object, std::memory_order_release);
    }
    void leave(std::uint32_t index) { objects_[index].store(nullptr, std::memory_order_release); }
    /// @return nullptr unless the object at this index completes its receives in the queue `cq`.
    T* find(std::uint32_t index, std::uint32_t cq) const {
        T* object = objects_[index].load(std::memory_order_acquire);
        const bool is_there = cqs_[index].load(std::memory_order_acquire) == cq;
        return is_there && objects_[index].load(std::memory_order_acquire) == object ? object
                                                                                     : nullptr;
    }

  private:
    LargeTable<std::atomic<T*>> objects_;
    LargeTable<std::atomic<std::uint32_t>> cqs_;
};

class Adapter {
    TablePages tables_{std::size_t{8}
                       << 20};  ///< first, since the tables below take their memory from it

  public:
    /// Joins the fabric, or adds a reference to this process's membership.
    /// @return the adapter, or an errno that has been reported to the user.
    static Result<std::shared_ptr<Adapter>> join();
    static void leave(const std::shared_ptr<Adapter>& adapter);
    ~Adapter();

    Process& process() const { return process_; }
    Arena& arena() { return *arena_; }
    ArenaView view() const { return view_; }

    /// Guards the tables: objects are added and removed, and the service thread visits them, with
    /// this lock held.
    support::Mutex mutex;

    /// Looks up a queue pair by its number, which may come from a peer. Takes no lock itself;
    /// callers hold `mutex`, under which queue pairs are removed.
    QueuePair* find_qp(std::uint32_t qp_num) const {
        const std::uint32_t block = block_of_[qp_num / kQpsPerBlock & 0xffff];
        if (block == 0) return nullptr;
        return qps_[(block - 1) * kQpsPerBlock + qp_num % kQpsPerBlock].load(
            std::memory_order_acquire);
    }
    /// Finds the queue pair that a completion in the queue `cq` names; the queue's lock is held. A
    /// peer may have written any number there, so a queue pair whose receives complete in another
    /// queue is not touched: it may be in destruction.
    /// @return nullptr for such a number.
    QueuePair* find_receiver(std::uint32_t qp_num, std::uint32_t cq) const {
        const std::uint32_t block = block_of_[qp_num / kQpsPerBlock & 0xffff];
        if (block == 0) return nullptr;
        return receivers_.find((block - 1) * kQpsPerBlock + qp_num % kQpsPerBlock, cq);
    }
    /// Does the same for the XRC shared receive queue that a completion names.
    SharedReceiveQueue* find_xrc_queue(CompletionNames names, std::uint32_t cq) const {
        return names.srq() == 0 ? nullptr : xrc_queues_.find(names.srq() - 1, cq);
    }
    /// @return whether the receives of a queue pair complete in the queue `cq`. @param qp index of
    /// the queue pair.
    bool receives_complete_in(std::uint32_t qp, std::uint32_t cq) const {
        return receivers_.find(qp, cq) != nullptr;
    }
    /// Waits until the turns that senders of datagrams have at queue pairs that complete in this
    /// queue have ended. @return false at the deadline.
    bool wait_for_datagrams(std::uint32_t cq, Deadline deadline) const;
    /// Twice the number of turns that our queue pair has had at datagram queue pairs, plus one
    /// while it has a turn or waits for one. Unlike QpEntry::turn no peer can write it. Changed
    /// under the queue pair's send_lock.
    std::atomic<std::uint32_t>& turns_of(std::uint32_t qp) { return turns_[qp]; }
    /// Whether the word names a queue pair of ours that has no turn: a peer has written it.
    bool is_forged_turn(const std::atomic<std::uint32_t>& turn, std::uint32_t holder) const;
    bool is_ours(std::uint32_t qp_num) const {
        return qp_num < 1u << 24 && block_of_[qp_num / kQpsPerBlock] != 0;
    }
    void add_receiver(QueuePair* qp);
    /// Called before the queue pair's completions are removed from its queue.
    void remove_receiver(QueuePair* qp);
    /// @return index of a queue pair of this process in the tables.
    std::uint32_t index_of(std::uint32_t qp_num) const {
        return (block_of_[qp_num / kQpsPerBlock & 0xffff] - 1u) * kQpsPerBlock +
               qp_num % kQpsPerBlock;
    }
    /// @return a free number, with the pages of its entry allocated, or an errno.
    Result<std::uint32_t> take_qp_num() REQUIRES(mutex);
    /// Clears the entry of a number that has been taken, and begins its next generation. The caller
    /// fills it in and stores the number last.
    QpEntry& begin_entry(std::uint32_t qp_num);
    void return_qp_num(std::uint32_t qp_num) REQUIRES(mutex) { free_qps_.push(index_of(qp_num)); }
    template <class Visit>
    void each_queue_pair(const Visit& visit) const REQUIRES(mutex) {
        visit_queue_pairs(visit);
    }
    void add(QueuePair* qp) REQUIRES(mutex);
    void remove(QueuePair* qp) REQUIRES(mutex);

    Result<std::uint32_t> add(CompletionQueue* cq) REQUIRES(mutex);
    void remove(CompletionQueue* cq, std::uint32_t index) REQUIRES(mutex);
    void each_completion_queue(const std::function<void(CompletionQueue&)>& visit) REQUIRES(mutex);
    void each_shared_queue(const std::function<void(SharedReceiveQueue&)>& visit) REQUIRES(mutex);
    /// Enters an XRC shared receive queue, whose receives complete in the queue `cq`.
    void add_xrc(SharedReceiveQueue* srq, std::uint32_t index, std::uint32_t cq) REQUIRES(mutex) {
        xrc_queues_.enter(index, srq, cq);
    }
    void remove_xrc(std::uint32_t index) REQUIRES(mutex) { xrc_queues_.leave(index); }
    /// The XRC domains of inodes, each while somebody has it open.
    using XrcInode = std::tuple<unsigned, dev_t, ino_t>;  ///< of a device
    using XrcDomains = std::map<XrcInode, std::weak_ptr<XrcDomain>>;
    XrcDomains xrc_domains GUARDED_BY(mutex);
    std::uint32_t next_xrc_domain() { return xrc_domain_serial_.fetch_add(1) + 1; }
    /// @return nullptr when no queue has the index, which may come from a peer.
    CompletionQueue* find_cq(std::uint32_t index) const REQUIRES(mutex) { return cqs_.find(index); }
    Result<std::uint32_t> add(SharedReceiveQueue* srq) REQUIRES(mutex);
    void remove(SharedReceiveQueue* srq, std::uint32_t index) REQUIRES(mutex);

    /// Taken by registering and deregistering instead of `mutex`; besides it they take window_lock
    /// and the locks of completion queues. Nothing is allocated or freed under it: the program's
    /// malloc() may register memory.
    support::Mutex region_mutex;
    /// @return index of a free entry for a region or window, or an errno.
    Result<std::uint32_t> take_mr() EXCLUDES(region_mutex);
    void return_mr(std::uint32_t index) EXCLUDES(region_mutex);
    /// @return the next key of an entry that the caller owns: one that it has not had for long.
    /// @param kept mask of low bits: the new key differs from the last one in the bits above them.
    std::uint32_t new_key(std::uint32_t index, std::uint32_t kept = 0);
    /// Waits for threads of this process that are polling: they may be placing payloads.
    void pass_pollers() EXCLUDES(region_mutex);
    /// Waits for threads that are in the middle of a post: they may have seen a key that is invalid
    /// now. @return false if a post takes long.
    bool pass_senders() EXCLUDES(region_mutex);
    /// Has peers whose requests wait here try again.
    void wake_requesters() EXCLUDES(region_mutex);

    /// The private copy of the table entry of one of our keys: what the key permits. Peers use the
    /// copy in the arena, which any of them may overwrite. Both copies are written alike, but when
    /// a peer ends a key only the arena shows it.
    MrEntry& own_key(std::uint32_t key) const { return own_keys_[key >> kKeyIndexShift]; }

    /// Whether no other process has ended this key of a region of ours (MrEntry::ended).
    bool stands(std::uint32_t key) const {
        return view_.mr(key).ended.load(std::memory_order_seq_cst) != key;
    }

    AbsentRegions absent_regions;

    /// When held completion events are due (completion_moderation.cpp). Only the service thread
    /// changes it.
    struct Periods {
        Deadline next = Deadline::max();   ///< of the earliest event
        Deadline timed = Deadline::max();  ///< of the earliest timer
        void add(Deadline end) { next = std::min(next, end); }
    };
    Periods periods GUARDED_BY(mutex);

    /// Guards which windows are bound to which regions. A leaf lock.
    support::SpinLock window_lock;
    KeyOwners key_owners GUARDED_BY(window_lock){tables_};
    /// The requesters of our queue pairs.
    Requesters requesters{tables_};
    /// Waits until no requester uses a key that was invalid already when the call began.
    /// @param key of a window or of a region; for a region, requesters that use keys of its windows
    /// are waited for as well.
    /// @return false at the deadline: a requester, perhaps a stopped one, is still in the middle of
    /// a transfer.
    bool wait_for_key_users(std::uint32_t key, Deadline deadline) EXCLUDES(mutex);
    /// @return arena offset of kAgentChunk bytes for the service thread's copies; 0 when there is
    /// no memory. Called by the service thread.
    std::uint64_t agent_staging();
    /// Waits until the service thread has finished its current copy. Returns at once on that
    /// thread.
    void wait_for_agent_copy() const;
    /// Waits until each thread of this process has finished the queued request that it is carrying
    /// out, and the service thread its copy. Returns at once on the service thread. The caller
    /// holds no lock that the service thread takes.
    void wait_for_own_threads();
    /// True while the service thread checks keys and copies for a requester.
    std::atomic<bool> agent_copying{false};
    /// Whether the user has been told that copies take the slow path.
    std::atomic<bool> agent_told{false};
    /// Counts the current thread as carrying out a queued request.
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

        /// This thread's share of the counts, so that it does not wait for itself: the program's
        /// malloc(), which it calls, may deregister memory.
        [[gnu::tls_model("initial-exec")]] static thread_local std::uint32_t of_this_thread[2];

      private:
        const std::uint32_t turn_;
        std::atomic<std::uint32_t>& count_;
    };

    /// Number of copies that the service thread has made for peers. Their completions come by way
    /// of another process; a thread that polls one reads this first, so that it is ordered after
    /// the copy within this process as well.
    std::atomic<std::uint32_t> agent_copies{0};

    const std::unique_ptr<PlacementWatch> placement;

    // -- link_state.cpp
    /// Contexts that are open: they are told of their devices' ports.
    void add(Context* context) EXCLUDES(contexts_mutex_);
    void remove(Context* context) EXCLUDES(contexts_mutex_);
    void each_context(const std::function<void(Context&)>& visit) EXCLUDES(contexts_mutex_);

    /// Descriptors of the peers' completion channels (channel_wakeup.hpp), by member and channel
    /// id.
    using PeerChannels = std::map<std::pair<MemberId, std::uint32_t>, std::shared_ptr<UniqueFd>>;
    PeerChannels peer_channels GUARDED_BY(mutex);

    /// @return the shared pages of a peer, which stay mapped as long as any target holds them.
    std::shared_ptr<PeerPages> pages_of(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);
    /// The shared pages of this process, mapped once more as a peer maps them.
    PeerPages& own_pages() const { return *own_pages_; }

    ObjectCount pds{kMaxPds};
    ObjectCount ahs{kMaxAhs};
    std::uint32_t next_pd() { return pd_serial_.fetch_add(1) + 1; }
    std::uint32_t next_channel() { return channel_serial_.fetch_add(1) + 1; }
    int arena_fd() const { return arena_->fd(); }
    /// Bytes of the longest message that travels in its receiver's queues.
    std::uint32_t longest_inline() const { return longest_inline_; }
    /// Whether SOFTVERBS_COPY forbids process_vm.
    bool agent_only() const { return copy_ == CopySetting::kAgent; }
    bool process_vm_only() const { return copy_ == CopySetting::kProcessVm; }

  private:
    Adapter(Process& process, std::unique_ptr<Arena> arena);
    static Result<PublishedArena> prepare(Process& process, std::shared_ptr<Adapter>& made);
    std::int64_t choose_mr() EXCLUDES(region_mutex);
    /// Requires `mutex` or `region_mutex`.
    template <class Visit>
    void visit_queue_pairs(const Visit& visit) const {
        for (std::uint32_t index = 0; index < blocks_ * kQpsPerBlock; ++index)
            if (QueuePair* qp = qps_[index].load(std::memory_order_acquire)) visit(*qp);
    }
    // -- adapter_service.cpp
    void serve_doorbell() EXCLUDES(mutex);
    void serve_qps() REQUIRES(mutex);
    void serve_cqs() REQUIRES(mutex);
    void serve_srqs() REQUIRES(mutex);
    void peer_died(const std::shared_ptr<Peer>& peer) EXCLUDES(mutex);
    // -- completion_moderation.cpp
    void time_periods() EXCLUDES(mutex);
    void end_periods() EXCLUDES(mutex);
    // -- link_state.cpp
    struct Notice;
    using Notices = std::vector<Notice>;
    void states_changed(DeviceStates before) EXCLUDES(mutex, contexts_mutex_);
    void tell_event(faults::Action event, std::uint32_t ports) EXCLUDES(contexts_mutex_);
    void note_links(Notices& notices, unsigned device, DeviceStates before, DeviceStates now)
        EXCLUDES(contexts_mutex_);
    std::size_t count_contexts() EXCLUDES(contexts_mutex_);
    void tell(Notices& notices) EXCLUDES(contexts_mutex_);

    Process& process_;
    const std::unique_ptr<Arena> arena_;
    const ArenaView view_;
    CopySetting copy_ = CopySetting::kAuto;
    std::uint32_t longest_inline_ = kSlotInlineBytes;
    LargeTable<std::uint16_t> block_of_{tables_,
                                        65536};  ///< by block number: place + 1; 0: not ours
    std::uint32_t own_blocks_[kMaxQpBlocks] GUARDED_BY(mutex){};  ///< block numbers, by place
    LargeTable<std::atomic<QueuePair*>> qps_{tables_, kMaxQps};  ///< changed with both mutexes held
    /// Queue pairs whose receives complete in a queue, by the same index.
    ReceiverTable<QueuePair> receivers_{tables_, kMaxQps};
    ReceiverTable<SharedReceiveQueue> xrc_queues_{tables_, kMaxSrqs};
    LargeTable<std::atomic<std::uint32_t>> turns_{tables_, kMaxQps};
    LargeTable<MrEntry> own_keys_{tables_, kMaxMrs};
    std::atomic<std::uint32_t> blocks_{0};     ///< changed under mutex
    std::atomic<std::uint32_t> working_[2]{};  ///< threads in Working, by the turn of their begin
    std::atomic<std::uint32_t> working_turn_{0};
    std::uint64_t agent_staging_ = 0;
    std::shared_ptr<PeerPages> own_pages_;
    OwnPages image_page_;                                       ///< ArenaHeader::image_address
    NumberQueue free_qps_ GUARDED_BY(mutex){tables_, kMaxQps};  ///< by index
    NumberPool mr_numbers_ GUARDED_BY(region_mutex){tables_, kMaxMrs, kRegionRest};
    ObjectTable<CompletionQueue> cqs_{tables_,
                                      kMaxCqs};  ///< changed with mutex and region_mutex held
    ObjectTable<SharedReceiveQueue> srqs_ GUARDED_BY(mutex){tables_, kMaxSrqs};
    using KnownPages = std::map<MemberId, std::weak_ptr<PeerPages>>;
    std::shared_ptr<PeerPages> known_pages(MemberId member) EXCLUDES(mutex);
    void forget_expired_pages() EXCLUDES(mutex);
    KnownPages peer_pages_ GUARDED_BY(mutex);
    std::atomic<std::uint32_t> xrc_domain_serial_{0};
    std::atomic<std::uint32_t> pd_serial_{0};
    std::atomic<std::uint32_t> channel_serial_{0};
    support::Mutex contexts_mutex_;  ///< the locks of their events come after it
    std::list<Context*> contexts_ GUARDED_BY(contexts_mutex_);  ///< in the order of their opening
};

}  // namespace softverbs
