// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The multicast groups that a datagram queue pair has sent to last. The fabric's index lists the
/// queue pairs in each group and counts the changes of all groups. A sender reads that count for
/// each message; if it has changed, the service thread reads the list again, and the message waits
/// for it.
#pragma once

#include <infiniband/verbs.h>

#include <vector>

#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/verbs/address_handle.hpp"

namespace softverbs {

class QueuePair;

/// The queue pair number of all messages to multicast groups.
inline constexpr std::uint32_t kMulticastQp = 0xffffff;

/// Used under the send_lock of the queue pair; allocates and frees nothing but look-ups.
class MulticastGroups {
  public:
    explicit MulticastGroups(QueuePair& qp) : qp_(qp) {}

    /// @return the queue pairs in the group; nullptr while a message has to wait for the look-up,
    /// which this call may start.
    const std::vector<std::uint32_t>* find(const AddressVector& address);
    /// Enters the result of a look-up; leaves the previous list in `found`.
    void found(const MulticastGroup& group, Index::Attached& found);
    /// Gives up waiting for look-ups: messages go to the queue pairs known so far.
    void stop_waiting();

  private:
    enum class State {
        kFound,
        kAsked,   ///< the service thread is looking it up
        kSilent,  ///< the same, but for so long that no message waits for it any more
    };
    struct Known {
        MulticastGroup group;
        State state = State::kFound;
        std::uint64_t last_use = 0;  ///< 0: never
        std::uint64_t changes = 0;   ///< Index::Attached
        std::vector<std::uint32_t> qp_nums;
    };
    Known* known(const MulticastGroup& group);
    Known& place_for(const MulticastGroup& group);
    void ask(const MulticastGroup& group);

    QueuePair& qp_;
    static constexpr std::size_t kMostKnown = 16;
    Known known_[kMostKnown];
    std::uint64_t uses_ = 0;
};

}  // namespace softverbs
