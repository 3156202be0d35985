// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/verbs/gid.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace verbs {
namespace {

enum class AddressKind { kIpv4Mapped, kLinkLocal, kRoutable };

AddressKind kind_of(const ibv_gid& gid) {
    in6_addr address;
    std::memcpy(&address, gid.raw, sizeof address);
    if (IN6_IS_ADDR_V4MAPPED(&address)) return AddressKind::kIpv4Mapped;
    return IN6_IS_ADDR_LINKLOCAL(&address) ? AddressKind::kLinkLocal : AddressKind::kRoutable;
}

bool is_roce(const ibv_gid_entry& entry) {
    return entry.gid_type != IBV_GID_TYPE_IB;
}

GidTable of_port(const GidTable& table, std::uint8_t port) {
    GidTable own;
    std::copy_if(table.begin(), table.end(), std::back_inserter(own),
                 [port](const ibv_gid_entry& entry) { return entry.port_num == port; });
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.gid_index < b.gid_index; });
    return own;
}

GidChoice chosen(const ibv_gid_entry& entry, GidReason reason) {
    return {entry.gid_index, entry.gid, static_cast<ibv_gid_type>(entry.gid_type), reason};
}

bool is_on_peers_link(const ibv_gid_entry& entry, const GidPeer& peer) {
    return is_roce(entry) && peer.on_first_link && entry.gid_index == 0;
}

/// @return a sort key, the smallest of which wins. InfiniBand's entries differ in their index
/// alone: the first one is the port's own.
auto rank(const ibv_gid_entry& entry, const GidPeer& peer) {
    const AddressKind kind = kind_of(entry.gid);
    const bool is_other_kind = is_roce(entry) && peer.gid && kind != kind_of(*peer.gid);
    return std::tuple(is_other_kind, !is_on_peers_link(entry, peer),
                      entry.gid_type == IBV_GID_TYPE_ROCE_V1,
                      is_roce(entry) && kind == AddressKind::kLinkLocal, entry.gid_index);
}

/// @return why `entry` ranks behind `best`: the first element in which their ranks differ.
const char* why_behind(const ibv_gid_entry& entry, const ibv_gid_entry& best) {
    const auto mine = rank(entry, {});
    const auto its = rank(best, {});
    if (std::get<2>(mine) != std::get<2>(its)) return "RoCE v2 comes before v1";
    if (std::get<3>(mine) != std::get<3>(its)) return "a routable address comes before link-local";
    return "the lower index comes first";
}

std::string why_not(const ibv_gid_entry& entry, const ibv_gid_entry& best, GidReason reason) {
    if (reason == GidReason::kSetting) return "DAPL_GID_INDEX selects another one";
    if (reason == GidReason::kBoundAddress &&
        std::memcmp(entry.gid.raw, best.gid.raw, sizeof best.gid.raw) != 0)
        return "it is not the IA's address";
    return why_behind(entry, best);
}

GidReason reason_for(const ibv_gid_entry& entry, const GidPeer& peer) {
    if (!is_roce(entry)) return GidReason::kPort;
    if (is_on_peers_link(entry, peer)) return GidReason::kOnPeersLink;
    const bool like_peer = peer.gid && kind_of(entry.gid) == kind_of(*peer.gid);
    return like_peer ? GidReason::kLikePeer : GidReason::kBest;
}

}  // namespace

tl::expected<GidTable, int> read_gid_table(ibv_context* context) {
    ibv_device_attr device;
    if (const int error = ibv_query_device(context, &device)) return tl::unexpected(error);
    std::size_t room = 0;
    for (int number = 1; number <= device.phys_port_cnt; ++number) {
        ibv_port_attr port;
        if (const int error = ibv_query_port(context, static_cast<std::uint8_t>(number), &port))
            return tl::unexpected(error);
        room += static_cast<std::size_t>(std::max(port.gid_tbl_len, 0));
    }
    GidTable table(room);
    if (room == 0) return table;
    const ssize_t count = ibv_query_gid_table(context, table.data(), room, 0);
    if (count < 0) return tl::unexpected(static_cast<int>(-count));
    table.resize(static_cast<std::size_t>(count));
    return table;
}

