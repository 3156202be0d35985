// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/arbiter.hpp"

#include <algorithm>

namespace regd_tool {
namespace {

/// For a process that takes the lease, and with it the word, when another one of its user has died.
constexpr Time kPatience = 3'000'000'000;

using Numbers = std::vector<std::uint64_t>;

/// One kind of an amount.
using Part = std::uint64_t Amount::*;

/// What a user may be using: what he has, and what he still believes that he may take.
std::uint64_t counted(const User& user, Part part, std::uint64_t capacity) {
    const std::uint64_t obeyed =
        user.client == 0 ? 0 : std::min(user.report.budget.*part, capacity);
    const std::uint64_t told = user.told && user.client != 0 ? user.budget.*part : 0;
    return std::max({user.report.used.*part, obeyed, told});
}

/// New budgets of one kind. None shrinks below its target, and none grows beyond what is free.
Numbers budgets(const Adapter& adapter, const Rules& rules, Part part) {
    const std::uint64_t capacity = adapter.capacity.*part;
    Numbers wanted, targets, result;
    std::vector<std::uint32_t> weights;
    std::uint64_t all = 0;
    for (const User& user : adapter.users) {
        const std::uint64_t asks = user.report.used.*part + user.report.wanted.*part;
        // One who has gone keeps what he has, and gets no more.
        wanted.push_back(user.client == 0 ? user.report.used.*part : std::min(asks, capacity));
        weights.push_back(rules.weight_of(user.id));
        all += counted(user, part, capacity);
    }
    targets = share_out(capacity, wanted, weights);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const std::uint64_t others = all - counted(adapter.users[i], part, capacity);
        const std::uint64_t free = capacity > others ? capacity - others : 0;
        const std::uint64_t present = adapter.users[i].told ? adapter.users[i].budget.*part : 0;
        result.push_back(std::min(targets[i], std::max(present, free)));
        // What is given here is not free for those behind.
        all = others + std::max(result[i], counted(adapter.users[i], part, capacity));
    }
    return result;
}

/// What is left goes to those who want more, or to all where nobody does; nothing of it is lost.
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
    // Whoever wants less than his part gets that, and the others share what he leaves.
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

std::vector<Arbiter::Order> Arbiter::balance(const std::string& name, Adapter& adapter) const {
    const Numbers entries = budgets(adapter, rules_, &Amount::entries);
    const Numbers bytes = adapter.capacity.bytes == 0 ? Numbers(adapter.users.size(), kUnlimited)
                                                      : budgets(adapter, rules_, &Amount::bytes);
    std::vector<Order> orders;
    for (std::size_t i = 0; i < adapter.users.size(); ++i) {
        User& user = adapter.users[i];
        const Amount budget{entries[i], bytes[i]};
        if (user.client == 0 || (user.told && user.budget == budget)) continue;
        adapter.recalls += budget.entries < user.report.used.entries;
        user.budget = budget;
        user.told = true;
        Message message = dapl::memory::regd::make(Kind::kBudget, name);
        message.capacity = adapter.capacity;
        message.budget = budget;
        message.grace = user.report.grace;
        orders.push_back({user.client, message});
    }
    return orders;
}

std::vector<Arbiter::Order> Arbiter::report(std::uint64_t client, uid_t user, pid_t process,
                                            const Message& message) {
    const std::string name = message.adapter;
    const auto found = adapters_.find(name);
    User* known = found == adapters_.end() ? nullptr : find(found->second, user);
    // Each user has a limit of his own: nobody's made-up names keep others out.
    if (!known && count_adapters(user) >= rules_.adapters_per_user) return {};
    Adapter& adapter = adapters_[name];
    if (adapter.users.empty())
        adapter.capacity = {
            rules_.capacity.entries != 0 ? rules_.capacity.entries : message.capacity.entries,
            rules_.capacity.bytes != 0 ? rules_.capacity.bytes : message.capacity.bytes};
    if (!known) known = &adapter.users.emplace_back();
    if (known->client != client) known->told = false;
    known->id = user;
    known->process = process;
    known->client = client;
    known->report = message;
    return balance(name, adapter);
}

void Arbiter::leave(std::uint64_t client, Time time) {
    for (auto& [name, adapter] : adapters_)
        for (User& user : adapter.users)
            if (user.client == client) {
                user.client = 0;
                user.told = false;
                user.forgotten_at = time + user.report.grace + kPatience;
            }
}

std::vector<Arbiter::Order> Arbiter::forget(Time time) {
    std::vector<Order> orders;
    for (auto it = adapters_.begin(); it != adapters_.end();) {
        auto& [name, adapter] = *it;
        const std::size_t gone = std::erase_if(adapter.users, [&](const User& user) {
            return user.client == 0 && user.forgotten_at <= time;
        });
        if (gone != 0)
            for (Order& order : balance(name, adapter)) orders.push_back(order);
        it = adapter.users.empty() ? adapters_.erase(it) : std::next(it);
    }
    return orders;
}

}  // namespace regd_tool
