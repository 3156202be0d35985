// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Who among the users of an adapter may use how much of it. Knows no sockets and no clock.
///
/// Each user has what his weight entitles him to, as far as he wants it; what others leave is
/// shared out in the same way. A budget that grows is only given once others have come down: what a
/// user may still be using counts as used until he has reported that he obeys less.
#pragma once

#include <sys/types.h>

#include <cstdint>
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
    Amount capacity{0, 0};  ///< of each adapter; 0: what its first user says
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
                              const Message& message);
    /// A client is gone. What its user has stays counted until somebody else speaks for him, or for
    /// a while.
    void leave(std::uint64_t client, Time time);
    /// Those whom nobody has spoken for. @return budgets that have changed.
    std::vector<Order> forget(Time time);
    const std::map<std::string, Adapter>& adapters() const { return adapters_; }
    const Rules& rules() const { return rules_; }

  private:
    std::vector<Order> balance(const std::string& name, Adapter& adapter) const;
    User* find(Adapter& adapter, uid_t user);
    long count_adapters(uid_t user) const;

    const Rules rules_;
    std::map<std::string, Adapter> adapters_;
};

}  // namespace regd_tool
