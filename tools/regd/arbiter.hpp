// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Who among the users of an adapter may use how much of it. Knows no sockets and no clock.
///
/// Each user has what his weight entitles him to, as far as he wants it; what others leave is
/// shared out in the same way. A budget that grows is only given once others have come down: what a
/// user may still be using counts as used until he has reported that he obeys less, or has had the
/// time to. What somebody claims beyond that and does not give back is lent out: a report cannot be
/// verified.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "broker/regd/message.hpp"

namespace regd_tool {

using dapl::memory::Time;
using dapl::memory::regd::Amount;
using dapl::memory::regd::Kind;
using dapl::memory::regd::kUnlimited;
using dapl::memory::regd::Message;

/// Shares `capacity` out among those who want something, by their weights; nobody gets more than he
/// wants, except where all have that: the rest goes to all.
std::vector<std::uint64_t> share_out(std::uint64_t capacity,
                                     const std::vector<std::uint64_t>& wanted,
                                     const std::vector<std::uint32_t>& weights);

/// What the administrator has said.
struct Rules {
    Amount capacity{0, 0};  ///< of each adapter; 0: entries_of(), and any number of bytes
    /// What the device with a name has; 0 where this machine has none, which is not shared out.
    std::function<std::uint64_t(const std::string&)> entries_of;
    std::map<uid_t, std::uint32_t> weights;
    long adapters_per_user = 64;  ///< reports of further ones are ignored
    std::uint32_t weight_of(uid_t user) const {
        const auto found = weights.find(user);
        return found == weights.end() ? 1 : found->second;
    }
};

struct User {
    uid_t id = 0;
    pid_t process = 0;
    std::uint64_t client = 0;  ///< who speaks for him; 0: nobody at present
    Time forgotten_at = 0;     ///< where nobody does
    Time due = 0;              ///< when he has come down to his budget; 0: he has
    Message report{};          ///< the last one
    Amount budget{0, 0};       ///< the last one that he was told
    bool told = false;
};

struct Adapter {
    Amount capacity{0, 0};
    std::vector<User> users;
    std::uint64_t recalls = 0;
};

class Arbiter {
  public:
    explicit Arbiter(Rules rules) : rules_(std::move(rules)) {}
    struct Order {
        std::uint64_t client;
        Message budget;
    };
    /// @return budgets that have changed.
    std::vector<Order> report(std::uint64_t client, uid_t user, pid_t process,
                              const Message& message, Time time);
    /// A client is gone. What its user has stays counted for a moment, for somebody else to speak
    /// for him.
    void leave(std::uint64_t client, Time time);
    /// Forgets those for whom nobody speaks, and waits no longer for those who do not come down.
    /// @return budgets that have changed.
    std::vector<Order> pass(Time time);
    const std::map<std::string, Adapter>& adapters() const { return adapters_; }
    const Rules& rules() const { return rules_; }

  private:
    std::vector<Order> balance(const std::string& name, Adapter& adapter, Time time) const;
    std::uint64_t entries_of(const std::string& adapter) const;
    User* find(Adapter& adapter, uid_t user);
    long count_adapters(uid_t user) const;

    const Rules rules_;
    std::map<std::string, Adapter> adapters_;
};

}  // namespace regd_tool
