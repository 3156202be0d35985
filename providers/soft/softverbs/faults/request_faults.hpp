// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The faults of one queue pair's requests.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "providers/soft/softverbs/faults/plan.hpp"

namespace softverbs::faults {

class RequestFaults {
  public:
    using Clock = std::chrono::steady_clock;

    struct Place {
        Type type;
        std::uint32_t device;
        std::uint32_t port;
        std::uint32_t queue_pair;  ///< its number in the process (Faults::count_queue_pair())
        std::uint32_t number;      ///< its QP number, for the log
        std::uint32_t service;     ///< the listener's port of its connection; 0: none
        bool receives;             ///< whether the rules for its receives are wanted, or the others
    };

    /// @param peer the process to which it is connected; nullptr: none yet, or each datagram has
    /// its own.
    /// @return nullptr when no rule concerns the queue pair.
    static std::unique_ptr<RequestFaults> make(std::shared_ptr<const Plan> plan, const Place& place,
                                               const Identity* peer);
    /// Goes on counting where the faults before these are, and keeps their last decision.
    void go_on(const RequestFaults& before);

    /// @param position of the request in its queue. A request that is tried again is not counted
    /// again.
    /// @param qp_num of the queue pair to which it goes.
    /// @param peer of a datagram, as for make().
    /// @return the rule that applies to the request, or nullptr.
    const Rule* of_request(Subject operation, std::uint64_t size, std::uint32_t position,
                           std::uint32_t qp_num, const Identity* peer = nullptr);
    /// Whether of_request() needs the process to which a datagram goes.
    bool needs_peer() const { return needs_peer_; }
    /// Whether a rule lets a datagram wait for the next one.
    bool reorders() const { return reorders_; }
    /// @return the errno value with which the next post fails, or 0.
    int of_post();
    /// The rule has been applied to the request at hand, and is not applied when that is tried
    /// again.
    void settle() { decided_ = nullptr; }
    /// The positions of the queue pair begin again.
    void reset() { is_decided_ = false; }

    // -- state of the rules that take time
    /// Not before then is the request at hand carried out.
    Clock::time_point release() const { return release_; }
    /// @return until when nobody answers, or is ready to receive; Clock::time_point::min() unless
    /// such a rule has been applied.
    Clock::time_point silent_until() const { return silent_until_; }
    /// Whether nobody answers now, or, to a datagram, this peer does not. Without such a rule it
    /// does not look at the clock.
    bool is_silent(const Identity* peer = nullptr) const {
        return silent_until_ != Clock::time_point::min() && Clock::now() < silent_until_ &&
               (!needs_peer_ || is_about(*silent_by_, peer));
    }
    Clock::time_point not_ready_until() const { return not_ready_until_; }

  private:
    RequestFaults(std::shared_ptr<const Plan> plan, const Place& place)
        : plan_(std::move(plan)), place_(place) {}
    void begin(const Rule& rule, std::uint64_t size);
    void log(const Trigger& trigger, std::uint32_t peer) const;

    std::shared_ptr<const Plan> plan_;
    Place place_;
    std::vector<Trigger> triggers_;
    bool needs_peer_ = false;
    bool reorders_ = false;
    bool is_decided_ = false;
    std::uint32_t position_ = 0;
    const Rule* decided_ = nullptr;
    Clock::time_point release_{};
    Clock::time_point free_{};  ///< when the bandwidth that is left has carried what came before
    const Rule* silent_by_ = nullptr;  ///< the rule that has set silent_until_
    Clock::time_point silent_until_ = Clock::time_point::min();
    Clock::time_point not_ready_until_ = Clock::time_point::min();
};

}  // namespace softverbs::faults
