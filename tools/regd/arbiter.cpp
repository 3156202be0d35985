// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/arbiter.hpp"

#include <algorithm>

namespace regd_tool {
namespace {

/// Time for another process of the same user to take over the lease, and with it the reporting,
/// after a process has died, and for a report to arrive.
constexpr Time kPatience = 3'000'000'000;
/// Users choose their own grace, but others do not wait longer than this for their share.
constexpr Time kLongestGrace = 10'000'000'000;

using Numbers = std::vector<std::uint64_t>;

/// A member of Amount: entries or bytes.
using Part = std::uint64_t Amount::*;

/// @return what a user may be using: the use reported, and what the user may still believe to be
/// granted.
std::uint64_t believed(const User& user, Part part, std::uint64_t capacity) {
    const std::uint64_t obeyed =
        user.client == 0 ? 0 : std::min(user.report.budget.*part, capacity);
    const std::uint64_t told = user.told && user.client != 0 ? user.budget.*part : 0;
    return std::max({user.report.used.*part, obeyed, told});
}

/// @return what counts as used by a user; for one who is late in coming down, no more than the
/// budget.
std::uint64_t counted(const User& user, Part part, std::uint64_t capacity, Time time) {
    const std::uint64_t all = believed(user, part, capacity);
    const bool is_late = user.due != 0 && user.due <= time;
    return is_late ? std::min(all, user.budget.*part) : all;
}

/// @return the time by which a user who has just been sent a budget must be down to it; 0: no need
/// to.
Time due_of(const User& user, const Amount& capacity, Time time) {
    const bool is_above =
        believed(user, &Amount::entries, capacity.entries) > user.budget.entries ||
        (capacity.bytes != 0 && believed(user, &Amount::bytes, capacity.bytes) > user.budget.bytes);
    if (!is_above) return 0;
    if (user.due != 0) return user.due;
    return time + std::min<Time>(user.report.grace, kLongestGrace) + kPatience;
}

/// @return new budgets of entries or of bytes. None shrinks below its target, and none grows beyond
/// what is free.
Numbers budgets(const Adapter& adapter, const Rules& rules, Part part, Time time) {
    const std::uint64_t capacity = adapter.capacity.*part;
    Numbers wanted, targets, result;
    std::vector<std::uint32_t> weights;
    std::uint64_t all = 0;
    for (const User& user : adapter.users) {
        const std::uint64_t asks = user.report.used.*part + user.report.wanted.*part;
        // A user who has gone keeps what was in use, and gets no more.
        wanted.push_back(user.client == 0 ? user.report.used.*part : std::min(asks, capacity));
        weights.push_back(rules.weight_of(user.id));
        all += counted(user, part, capacity, time);
    }
    targets = share_out(capacity, wanted, weights);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const std::uint64_t own = counted(adapter.users[i], part, capacity, time);
        const std::uint64_t others = all - own;
        const std::uint64_t free = capacity > others ? capacity - others : 0;
        const std::uint64_t present = adapter.users[i].told ? adapter.users[i].budget.*part : 0;
        result.push_back(std::min(targets[i], std::max(present, free)));
        // Entries that are granted here are not free for the users that follow.
        all = others + std::max(result[i], own);
    }
    return result;
}

/// Gives the rest to those who want more, or to all if nobody does; nothing is lost.
void share_rest(std::uint64_t capacity, const std::vector<std::uint32_t>& weights,
                const std::vector<bool>& served, Numbers& given) {
    const bool all_have = std::all_of(served.begin(), served.end(), [](bool one) { return one; });
    std::uint64_t shares = 0, rest = capacity;
    for (std::size_t i = 0; i < given.size(); ++i)
        shares += all_have || !served[i] ? weights[i] : 0;
    if (shares == 0) return;
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (!all_have && served[i]) continue;
        const auto part = static_cast<std::uint64_t>(static_cast<unsigned __int128>(capacity) *
                                                     weights[i] / shares);
        given[i] += part;
        rest -= part;
    }
    for (std::size_t i = 0; i < given.size() && rest != 0; ++i) {
        if (!all_have && served[i]) continue;
        ++given[i];
        --rest;
    }
}

}  // namespace

