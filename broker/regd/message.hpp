// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the holder of a table's lease and dat_regd say to each other, over a SOCK_SEQPACKET socket
/// of this machine: messages of one size. Who the other one is says SO_PEERCRED, never a message.
///
/// The holder reports what its user has and wants, and which budget it obeys; the daemon answers
/// with a budget whenever that has to change. A budget smaller than what is in use is a recall.
/// Whoever asks for the status gets a row for each user and adapter that he may see, and an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "broker/adapter_name.hpp"

namespace dapl::memory::regd {

inline constexpr std::uint32_t kMagic = 0x52474401;  ///< the last byte is the version
/// Of bytes: sums of as many as there can be do not overflow. Who has more says so much.
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
    Amount capacity;  ///< not of a report; bytes 0: no limit
    Amount used, wanted;
    /// Of a report: that is obeyed; kUnlimited before the first one came.
    Amount budget;
    std::uint64_t grace;  ///< ns within which a recall is obeyed
    std::uint32_t user, weight;
    std::int32_t process;
    std::uint32_t connected;  ///< of a row: its process can be told
    friend bool operator==(const Message&, const Message&) = default;
};

Message make(Kind kind, const std::string& adapter = {});
/// @return nothing for what is no such message, or says what cannot be.
std::optional<Message> parse(const void* bytes, std::size_t size);

}  // namespace dapl::memory::regd
