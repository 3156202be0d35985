// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Chooses the entry of a port's GID table that a queue pair uses as its source. The choice is a
/// value; it is reported elsewhere.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace verbs {

enum class GidReason {
    kSetting,      ///< the user named the index
    kOnPeersLink,  ///< entry 0, as the peer is on the link of its interface
    kLikePeer,     ///< the best of the entries with the peer's kind of address
    kBest,         ///< RoCE v2 before v1, routable before link-local, then the lowest index
    kPort,         ///< not RoCE: the port's own GID, the first entry
    kBoundAddress  ///< the entry of the address to which rdma_cm is bound
};

struct GidChoice {
    std::uint32_t index;
    ibv_gid gid;
    ibv_gid_type type;
    GidReason reason;
};

struct NoGid {
    enum class Cause { kUnreadable, kEmpty, kUnusedIndex };
    Cause cause;
    int error;                        ///< an errno value, for kUnreadable
    std::vector<std::uint32_t> used;  ///< the indices that have an entry, ascending
};

using GidTable = std::vector<ibv_gid_entry>;

/// @return the entries of all ports, or an errno value.
tl::expected<GidTable, int> read_gid_table(ibv_context* context);

/// The facts known about a peer. The reference always uses entry 0 of its table, whoever its peer
/// is. These facts make it reachable: RoCE connects only addresses of the same kind, and link-local
/// ones only on the same link.
struct GidPeer {
    const ibv_gid* gid = nullptr;  ///< nullptr while it is not known
    bool on_first_link = false;    ///< the link of entry 0's interface leads to the peer
};

/// @param wanted the index that the user demands, if any.
tl::expected<GidChoice, NoGid> choose_gid(const GidTable& table, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted, const GidPeer& peer);
/// Chooses from the current table, which it reads by system calls.
tl::expected<GidChoice, NoGid> choose_gid(ibv_context* context, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted, const GidPeer& peer);

/// @return the index of the network interface of entry 0 of a port; 0 if there is none.
unsigned first_interface(const GidTable& table, std::uint8_t port);

/// @return the entry of an address that is already chosen, RoCE v2 before v1; nothing if the table
/// has none.
std::optional<GidChoice> find_gid(const GidTable& table, std::uint8_t port, const ibv_gid& gid);

struct RankedGid {
    GidChoice entry;  ///< its reason is meaningful for the chosen entry only
    bool chosen;
    std::string why_not;  ///< "" for the chosen entry
};

/// The port's entries in the order in which choose_gid() prefers them, the chosen one first.
/// @param chosen the result of choose_gid() or find_gid(), if any.
std::vector<RankedGid> rank_gids(const GidTable& table, std::uint8_t port,
                                 const std::optional<GidChoice>& chosen);

const char* to_text(ibv_gid_type type);
const char* to_text(GidReason reason);
/// @return the GID as an IPv6 address.
std::string to_text(const ibv_gid& gid);

}  // namespace verbs
