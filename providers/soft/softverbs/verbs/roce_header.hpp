// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The first 40 bytes of a datagram that has a global route header. On InfiniBand and RoCE v1, and
/// on RoCE v2 between IPv6 addresses, it has the form of an IPv6 header. On RoCE v2 between IPv4
/// addresses, the last 20 bytes are an IPv4 header.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/verbs/address_handle.hpp"

namespace softverbs {

inline constexpr std::uint32_t kFlowLabelBits = 0xfffff;
/// Values of ibv_grh::next_hdr: a transport header of InfiniBand, or UDP.
inline constexpr std::uint8_t kNextIsTransport = 0x1b;
inline constexpr std::uint8_t kNextIsUdp = 17;

/// @return the first word of a global route header, which is that of an IPv6 header.
std::uint32_t header_word(const ibv_global_route& route);

/// @return what adapters report in ibv_wc::sl of a datagram on RoCE, and UCX evaluates: bit 3 for a
/// header of UDP; then 0 for a global route header, 1 for IPv6, 2 for IPv4.
std::uint8_t kind_of_packet(const ibv_global_route& route);

/// Writes the header of a datagram that is sent from the port `to.own_port` and its GID of RoCE
/// with the index `to.sgid_index`. @param length of what follows the header, without a header of
/// UDP.
void write_roce_header(ibv_grh& header, const AddressVector& to, const Process& process,
                       std::uint16_t length);

/// Reads a header that write_roce_header() or a peer wrote, as a route back to the sender.
/// @param mine the GID that the datagram was sent to. @return whether it is a header of a datagram
/// to one queue pair.
bool read_roce_header(const ibv_grh& header, ibv_global_route& back, union ibv_gid& mine,
                      ibv_gid_type& type);

}  // namespace softverbs