tl::expected<GidChoice, NoGid> choose_gid(const GidTable& table, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted,
                                          const GidPeer& peer) {
    const GidTable own = of_port(table, port);
    NoGid none{NoGid::Cause::kEmpty, 0, {}};
    for (const ibv_gid_entry& entry : own) none.used.push_back(entry.gid_index);
    if (own.empty()) return tl::unexpected(none);
    if (!wanted) {
        const auto best = std::min_element(
            own.begin(), own.end(),
            [&](const auto& a, const auto& b) { return rank(a, peer) < rank(b, peer); });
        return chosen(*best, reason_for(*best, peer));
    }
    const auto named = std::find_if(own.begin(), own.end(), [&](const ibv_gid_entry& entry) {
        return entry.gid_index == *wanted;
    });
    if (named != own.end()) return chosen(*named, GidReason::kSetting);
    none.cause = NoGid::Cause::kUnusedIndex;
    return tl::unexpected(none);
}

tl::expected<GidChoice, NoGid> choose_gid(ibv_context* context, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted,
                                          const GidPeer& peer) {
    const auto table = read_gid_table(context);
    if (!table) return tl::unexpected(NoGid{NoGid::Cause::kUnreadable, table.error(), {}});
    return choose_gid(*table, port, wanted, peer);
}

std::optional<GidChoice> find_gid(const GidTable& table, std::uint8_t port, const ibv_gid& gid) {
    GidTable same = of_port(table, port);
    std::erase_if(same, [&](const ibv_gid_entry& entry) {
        return std::memcmp(entry.gid.raw, gid.raw, sizeof gid.raw) != 0;
    });
    const auto found = choose_gid(same, port, std::nullopt, {});
    if (!found) return std::nullopt;
    GidChoice choice = *found;
    choice.reason = GidReason::kBoundAddress;
    return choice;
}

unsigned first_interface(const GidTable& table, std::uint8_t port) {
    const GidTable own = of_port(table, port);
    return own.empty() || own.front().gid_index != 0 ? 0 : own.front().ndev_ifindex;
}

std::vector<RankedGid> rank_gids(const GidTable& table, std::uint8_t port,
                                 const std::optional<GidChoice>& chosen) {
    GidTable own = of_port(table, port);
    const auto is_chosen = [&](const ibv_gid_entry& entry) {
        return chosen && entry.gid_index == chosen->index;
    };
    std::sort(own.begin(), own.end(), [&](const auto& a, const auto& b) {
        return std::tuple(!is_chosen(a), rank(a, {})) < std::tuple(!is_chosen(b), rank(b, {}));
    });
    std::vector<RankedGid> ranked;
    for (const ibv_gid_entry& entry : own) {
        if (is_chosen(entry))
            ranked.push_back({*chosen, true, {}});
        else
            ranked.push_back(
                {verbs::chosen(entry, reason_for(entry, {})), false,
                 chosen ? why_not(entry, own.front(), chosen->reason) : "no entry was chosen"});
    }
    return ranked;
}

const char* to_text(ibv_gid_type type) {
    switch (type) {
        case IBV_GID_TYPE_IB:
            return "InfiniBand";
        case IBV_GID_TYPE_ROCE_V1:
            return "RoCE v1";
        case IBV_GID_TYPE_ROCE_V2:
            return "RoCE v2";
    }
    return "unknown type";
}

const char* to_text(GidReason reason) {
    switch (reason) {
        case GidReason::kSetting:
            return "selected by DAPL_GID_INDEX";
        case GidReason::kOnPeersLink:
            return "the first, because the peer is on its link";
        case GidReason::kLikePeer:
            return "an address of the peer's kind";
        case GidReason::kBest:
            return "RoCE v2 before v1, routable before link-local";
        case GidReason::kPort:
            return "the port's own";
        case GidReason::kBoundAddress:
            return "the IA's address";
    }
    return "";
}

std::string to_text(const ibv_gid& gid) {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    return text;
}

}  // namespace verbs
