// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which entry of a port's GID table a queue pair speaks from. The choice is a value; who makes a
/// message of it is somebody else.
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
    kLikePeer,     ///< the best of those that are addresses of the peer's kind
    kBest,         ///< RoCE v2 before v1, routable before link-local, then the lowest index
    kPort,         ///< no RoCE: the port's own identity, the first there is
    kBoundAddress  ///< the entry of an address that rdma_cm has bound to
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

/// The reference speaks from entry 0 of the table, whoever its peer is. The facts here let it be
/// reached: RoCE connects only addresses of one kind, link-local ones only on one link.
struct GidPeer {
    const ibv_gid* gid = nullptr;  ///< nullptr while it is not known
    bool on_first_link = false;    ///< the link of entry 0's interface leads to the peer
};

/// @param wanted the index that the user insists on, if any.
tl::expected<GidChoice, NoGid> choose_gid(const GidTable& table, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted, const GidPeer& peer);
/// The same, with the table as it is now. Reads it by system calls.
tl::expected<GidChoice, NoGid> choose_gid(ibv_context* context, std::uint8_t port,
                                          std::optional<std::uint32_t> wanted, const GidPeer& peer);

/// @return the index of the network interface behind entry 0 of a port; 0 where there is none.
unsigned first_interface(const GidTable& table, std::uint8_t port);

/// @return the entry of an address that is already chosen, RoCE v2 before v1; nothing where the
/// table has none.
std::optional<GidChoice> find_gid(const GidTable& table, std::uint8_t port, const ibv_gid& gid);

struct RankedGid {
    GidChoice entry;  ///< its reason means something where it was chosen
    bool chosen;
    std::string why_not;  ///< "" of the chosen one
};

/// The port's entries in the order in which choose_gid() prefers them, the chosen one first.
/// @param chosen what choose_gid() or find_gid() answered, if anything.
std::vector<RankedGid> rank_gids(const GidTable& table, std::uint8_t port,
                                 const std::optional<GidChoice>& chosen);

const char* to_text(ibv_gid_type type);
const char* to_text(GidReason reason);
/// As an IPv6 address.
std::string to_text(const ibv_gid& gid);

}  // namespace verbs
