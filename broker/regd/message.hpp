// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages between the holder of a table's lease and dat_regd, over a SOCK_SEQPACKET socket of
/// this machine. All have one size. The identity of the sender comes from SO_PEERCRED, never from a
/// message.
///
/// The holder reports what its user has and wants, and which budget it obeys; the daemon answers
/// with a budget whenever that has to change. A budget smaller than what is in use is a recall. A
/// client that asks for the status gets a row for each user and adapter that it may see, and an end
/// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "broker/adapter_name.hpp"

namespace dapl::memory::regd {

inline constexpr std::uint32_t kMagic = 0x52474401;  ///< the last byte is the version
/// Most bytes in an amount, so that sums over as many as there can be do not overflow. Larger
/// amounts are sent as this one.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 52;
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

enum class Kind : std::uint32_t { kReport = 1, kBudget, kStatus, kRow, kEnd };

struct Amount {
    std::uint64_t entries, bytes;
    friend bool operator==(const Amount&, const Amount&) = default;
};

struct Message {
    std::uint32_t magic;
    Kind kind;
    char adapter[kNameRoom];
    Amount capacity;  ///< unused in a report; bytes 0: no limit
    Amount used, wanted;
    /// In a report, the budget that is obeyed: kUnlimited before the first one has come.
    Amount budget;
    std::uint64_t grace;  ///< ns within which a recall is obeyed
    std::uint32_t user, weight;
    std::int32_t process;
    std::uint32_t connected;  ///< in a row: its process is connected
    friend bool operator==(const Message&, const Message&) = default;
};

Message make(Kind kind, const std::string& adapter = {});
/// @return nothing if this is no such message, or holds impossible values.
std::optional<Message> parse(const void* bytes, std::size_t size);

}  // namespace dapl::memory::regd
