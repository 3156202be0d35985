// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes what clients can send to dat_regd: any bytes, in any order, from clients that leave at
/// any time. Messages that pass the parser hold only valid values, and no budget exceeds what the
/// adapter has.
///
/// Input: steps. The lower three bits of a step's byte are the client's number; then 0x08: it
/// leaves; 0x10: time passes (with 0x80 a long time); 0x20: a good report in which the next bytes
/// (half the offset, value) change one; else the bytes of a message follow.
#include <cstdint>
#include <cstring>
#include <vector>

#include "test/fuzz/input.hpp"
#include "tools/regd/arbiter.hpp"

namespace {

using regd_tool::Arbiter;
using regd_tool::Kind;
using regd_tool::Message;
using test::Input;
using test::require;

/// A time longer than the arbiter's timeouts, and one shorter (ns).
constexpr std::uint64_t kLong = 100'000'000'000, kShort = 1'000'000;

Message good_report() {
    Message message = dapl::memory::regd::make(Kind::kReport, "adapter0");
    message.capacity = {16, 1 << 20};
    message.used = {4, 4096};
    message.wanted = {2, 2048};
    message.budget = {8, 1 << 19};
    message.grace = 1000;
    return message;
}

void check(const Arbiter& arbiter, const std::vector<Arbiter::Order>& orders) {
    for (const auto& order : orders) {
        const auto adapter = arbiter.adapters().find(order.budget.adapter);
        require(adapter != arbiter.adapters().end(), "the adapter is known");
        require(order.budget.budget.entries <= adapter->second.capacity.entries,
                "a budget is no more than there is");
        require(dapl::memory::regd::parse(&order.budget, sizeof order.budget).has_value(),
                "the daemon's own messages are taken");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    regd_tool::Rules rules;
    rules.entries_of = [](const std::string& adapter) { return adapter[0] == 'a' ? 16 : 0; };
    Arbiter arbiter(rules);
    std::uint64_t time = 0;
    while (!input.empty()) {
        const std::uint8_t step = input.byte();
        const std::uint64_t client = (step & 7) + 1;
        if (step & 0x08) {
            arbiter.leave(client, time);
            continue;
        }
        if (step & 0x10) {
            time += step & 0x80 ? kLong : kShort;
            check(arbiter, arbiter.pass(time));
            continue;
        }
        Message message = good_report();
        std::size_t length = sizeof message;
        if (step & 0x20) {
            const std::size_t offset = std::size_t{input.byte()} * 2;
            const std::uint8_t value = input.byte();
            if (offset < sizeof message) reinterpret_cast<std::uint8_t*>(&message)[offset] = value;
        } else {
            const auto bytes = input.bytes(sizeof message);
            std::memcpy(&message, bytes.data(), bytes.size());
            length = bytes.size();
        }
        const auto parsed = dapl::memory::regd::parse(&message, length);
        if (!parsed || parsed->kind != Kind::kReport) continue;
        require(std::strlen(parsed->adapter) < dapl::memory::kNameRoom, "names end");
        check(arbiter, arbiter.report(client, static_cast<uid_t>(client % 3), 1, *parsed, time));
    }
    return 0;
}
