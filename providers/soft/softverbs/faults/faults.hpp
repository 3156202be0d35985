// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The faults of this process: which rules are in force, for whoever makes objects and connections.
/// Rules come from the process's settings (SOFTVERBS_FAULTS) and from the fabric, whose file
/// `softverbs fault` changes while programs run.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/soft/softverbs/faults/plan.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs::faults {

/// The name of the fabric's file of rules, and of its log, in the fabric's directory.
inline constexpr char kRulesFile[] = "faults";
inline constexpr char kLogFile[] = "faults.log";
/// The largest file of rules that is read, in bytes.
inline constexpr std::size_t kMostText = 1 << 20;

/// Names what a call, a message or an event belongs to.
struct About {
    std::uint16_t service = 0;                ///< the listener's port; 0: none
    const Identity* peer = nullptr;           ///< the process at the other end; nullptr: unknown
    std::optional<std::uint32_t> event = {};  ///< ibv_event_type of an asynchronous event
};

class Faults {
  public:
    /// Reads SOFTVERBS_FAULTS and its companions. Called before any other thread exists.
    /// @param fabric path of the fabric's directory.
    /// @return 0, or EINVAL for rules that are wrong, which has been reported.
    int open(const std::string& fabric);
    /// Reads the fabric's file again. Rules that are wrong are reported once, and those before them
    /// stay. Called by the service thread alone.
    /// @return whether the rules have changed.
    bool look_again() EXCLUDES(mutex_);

    /// @return nullptr when there are no rules for this process.
    std::shared_ptr<const Plan> plan() const EXCLUDES(mutex_);
    /// Counts what the process does: a call, a step or a message of rdma_cm. @return the rule that
    /// applies to it, or nullptr.
    std::shared_ptr<const Rule> of(Subject subject, const About& about = {}) {
        return has_rules_.load(std::memory_order_relaxed) ? look_up(subject, about) : nullptr;
    }
    /// Does the same for a call that makes an object. @return 0, or the errno value with which it
    /// fails.
    int refuse(Subject call) {
        const auto rule = of(call);
        return rule ? rule->error : 0;
    }
    /// @return the next queue pair's number in this process, from 1 on.
    std::uint32_t count_queue_pair() { return ++queue_pairs_; }

  private:
    std::shared_ptr<const Rule> look_up(Subject subject, const About& about) EXCLUDES(mutex_);
    std::string fabric_file() const { return fabric_ + '/' + kRulesFile; }
    std::string read_fabric_file() const;
    std::shared_ptr<const Plan> make_plan(const std::vector<Rule>& fabric_rules) const;
    void set(const std::vector<Rule>& fabric_rules) EXCLUDES(mutex_);

    std::string fabric_;
    std::vector<Rule> own_rules_;
    /// The fabric's file held this last, be it right or wrong; changed by open() and the service
    /// thread alone.
    std::string fabric_text_;
    std::chrono::steady_clock::time_point opened_;
    std::atomic<bool> has_rules_{false};  ///< triggers_ is not empty
    std::atomic<std::uint32_t> queue_pairs_{0};
    mutable support::Mutex mutex_;
    std::shared_ptr<const Plan> plan_ GUARDED_BY(mutex_);
    std::vector<Trigger> triggers_ GUARDED_BY(mutex_);  ///< of what is counted by process
};

}  // namespace softverbs::faults
