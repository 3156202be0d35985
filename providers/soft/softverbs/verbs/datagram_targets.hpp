// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The queue pairs that a datagram queue pair has sent to. Finding one for the first time takes the
/// service thread; what is sent meanwhile waits in the send queue. Those that it has not sent to
/// for the longest time are forgotten when there are too many.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <unordered_map>

#include "providers/soft/softverbs/verbs/placement.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

class QueuePair;

inline constexpr std::uint32_t kDatagramMtu = 4096;
/// The most that one queue pair remembers: some megabytes.
inline constexpr std::size_t kMostDatagramTargets = 16384;

/// Where a message lies until it is polled.
struct alignas(64) DatagramSlot {
    ibv_grh grh;  ///< when the completion says so
    std::uint8_t payload[kDatagramMtu];
    std::uint8_t sl;
};
static_assert(sizeof(ibv_grh) == 40 && sizeof(DatagramSlot) == 4160);

struct DatagramTarget {
    enum class State {
        kAsked,   ///< the service thread looks for it
        kSilent,  ///< the same, and for so long that nothing waits for it any more
        kBound,
        kAbsent,  ///< there was nobody of this number
    };
    State state = State::kAsked;
    std::uint64_t last_use = 0;
    Deadline ask_again{};  ///< kAbsent: not before
    Target target;         ///< kBound
    /// Of a private ring, or of each section of a shared receive queue.
    DatagramSlot* slots = nullptr;
    const std::atomic<std::uint64_t>* sections = nullptr;
    Unplaced unplaced;

    /// Finds the places for messages. @return whether it is a datagram queue pair that has them.
    bool find_messages();
    /// @return nullptr where a shared receive queue has no place for that slot's message.
    DatagramSlot* message(std::uint32_t slot) const;

    /// Whether what we know of it can still be right.
    bool is_current() const {
        return target.peer->alive() &&
               target.entry->generation.load(std::memory_order_seq_cst) == target.generation;
    }
};

/// Under the send_lock of the queue pair, except where it says otherwise.
class DatagramTargets {
  public:
    explicit DatagramTargets(QueuePair& qp) : qp_(qp) {}

    /// Asks for it where that is needed. The state says what to do with a message.
    DatagramTarget& find(std::uint32_t qp_num);
    /// The service thread has found it, or not.
    void resolved(std::uint32_t qp_num, Result<Target> found);
    /// What waits has waited long enough.
    void stop_waiting();
    /// At a tick of PlacementWatch. @return whether to look again.
    bool look_after_placement();
    /// The queue pair is about to be reset or to go.
    void leave_placement();
    /// The peer is gone, and its arena may go.
    void forget(const Peer& peer);

  private:
    void ask(std::uint32_t qp_num);
    void make_room();
    /// @param is_gone (DatagramTarget&): whether to forget it.
    template <class IsGone>
    void forget_if(const IsGone& is_gone);

    static constexpr std::size_t kRecent = 64;
    QueuePair& qp_;
    std::unordered_map<std::uint32_t, std::unique_ptr<DatagramTarget>> targets_;
    std::uint64_t uses_ = 0;
    /// Those used last, by the number's low bits: no map for each message.
    struct Recent {
        std::uint32_t qp_num = 0;
        DatagramTarget* target = nullptr;
    } recent_[kRecent];
};

}  // namespace softverbs
