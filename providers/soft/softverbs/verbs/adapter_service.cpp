// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lets the adapter join and leave the fabric, and its service thread serve the objects in
/// the tables.
#include "providers/soft/softverbs/verbs/adapter.hpp"

#include <bit>
#include <cerrno>

#include "providers/soft/softverbs/arena/barrier.hpp"
#include "providers/soft/softverbs/fabric/per_process.hpp"
#include "providers/soft/softverbs/memory/peer_pages.hpp"
#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/channel_wakeup.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/placement_watch.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"

namespace softverbs {
namespace {

/// The adapter of this process, while the device is open.
struct Instance {
    support::Mutex mutex;  ///< held while the device is opened or closed
    std::shared_ptr<Adapter> adapter GUARDED_BY(mutex);
    int users GUARDED_BY(mutex) = 0;  ///< open contexts
};
Instance& instance() {
    static PerProcess<Instance> instances;
    return instances.get();
}

/// Tells SharedPages at the end of the scope that the device is closed, unless it was opened.
class PagesInUse {
  public:
    explicit PagesInUse(const std::shared_ptr<Adapter>& adapter) : adapter_(adapter) {}
    ~PagesInUse() {
        if (!adapter_) SharedPages::of_process().device_closed();
    }
    PagesInUse(const PagesInUse&) = delete;
    PagesInUse& operator=(const PagesInUse&) = delete;

