// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The 128 bytes that a dtest server sends over the TCP side channel: its address and provider, as
/// text that every dtest understands (`LID:QPN:SCOPE:IPV4:PROVIDER`, hexadecimal); and after the
/// text, where other dtests do not read, the options that both sides must share and an IPv6
/// address.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace dtest {

constexpr std::size_t kRecordSize = 128;
/// The longest provider name that every dtest can hold.
constexpr std::size_t kMaxProviderName = 63;
using RecordBytes = std::array<char, kRecordSize>;

/// The parameters of the sequence of transfers, which must be the same on both sides.
struct Terms {
    std::uint32_t modes = 0;  ///< kOneWay | ... (below)
    std::uint32_t size = 0;
    std::uint32_t burst = 0;
    std::uint32_t increment = 0;

    static constexpr std::uint32_t kOneWay = 1, kWriteOnly = 2, kWritePingPong = 4, kAllSizes = 8;
    /// The server is a dtest_ext: `burst` counts its datagram endpoints, `increment` its rounds.
    static constexpr std::uint32_t kExtensions = 16, kDatagrams = 32, kManyServers = 64;

    bool operator==(const Terms&) const = default;
    /// @return the options that give these terms, for messages.
    std::string options() const;
};

struct Record {
    std::uint16_t lid = 0;  ///< this and the next three are in network order
    std::uint32_t qpn = 0;
    std::uint32_t scope = 0;
    std::uint32_t ipv4 = 0;
    std::string provider;
    std::optional<Terms> terms;  ///< absent when the server is not a dtest of this kind
    in6_addr ipv6{};             ///< all zero if there is none; a GID if there are LID and QPN

    bool has_ib_form() const { return lid != 0 && qpn != 0; }
    bool has_ipv6() const { return !IN6_IS_ADDR_UNSPECIFIED(&ipv6); }
    /// @return the address to connect to. A link-local one has no scope ID, since the number of the
    /// server's interface means nothing here.
    sockaddr_storage address() const;
};

/// @throws Failure if the provider's name is too long: more than 63 bytes, or 55 with an IPv6
/// address.
RecordBytes encode_record(const Record& record);
/// Checks every byte, since they come from a peer. @throws Failure on anything unexpected.
Record decode_record(const RecordBytes& bytes);
/// @return the record for a server at `address`. @throws Failure for an address of another family.
Record record_for(const sockaddr* address, const std::string& provider, const Terms& terms);

}  // namespace dtest