std::vector<std::uint64_t> share_out(std::uint64_t capacity, const Numbers& wanted,
                                     const std::vector<std::uint32_t>& weights) {
    Numbers given(wanted.size());
    std::vector<bool> served(wanted.size());
    // Users who want less than their part get what they want; the others share the remainder.
    for (bool again = true; again;) {
        again = false;
        std::uint64_t shares = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) shares += served[i] ? 0 : weights[i];
        const std::uint64_t left = capacity;
        for (std::size_t i = 0; i < wanted.size() && shares != 0; ++i) {
            const auto part = static_cast<std::uint64_t>(static_cast<unsigned __int128>(left) *
                                                         weights[i] / shares);
            if (served[i] || wanted[i] > part) continue;
            given[i] = wanted[i];
            capacity -= wanted[i];
            served[i] = again = true;
        }
    }
    share_rest(capacity, weights, served, given);
    return given;
}

User* Arbiter::find(Adapter& adapter, uid_t user) {
    for (User& one : adapter.users)
        if (one.id == user) return &one;
    return nullptr;
}

long Arbiter::count_adapters(uid_t user) const {
    return std::count_if(adapters_.begin(), adapters_.end(), [user](const auto& named) {
        const auto& users = named.second.users;
        return std::any_of(users.begin(), users.end(),
                           [user](const User& one) { return one.id == user; });
    });
}

std::uint64_t Arbiter::entries_of(const std::string& adapter) const {
    if (rules_.capacity.entries != 0) return rules_.capacity.entries;
    return rules_.entries_of ? rules_.entries_of(adapter) : 0;
}

std::vector<Arbiter::Order> Arbiter::balance(const std::string& name, Adapter& adapter,
                                             Time time) const {
    const Numbers entries = budgets(adapter, rules_, &Amount::entries, time);
    const Numbers bytes = adapter.capacity.bytes == 0
                              ? Numbers(adapter.users.size(), kUnlimited)
                              : budgets(adapter, rules_, &Amount::bytes, time);
    std::vector<Order> orders;
    for (std::size_t i = 0; i < adapter.users.size(); ++i) {
        User& user = adapter.users[i];
        const Amount budget{entries[i], bytes[i]};
        if (user.client == 0) continue;
        const bool is_news = !user.told || user.budget != budget;
        user.budget = budget;
        user.told = true;
        user.due = due_of(user, adapter.capacity, time);
        if (!is_news) continue;
        adapter.recalls += budget.entries < user.report.used.entries;
        Message message = dapl::memory::regd::make(Kind::kBudget, name);
        message.capacity = adapter.capacity;
        message.budget = budget;
        message.grace = user.report.grace;
        orders.push_back({user.client, message});
    }
    return orders;
}

std::vector<Arbiter::Order> Arbiter::report(std::uint64_t client, uid_t user, pid_t process,
                                            const Message& message, Time time) {
    const std::string name = message.adapter;
    const auto found = adapters_.find(name);
    User* known = found == adapters_.end() ? nullptr : find(found->second, user);
    // Each user has a separate limit, so that one user's invented names do not keep others out.
    if (!known && count_adapters(user) >= rules_.adapters_per_user) return {};
    // Invented capacities do not either: a client's own limit applies only to its own table.
    const Amount capacity =
        known ? found->second.capacity : Amount{entries_of(name), rules_.capacity.bytes};
    if (capacity.entries == 0) return {};
    Adapter& adapter = adapters_[name];
    adapter.capacity = capacity;
    if (!known) known = &adapter.users.emplace_back();
    if (known->client != client) known->told = false;
    known->id = user;
    known->process = process;
    known->client = client;
    known->report = message;
    return balance(name, adapter, time);
}

void Arbiter::leave(std::uint64_t client, Time time) {
    for (auto& [name, adapter] : adapters_)
        for (User& user : adapter.users)
            if (user.client == client) {
                user.client = 0;
                user.told = false;
                user.forgotten_at = time + kPatience;
            }
}

std::vector<Arbiter::Order> Arbiter::pass(Time time) {
    std::vector<Order> orders;
    for (auto it = adapters_.begin(); it != adapters_.end();) {
        auto& [name, adapter] = *it;
        const std::size_t gone = std::erase_if(adapter.users, [&](const User& user) {
            return user.client == 0 && user.forgotten_at <= time;
        });
        const bool has_late =
            std::any_of(adapter.users.begin(), adapter.users.end(),
                        [time](const User& user) { return user.due != 0 && user.due <= time; });
        if (gone != 0 || has_late)
            for (Order& order : balance(name, adapter, time)) orders.push_back(order);
        it = adapter.users.empty() ? adapters_.erase(it) : std::next(it);
    }
    return orders;
}

}  // namespace regd_tool
