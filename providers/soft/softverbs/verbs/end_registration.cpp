// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ends a registration of another process. The key is invalidated first, so later requests do not
/// find it. Then everybody who may have seen it is waited for, without the owner's help: the
/// owner's requesters mark their transfers in their arenas, which the owner has mapped, and those
/// of its own threads that check keys and copy hold a lock. These words are read in the owner's
/// memory.
#include "providers/soft/softverbs/end_registration.hpp"

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "providers/soft/softverbs/arena/barrier.hpp"
#include "providers/soft/softverbs/arena/owner_arena.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"

namespace softverbs {
namespace {

constexpr std::chrono::milliseconds kPatience{100};

class Ending {
  public:
    Ending(const OwnerArena& arena, pid_t pid)
        : arena_(arena), view_(arena.view()), pid_(pid), deadline_(Clock::now() + kPatience) {}

    /// Ends the region. @return whether nobody uses its memory any more.
    bool run(std::uint32_t key) {
        end_region(key);
        // A bind that saw the region is carried out under the queue pair's lock: its window is in
        // the table once that lock has been free.
        if (!each_queue_pair([this](QpEntry& qp) { return wait_for_owner(qp); })) return false;
        if (!wait_for_word(view_.header().agent_copying)) return false;
        end_windows(key);
        issue_barrier();
        return each_queue_pair([this](QpEntry& qp) { return wait_for_requester(qp); }) &&
               wait_for_word(view_.header().agent_copying);
    }

  private:
    void end_region(std::uint32_t key) const {
        MrEntry& entry = view_.mr(key);
        entry.ended.store(key, std::memory_order_seq_cst);
        entry.key.compare_exchange_strong(key, 0, std::memory_order_seq_cst);
        note_end(entry);
    }

    void end_windows(std::uint32_t region) const {
        for (std::uint32_t index = 0; index < arena_.used_keys(); ++index) {
            MrEntry& entry = view_.mr(index << kKeyIndexShift);
            std::uint32_t key = entry.key.load(std::memory_order_seq_cst);
            if (key == 0 || entry.kind == KeyKind::kRegion || entry.region != region) continue;
            entry.key.compare_exchange_strong(key, 0, std::memory_order_seq_cst);
            note_end(entry);
        }
    }

    /// Calls visit(QpEntry&) for each queue pair until it returns false.
    /// @return whether it never did.
    template <class Visit>
    bool each_queue_pair(Visit visit) const {
        for (std::uint32_t place = 0; place < kMaxQpBlocks; ++place) {
            const std::uint32_t block =
                view_.header().qp_blocks[place].load(std::memory_order_acquire);
            if (block == 0) return true;
            for (std::uint32_t i = 0; i < kQpsPerBlock; ++i) {
                QpEntry& entry = view_.qp(place * kQpsPerBlock + i);
                const std::uint32_t number = entry.qp_num.load(std::memory_order_seq_cst);
                if (number == (block - 1) * kQpsPerBlock + i && !visit(entry)) return false;
            }
        }
        return true;
    }

    /// Waits until the lock of its send queue, and that of the completion queue of its receives,
    /// has been free.
    bool wait_for_owner(const QpEntry& qp) {
        if (!wait_for_lock(qp.send_lock, qp.qp_num)) return false;
        const std::uint32_t index = qp.cq;
        const CqHeader* const cq = view_.cq(index);
        if (!cq || !seen_.insert(index).second) return true;
        return wait_for_lock(cq->lock, cq->live);
    }

    /// @param live changes when the object is destroyed, and its lock with it.
    bool wait_for_lock(std::uint64_t address, const std::atomic<std::uint32_t>& live) const {
        const std::uint32_t before = live.load(std::memory_order_seq_cst);
        for (int turns = 0;; relax(turns)) {
            std::uint32_t word = 0;
            const bool seen = read_owner(address, word);
            if (seen && word == 0) return true;
            if (live.load(std::memory_order_seq_cst) != before || before == 0) return true;
            if (!seen || Clock::now() >= deadline_) return false;
        }
    }

    bool wait_for_word(std::uint64_t address) const {
        for (int turns = 0;; relax(turns)) {
            std::uint8_t word = 0;
            if (!read_owner(address, word)) return false;
            if (word == 0) return true;
            if (Clock::now() >= deadline_) return false;
        }
    }

    template <class Word>
    bool read_owner(std::uint64_t address, Word& word) const {
        iovec local{&word, sizeof word};
        iovec remote{reinterpret_cast<void*>(address), sizeof word};
        return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == sizeof word;
    }

    /// Waits for the requester, by its own word, which the owner has mapped. Requesters of
    /// datagrams touch no region.
    bool wait_for_requester(const QpEntry& qp) const {
        constexpr int kTurnsBeforeDoubt = 4096;
        const std::uint64_t word = qp.requester_word.load();
        std::uint64_t begun = 0;
        if (word == 0) return true;
        if (!read_owner(word, begun)) return qp.requester_word.load() != word;
        if (TransferMark::qp_num(begun) != qp.qp_num.load()) return true;
        for (int turns = 0;; relax(turns)) {
            std::uint64_t now = 0;
            if (!read_owner(word, now) || now >> 32 != begun >> 32) return true;
            if (turns == kTurnsBeforeDoubt && has_ended(qp.dest_qp_num.load())) return true;
            if (Clock::now() >= deadline_) return false;
        }
    }

    /// Whether the requester's process has ended: its mark then stays until its target's owner
    /// notices.
    static bool has_ended(std::uint32_t requester) {
        Process* const here = Process::current();
        return here && requester != 0 && here->owner_has_ended(requester);
    }

    const OwnerArena& arena_;
    const ArenaView view_;
    const pid_t pid_;
    const Deadline deadline_;
    std::set<std::uint32_t> seen_;  ///< completion queues that have been waited for
};

/// @return whether the process of the descriptor has ended.
bool has_ended(const UniqueFd& pidfd) {
    pollfd ended{pidfd.get(), POLLIN, 0};
    return poll(&ended, 1, 0) == 1;
}

bool end_registration(pid_t pid, std::uint32_t key) {
    if (pid <= 0 || key == 0) return false;
    if (pid == getpid()) {
        const auto arena = OwnerArena::own_with_region(key);
        return arena && Ending(*arena, pid).run(key);
    }
    // Shows the end of the process even if its pid is reused.
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid()) return errno == ESRCH;
    const auto arena = OwnerArena::with_region(pid, key);
    // Asked after the arena was found, which otherwise may be another process's with the same pid.
    if (has_ended(pidfd)) return true;
    if (arena && Ending(*arena, pid).run(key)) return true;
    return has_ended(pidfd);
}

}  // namespace
}  // namespace softverbs

bool softverbs_end_registration(pid_t pid, std::uint32_t key) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::end_registration(pid, key);
    } catch (const std::bad_alloc&) {
        return false;
    }
}
