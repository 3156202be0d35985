// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Unreliable datagrams. Behind its ring of receives a datagram queue pair has a place for one
/// whole message per receive, and so does a shared receive queue for its datagram queue pairs. The
/// requester writes the message there, and poll_cq copies it out, so a datagram needs no right to
/// access the receiver's memory, and neither side waits for the other's copy.
///
/// A datagram queue pair has many requesters, which take turns: QpEntry::turn holds the number of
/// the queue pair whose turn it is. When that one's process dies, the owner undoes its unfinished
/// work and ends its turn.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "providers/soft/softverbs/memory/transfer.hpp"
#include "providers/soft/softverbs/verbs/address_handle.hpp"
#include "providers/soft/softverbs/verbs/datagram_targets.hpp"
#include "providers/soft/softverbs/verbs/multicast.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {

/// A requester's turn at a datagram queue pair. The constructor waits for it, but no longer than a
/// running holder could take; held() is false afterwards.
class Turn {
  public:
    Turn(QpEntry& entry, const QueuePair& requester);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool held() const { return held_; }

  private:
    QpEntry& entry_;
    std::atomic<std::uint32_t>& turns_;  ///< Adapter::turns_of
    bool held_ = false;
};

/// Waits until the turn that a requester has at a queue pair of this process, if any, has ended, or
/// the requester has. Later turns see all changes made before the call.
/// @return false at the deadline. The holder is then reported to the user, unless the deadline had
/// passed when the call began.
bool turn_is_over(const QpEntry& entry, const Adapter& adapter, Deadline deadline);

/// A datagram that a fault rule lets wait until the next one has been sent: a copy, as the memory
/// is the program's again when the request completes.
struct HeldDatagram {
    bool is_full = false;
    SendWork work;
    AddressVector address;
    Segment segment;
    std::uint8_t payload[kDatagramMtu];
};

/// The sending half of a datagram queue pair. Used under the queue pair's send_lock.
class DatagramSender {
  public:
    explicit DatagramSender(QueuePair& qp) : qp_(qp), targets_(qp), groups_(qp) {}

    /// Carries out one request. @return done, or Progress::kUnresolved when it has to wait until
    /// its destination has been found.
    Outcome send(const SendWork& work);
    /// @param port PortId::index() of the port that the queue pair was given in INIT.
    /// @param has_detour whether the port has no link, or a fault rule concerns the queue pair.
    void note_port(std::uint8_t port, bool has_detour);
    DatagramTargets& targets() { return targets_; }
    MulticastGroups& groups() { return groups_; }
    /// Gives up waiting for look-ups.
    void stop_waiting();
    /// Takes the room for a datagram that a fault rule holds back, if it has none, or gives it away
    /// if none is offered.
    void exchange_room(std::unique_ptr<HeldDatagram>& room) {
        if (!held_ != !room) held_.swap(room);
    }
    /// Loses the datagram that is held back.
    void drop_held() {
        if (held_) held_->is_full = false;
    }

  private:
    static constexpr std::uint8_t kNowhere = 0xff;
    // -- faulted_requests.cpp. The queue pair's send_lock_ is held, which the analysis cannot know.
    std::optional<Outcome> detour(const SendWork& work) NO_THREAD_SAFETY_ANALYSIS;
    std::optional<Outcome> by_rule(const faults::Rule& rule,
                                   const SendWork& work) NO_THREAD_SAFETY_ANALYSIS;
    Outcome send_past_rules(const SendWork& work);
    Outcome hold(const SendWork& work);
    Outcome send_both(const SendWork& work, const std::optional<Outcome>& instead);
    bool plan(const SendWork& work);
    bool fetch(const SendWork& work);
    Outcome send_to(std::uint32_t qp_num, const SendWork& work);
    Outcome send_to_group(const SendWork& work);
    bool are_found(const std::vector<std::uint32_t>& qp_nums);
    void deliver(DatagramTarget& target, const SendWork& work);
    bool may_enter(DatagramTarget& target, const SendWork& work) const;
    struct Taken {
        std::uint32_t slot = 0;
        ibv_wc_status status = IBV_WC_SUCCESS;
    };
    static bool take_receive(const Target& target, std::uint64_t length, Taken& taken);
    static bool take_shared(const Target& target, std::uint64_t length, Taken& taken);
    static ibv_wc_status check_receive(const Target& target, ReceiveSlot& receive,
                                       std::uint64_t length);
    void write_header(ibv_grh& header, const SendWork& work) const;
    void write(DatagramSlot& slot, const SendWork& work) const;
    void publish(DatagramTarget& to, std::uint32_t slot, ibv_wc_status status,
                 const SendWork& work) const;

    std::uint8_t port_ = kNowhere;
    std::uint8_t open_port_ = kNowhere;  ///< port_, or nothing while each message takes the detour
    QueuePair& qp_;
    DatagramTargets targets_;
    Plan plan_;  ///< what the current request sends; no remote ranges
    MulticastGroups groups_;
    std::unique_ptr<HeldDatagram> held_;  ///< nullptr unless a fault rule may need it
};

}  // namespace softverbs
