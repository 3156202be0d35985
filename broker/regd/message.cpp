// SPDX-License-Identifier: BSD-2-Clause
#include "broker/regd/message.hpp"

#include <cstring>

namespace dapl::memory::regd {
namespace {

constexpr std::uint64_t kLongestGrace = 3'600'000'000'000;

bool is_budget(std::uint64_t number, std::uint64_t most) {
    return number <= most || number == kUnlimited;
}

bool has_adapter(const Message& message) {
    const std::size_t length = strnlen(message.adapter, kNameRoom);
    return length < kNameRoom && is_file_name(std::string(message.adapter, length));
}

bool is_plausible(const Message& message) {
    const auto small = [](const Amount& amount) {
        return amount.entries <= kMostEntries && amount.bytes <= kMostBytes;
    };
    const bool has_capacity = message.kind == Kind::kReport || message.capacity.entries != 0;
    return has_adapter(message) && has_capacity && small(message.capacity) && small(message.used) &&
           small(message.wanted) && message.grace <= kLongestGrace &&
           is_budget(message.budget.entries, kMostEntries) &&
           is_budget(message.budget.bytes, kMostBytes);
}

}  // namespace

Message make(Kind kind, const std::string& adapter) {
    Message message{};
    message.magic = kMagic;
    message.kind = kind;
    adapter.copy(message.adapter, kNameRoom - 1);
    return message;
}

std::optional<Message> parse(const void* bytes, std::size_t size) {
    Message message;
    if (size != sizeof message) return std::nullopt;
    std::memcpy(&message, bytes, sizeof message);
    if (message.magic != kMagic) return std::nullopt;
    switch (message.kind) {
        case Kind::kStatus:
        case Kind::kEnd:
            return message;
        case Kind::kReport:
        case Kind::kBudget:
        case Kind::kRow:
            if (is_plausible(message)) return message;
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace dapl::memory::regd
