// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Decides how much of an adapter each of its users may use. Knows neither sockets nor the clock.
///
/// Each user gets the part that their weight entitles them to, as far as they want it; what others
/// leave is shared out in the same way. A budget grows only once others have come down: what a user
/// may still be using counts as used until the user has reported a lower use, or has had the time
/// to. What a user claims beyond that and does not give back is granted to others anyway: a report
/// cannot be verified.
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

/// Shares `capacity` among those who want something, by their weights. Nobody gets more than they
/// want, unless everybody has that: then the rest goes to all.
std::vector<std::uint64_t> share_out(std::uint64_t capacity,
                                     const std::vector<std::uint64_t>& wanted,
                                     const std::vector<std::uint32_t>& weights);

/// The administrator's settings.
struct Rules {
    Amount capacity{0, 0};  ///< of each adapter; 0: entries_of(), and no limit on bytes
    /// @return the entries of the device with this name; 0 if this machine has no such device,
    /// which is then not shared out.
    std::function<std::uint64_t(const std::string&)> entries_of;
    std::map<uid_t, std::uint32_t> weights;
    long adapters_per_user = 64;  ///< reports about more adapters are ignored
    std::uint32_t weight_of(uid_t user) const {
        const auto found = weights.find(user);
        return found == weights.end() ? 1 : found->second;
    }
};

struct User {
    uid_t id = 0;
    pid_t process = 0;
    std::uint64_t client = 0;  ///< the client that reports for this user; 0: none at present
    Time forgotten_at = 0;     ///< valid without a client
    Time due = 0;              ///< when the user must be down to the budget; 0: is already
    Message report{};          ///< the last report
    Amount budget{0, 0};       ///< the last budget sent
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
    /// @return the budgets that have changed.
    std::vector<Order> report(std::uint64_t client, uid_t user, pid_t process,
                              const Message& message, Time time);
    /// Called when a client is gone. Its user's amount stays counted for a moment, so that another
    /// client can take over.
    void leave(std::uint64_t client, Time time);
    /// Forgets users that have no client, and stops waiting for those that are late in coming down.
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
