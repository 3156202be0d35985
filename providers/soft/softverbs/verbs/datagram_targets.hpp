// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The queue pairs that a datagram queue pair has sent to. The service thread looks up a new one,
/// and what is sent to it waits in the send queue until then. When there are too many, those not
/// used for the longest time are forgotten.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <unordered_map>

#include "providers/soft/softverbs/verbs/placement.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

class QueuePair;

inline constexpr std::uint32_t kDatagramMtu = 4096;
/// Limit of what one queue pair remembers: some megabytes.
inline constexpr std::size_t kMostDatagramTargets = 16384;

/// Holds a message until its completion is polled.
struct alignas(64) DatagramSlot {
    ibv_grh grh;  ///< valid if the completion has IBV_WC_GRH
    std::uint8_t payload[kDatagramMtu];
    std::uint8_t sl;
    std::uint8_t port;  ///< PortId::index() of the sender's
};
static_assert(sizeof(ibv_grh) == 40 && sizeof(DatagramSlot) == 4160);

struct DatagramTarget {
    enum class State {
        kAsked,   ///< the service thread is looking it up
        kSilent,  ///< the same, but for so long that no message waits for it any more
        kBound,
        kAbsent,  ///< no datagram queue pair had this number
    };
    State state = State::kAsked;
    std::uint64_t last_use = 0;
    Deadline ask_again{};  ///< kAbsent: when the next look-up is allowed
    Target target;         ///< kBound
    /// Places for messages of a private ring, or their offsets for each section of a shared receive
    /// queue.
    DatagramSlot* slots = nullptr;
    const std::atomic<std::uint64_t>* sections = nullptr;
    Unplaced unplaced;

    /// Finds the places for messages. @return false when the target is no datagram queue pair, or
    /// its places are invalid.
    bool find_messages();
    /// @return nullptr when a shared receive queue has no place for that slot's message.
    DatagramSlot* message(std::uint32_t slot) const;

    /// Whether the target can still be used: its process is alive and its queue pair still exists.
    bool is_current() const {
        return target.peer->alive() &&
               target.entry->generation.load(std::memory_order_seq_cst) == target.generation;
    }
};

/// Used under the send_lock of the queue pair.
class DatagramTargets {
  public:
    explicit DatagramTargets(QueuePair& qp) : qp_(qp) {}

    /// @return the target, whose state says what to do with a message. Starts a look-up if the
    /// target is unknown or outdated.
    DatagramTarget& find(std::uint32_t qp_num);
    /// Looks up nothing. @return nullptr unless the target is bound.
    DatagramTarget* bound(std::uint32_t qp_num) const;
    /// Enters the result of a look-up.
    void resolved(std::uint32_t qp_num, Result<Target> found);
    /// Gives up waiting for look-ups: messages to these targets are lost until they are found.
    void stop_waiting();
    /// Called at a tick of PlacementWatch. @return whether to check again.
    bool look_after_placement();
    /// Called before the queue pair is reset or destroyed.
    void leave_placement();
    /// Forgets the targets in a peer that is gone, as its arena may be unmapped.
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
    /// Targets used last, by the number's low bits: saves a map look-up for each message.
    struct Recent {
        std::uint32_t qp_num = 0;
        DatagramTarget* target = nullptr;
    } recent_[kRecent];
};

}  // namespace softverbs