  private:
    const std::shared_ptr<Adapter>& adapter_;
};

/// So long after a process has died, its peers are woken for events that it counted and may not
/// have told. Others count events meanwhile and ring for them; a second ring would be a wake-up
/// without an event, which no adapter makes.
constexpr std::chrono::milliseconds kUntilRung{10};

/// Serves the objects whose kick bits are set, and clears the bits. If one runs out of memory, its
/// bit and the remaining ones are set again.
template <class Serve>
void take_kicks(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
                std::uint32_t words, const Serve& serve) {
    for (std::uint32_t s = 0; s * 64 < words; ++s) {
        std::uint64_t marked = summary[s].load(std::memory_order_relaxed);
        if (marked != 0) marked = summary[s].exchange(0, std::memory_order_seq_cst);
        std::uint64_t bits = 0;
        try {
            for (; marked != 0; marked &= marked - 1) {
                const std::uint32_t word = s * 64 + std::countr_zero(marked);
                bits = kicks[word].exchange(0, std::memory_order_seq_cst);
                for (; bits != 0; bits &= bits - 1) serve(word * 64 + std::countr_zero(bits));
            }
        } catch (const std::bad_alloc&) {
            kicks[s * 64 + std::countr_zero(marked)].fetch_or(bits, std::memory_order_seq_cst);
            summary[s].fetch_or(marked, std::memory_order_seq_cst);
            throw;
        }
    }
}

}  // namespace

Result<PublishedArena> Adapter::prepare(Process& process, std::shared_ptr<Adapter>& made) {
    std::unique_ptr<Arena> arena = Arena::create();
    if (!arena) return tl::unexpected<int>(errno);
    std::shared_ptr<Adapter> adapter(new Adapter(process, std::move(arena)));
    Adapter* raw = adapter.get();
    process.keep(adapter);
    process.on_doorbell([raw] { raw->serve_doorbell(); });
    process.on_peer_death([raw](const std::shared_ptr<Peer>& peer) { raw->peer_died(peer); });
    process.on_device_states([raw](DeviceStates before) { raw->states_changed(before); });
    process.port_event.set(
        [raw](faults::Action event, std::uint32_t ports) { raw->tell_event(event, ports); });
    process.note_service.set([raw](std::uint32_t qp_num, std::uint16_t port) {
        support::MutexLock lock(raw->mutex);
        if (QueuePair* const qp = raw->find_qp(qp_num)) qp->set_service(port);
    });
    serve_channel_requests(*raw);
    serve_agent_requests(*raw);
    made = adapter;
    PublishedArena published{raw->arena_->fd(), reinterpret_cast<std::byte*>(raw->view().base()),
                             raw->view().size()};
    published.pages_fd = SharedPages::of_process().page_file();
    if (published.pages_fd >= 0) published.pages_size = kPageFileSize;
    return published;
}

Result<std::shared_ptr<Adapter>> Adapter::join() {
    Instance& mine = instance();
    support::MutexLock lock(mine.mutex);
    const PagesInUse pages(mine.adapter);
    std::shared_ptr<Adapter> made;
    Result<Process*> process =
        Process::join([&made](Process& joined) { return prepare(joined, made); });
    if (!process) return tl::unexpected<int>(process.error());
    if (made) {
        try {
            made->own_pages_ = made->pages_of((*process)->self());
        } catch (const std::bad_alloc&) {
            Process::leave();
            throw;
        }
        mine.adapter = made;
    }
    ++mine.users;
    return mine.adapter;
}

/// Marks the arena when the program returns from main() or calls exit() with the device open, so
/// that peers do not report that it was killed.
[[gnu::destructor]] static void tell_exit() {
    Instance& mine = instance();
    support::MutexLock lock(mine.mutex);
    if (mine.adapter) mine.adapter->view().header().has_left.store(1, std::memory_order_release);
}

void Adapter::leave(const std::shared_ptr<Adapter>& adapter) {
    Instance& mine = instance();
    support::MutexLock lock(mine.mutex);
    // A child of fork() that inherited the context is not a member; its parent is.
    if (Process::current() != &adapter->process_) return;
    // Before the links end, by which peers notice.
    if (--mine.users == 0) adapter->view().header().has_left.store(1, std::memory_order_release);
    Process::leave();
    if (Process::current()) return;
    mine.adapter.reset();
    SharedPages::of_process().device_closed();
}

Adapter::Adapter(Process& process, std::unique_ptr<Arena> arena)
    : placement(std::make_unique<PlacementWatch>(*this)),
      process_(process),
      arena_(std::move(arena)),
      view_(arena_->view()) {
    view_.header().agent_copying = reinterpret_cast<std::uintptr_t>(&agent_copying);
    copy_ = copy_setting();
    if (places_directly()) longest_inline_ = 0;
    if (image_page_.allocate_anywhere(kPage) != 0) throw std::bad_alloc();
    view_.header().image_address = reinterpret_cast<std::uintptr_t>(image_page_.get());
    view_.header().has_barrier = take_part_in_barrier() ? 1 : 0;
}

Adapter::~Adapter() = default;

void Adapter::add(QueuePair* qp) {
    {
        support::MutexLock lock(region_mutex);
        qps_[qp->index()].store(qp, std::memory_order_release);
    }
    add_receiver(qp);
}

void Adapter::add_receiver(QueuePair* qp) {
    if (qp->recv_cq) receivers_.enter(qp->index(), qp, qp->receive_queue().index());
}

void Adapter::remove_receiver(QueuePair* qp) {
    receivers_.leave(qp->index());
}

void Adapter::remove(QueuePair* qp) {
    support::MutexLock lock(region_mutex);
    qps_[qp->index()].store(nullptr, std::memory_order_release);
}

void Adapter::each_completion_queue(const std::function<void(CompletionQueue&)>& visit) {
    cqs_.each(visit);
}

void Adapter::each_shared_queue(const std::function<void(SharedReceiveQueue&)>& visit) {
    srqs_.each(visit);
}

void Adapter::pass_pollers() {
    support::MutexLock lock(region_mutex);
    cqs_.each([](CompletionQueue& cq) { cq.pass_pollers(); });
}

bool Adapter::pass_senders() {
    bool passed = true;
    support::MutexLock lock(region_mutex);
    visit_queue_pairs([&](QueuePair& qp) { passed = passed && qp.pass_sender(); });
    return passed;
}

void Adapter::wake_requesters() {
    support::MutexLock lock(region_mutex);
    visit_queue_pairs([](QueuePair& qp) { qp.wake_requester(); });
}

bool Adapter::wait_for_datagrams(std::uint32_t cq, Deadline deadline) const {
    const std::uint32_t count = blocks_.load(std::memory_order_acquire) * kQpsPerBlock;
    for (std::uint32_t i = 0; i < count; ++i) {
        const QpEntry& entry = view_.qp(i);
        if (entry.qp_type != IBV_QPT_UD || !receives_complete_in(i, cq)) continue;
        if (!turn_is_over(entry, *this, deadline)) return false;
    }
    return true;
}

/// While the holder has its turn the count is odd; if it took and ended a turn during the check,
/// the count has changed.
bool Adapter::is_forged_turn(const std::atomic<std::uint32_t>& turn, std::uint32_t holder) const {
    if (!is_ours(holder)) return false;
    const std::atomic<std::uint32_t>& turns = turns_[index_of(holder)];
    const std::uint32_t before = turns.load(std::memory_order_acquire);
    const bool is_named = turn.load(std::memory_order_seq_cst) == holder;
    return is_named && before % 2 == 0 && turns.load(std::memory_order_acquire) == before;
}

std::uint64_t Adapter::agent_staging() {
    if (agent_staging_ == 0) agent_staging_ = arena_->allocate(kAgentChunk);
    return agent_staging_;
}

void Adapter::serve_doorbell() {
    {
        support::MutexLock lock(mutex);
        serve_qps();
        serve_cqs();
        serve_srqs();
        placement->serve_doorbell();
        absent_regions.serve_doorbell(view());
    }
    time_periods();
}

void Adapter::serve_qps() {
    ArenaHeader& header = view().header();
    const auto serve = [this](std::uint32_t index) {
        if (QueuePair* qp = qps_[index].load(std::memory_order_acquire)) qp->serve_kick();
    };
    take_kicks(header.qp_kicks, header.qp_kick_summary, kMaxQps / 64, serve);
}

void Adapter::serve_cqs() {
    ArenaHeader& header = view().header();
    const auto serve = [this](std::uint32_t index) NO_THREAD_SAFETY_ANALYSIS {
        if (CompletionQueue* cq = cqs_.find(index)) cq->serve_kick();
    };
    take_kicks(header.cq_kicks, header.cq_kick_summary, kMaxCqs / 64, serve);
}

void Adapter::serve_srqs() {
    ArenaHeader& header = view().header();
    const auto serve = [this](std::uint32_t index) NO_THREAD_SAFETY_ANALYSIS {
        if (SharedReceiveQueue* srq = srqs_.find(index)) srq->serve_kick();
    };
    take_kicks(header.srq_kicks, header.srq_kick_summary, kMaxSrqs / 64, serve);
}

void Adapter::peer_died(const std::shared_ptr<Peer>& peer) {
    forget_channels_of(*this, *peer);
    support::MutexLock lock(mutex);
    bool concerned = false;
    each_queue_pair([&](QueuePair& qp) { concerned = qp.peer_died(*peer) || concerned; });
    // The sender's service thread no longer asks for it.
    cqs_.each([](CompletionQueue& cq) { cq.place_payloads(); });
    process_.service().at(Clock::now() + kUntilRung, [this] {
        {
            support::MutexLock guard(mutex);
            cqs_.each([](CompletionQueue& cq) NO_THREAD_SAFETY_ANALYSIS { cq.repeat_wake(); });
        }
        time_periods();
    });
    if (!concerned) return;
    process_.service().at(Clock::now() + scaled(kLongestSilence), [this, peer] {
        support::MutexLock guard(mutex);
        each_queue_pair([&](QueuePair& qp) { qp.give_up_peer(*peer); });
    });
}

}  // namespace softverbs
