// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/roce_header.hpp"

#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>

#include <cstring>

namespace softverbs {
namespace {

constexpr std::uint32_t kVersion6 = 6;
constexpr unsigned kIpv4Words = 5;
constexpr std::size_t kIpv4At = sizeof(ibv_grh) - sizeof(iphdr);
constexpr std::uint16_t kUdpHeader = 8;
constexpr std::uint16_t kDoNotFragment = 0x4000;
static_assert(sizeof(iphdr) == kIpv4Words * 4);

/// The Internet checksum (RFC 1071), as it stands in memory. It is 0 for a header that contains its
/// own.
std::uint16_t checksum_of(const iphdr& header) {
    std::uint16_t words[sizeof header / 2];
    std::memcpy(words, &header, sizeof header);
    std::uint32_t sum = 0;
    for (const std::uint16_t word : words) sum += word;
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~(sum + (sum >> 16)));
}

std::uint32_t ipv4_in(const union ibv_gid& gid) {
    std::uint32_t ipv4;
    std::memcpy(&ipv4, gid.raw + 12, sizeof ipv4);
    return ipv4;
}

union ibv_gid gid_with(std::uint32_t ipv4) {
    union ibv_gid gid {};
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, &ipv4, sizeof ipv4);
    return gid;
}

void write_ipv4(ibv_grh& header, const AddressVector& to, const union ibv_gid& from,
                std::uint16_t length) {
    iphdr ip{};
    ip.version = 4;
    ip.ihl = kIpv4Words;
    ip.tos = static_cast<std::uint8_t>(be32toh(to.version_tclass_flow) >> 20);
    ip.tot_len = htobe16(static_cast<std::uint16_t>(sizeof ip + length));
    ip.frag_off = htobe16(kDoNotFragment);
    ip.ttl = to.hop_limit;
    ip.protocol = kNextIsUdp;
    ip.saddr = ipv4_in(from);
    ip.daddr = ipv4_in(to.dgid);
    ip.check = checksum_of(ip);
    header = {};
    std::memcpy(reinterpret_cast<std::uint8_t*>(&header) + kIpv4At, &ip, sizeof ip);
}

bool read_ipv4(const iphdr& ip, ibv_global_route& back, union ibv_gid& mine) {
    if (IN_MULTICAST(be32toh(ip.daddr))) return false;
    back.dgid = gid_with(ip.saddr);
    back.traffic_class = ip.tos;
    back.hop_limit = ip.ttl;
    mine = gid_with(ip.daddr);
    return true;
}

bool read_ipv6(const ibv_grh& header, ibv_global_route& back, union ibv_gid& mine) {
    const std::uint32_t word = be32toh(header.version_tclass_flow);
    if (word >> 28 != kVersion6 || is_group(header.dgid)) return false;
    back.dgid = header.sgid;
    back.flow_label = word & kFlowLabelBits;
    back.traffic_class = static_cast<std::uint8_t>(word >> 20);
    back.hop_limit = header.hop_limit;
    mine = header.dgid;
    return true;
}

}  // namespace

std::uint32_t header_word(const ibv_global_route& route) {
    return htobe32(kVersion6 << 28 | std::uint32_t{route.traffic_class} << 20 |
                   (route.flow_label & kFlowLabelBits));
}

std::uint8_t kind_of_packet(const ibv_global_route& route) {
    constexpr std::uint8_t kHasUdp = 8, kIsIpv6 = 1, kIsIpv4 = 2;
    if (gid_type_at(route.sgid_index) == IBV_GID_TYPE_ROCE_V1) return 0;
    const bool is_ipv4 = route.sgid_index >= kMappedGid && is_mapped(route.dgid);
    return kHasUdp | (is_ipv4 ? kIsIpv4 : kIsIpv6);
}

void write_roce_header(ibv_grh& header, const AddressVector& to, const Process& process,
                       std::uint16_t length) {
    const union ibv_gid from = gid_of(process, PortId::at(to.own_port), to.sgid_index);
    const bool is_v2 = gid_type_at(to.sgid_index) == IBV_GID_TYPE_ROCE_V2;
    if (is_v2) length = static_cast<std::uint16_t>(length + kUdpHeader);
    if (is_v2 && is_mapped(to.dgid) && is_mapped(from)) return write_ipv4(header, to, from, length);
    header.version_tclass_flow = to.version_tclass_flow;
    header.paylen = htobe16(length);
    header.next_hdr = is_v2 ? kNextIsUdp : kNextIsTransport;
    header.hop_limit = to.hop_limit;
    header.sgid = from;
    header.dgid = to.dgid;
}

bool read_roce_header(const ibv_grh& header, ibv_global_route& back, union ibv_gid& mine,
                      ibv_gid_type& type) {
    iphdr ip;
    std::memcpy(&ip, reinterpret_cast<const std::uint8_t*>(&header) + kIpv4At, sizeof ip);
    type = IBV_GID_TYPE_ROCE_V2;
    if (ip.version == 4 && ip.ihl == kIpv4Words && checksum_of(ip) == 0)
        return read_ipv4(ip, back, mine);
    if (header.next_hdr != kNextIsUdp) type = IBV_GID_TYPE_ROCE_V1;
    return read_ipv6(header, back, mine);
}

}  // namespace softverbs
