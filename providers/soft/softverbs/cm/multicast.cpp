// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Multicast groups of identifiers. The fabric has no subnet administrator: an address determines
/// its group, and a join is answered at once.
#include <infiniband/ib.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "providers/soft/softverbs/cm/engine.hpp"
#include "providers/soft/softverbs/fabric/address.hpp"

namespace softverbs {
namespace {

constexpr std::uint32_t kGroupQp = 0xffffff;
constexpr std::uint16_t kFirstMulticastLid = 0xc000;
constexpr std::uint16_t kMulticastLids = 0x3fff;  ///< the last one, 0xffff, is the permissive LID

// Bytes of the GIDs that Linux forms from IP addresses: flags and scope, and the signature.
constexpr std::uint8_t kTransientOfTheLink = 0x12;
constexpr std::uint8_t kSignatureV4 = 0x40;
constexpr std::uint8_t kSignatureV6 = 0x60;
constexpr std::uint8_t kSignatureAssigned = 0xa0;
constexpr std::uint8_t kIpoib = 0x1b;
constexpr std::uint8_t kRdmaCm = 0x01;

std::optional<GroupAddress> group_address(const sockaddr* address) {
    if (address->sa_family == AF_IB) {
        sockaddr_ib raw;
        std::memcpy(&raw, address, sizeof raw);
        GroupAddress group{AF_IB, {}};
        std::memcpy(&group.address, &raw.sib_addr, sizeof group.address);
        return group;
    }
    const auto found = address_of(address);
    return found ? std::optional(GroupAddress{address->sa_family, *found}) : std::nullopt;
}

/// The head of a group's GID: its kind, and the P_Key of the only partition.
in6_addr group_head(std::uint8_t signature, std::uint8_t user) {
    return {{{0xff, kTransientOfTheLink, signature, user, 0xff, 0xff}}};
}

/// A program that joins the address "any" wants a group of its own.
in6_addr new_group() {
    in6_addr gid = group_head(kSignatureAssigned, kIpoib);
    constexpr std::size_t kRandom = 8;
    while (getrandom(&gid.s6_addr[sizeof gid - kRandom], kRandom, 0) != kRandom) continue;
    return gid;
}

/// Whether an IPv6 address is the GID of a group that a subnet administrator has assigned.
bool is_assigned(const in6_addr& address) {
    return address.s6_addr[0] == 0xff && (address.s6_addr[1] & 0xf0) == 0x10 &&
           address.s6_addr[2] == kSignatureAssigned && address.s6_addr[3] == kIpoib;
}

/// Maps an address to its group's GID as Linux does: on RoCE v2 the GID is the address.
in6_addr mgid_of(const GroupAddress& group, int port_space) {
    const in6_addr& from = group.address;
    if (is_any(from)) return new_group();
    if (group.family == AF_IB || is_assigned(from) || is_roce()) return from;
    const std::uint8_t user = port_space == RDMA_PS_UDP ? kRdmaCm : kIpoib;
    in6_addr gid = group_head(group.family == AF_INET ? kSignatureV4 : kSignatureV6, user);
    if (group.family == AF_INET) {
        std::copy(&from.s6_addr[12], &from.s6_addr[16], &gid.s6_addr[12]);
        gid.s6_addr[12] &= 0x0f;
    } else {
        std::copy(&from.s6_addr[6], &from.s6_addr[16], &gid.s6_addr[6]);
    }
    return gid;
}

/// Several groups may have one LID, as in a real subnet. RoCE has none.
std::uint16_t mlid_of(const in6_addr& mgid) {
    if (is_roce()) return 0;
    return static_cast<std::uint16_t>(kFirstMulticastLid +
                                      hash_of_destination(mgid, 0) % kMulticastLids);
}

Membership make_membership(const GroupAddress& address, int port_space, std::uint32_t flags,
                           void* context) {
    const in6_addr mgid = mgid_of(address, port_space);
    Membership membership;
    membership.address = address;
    std::memcpy(&membership.mgid, &mgid, sizeof mgid);
    membership.mlid = mlid_of(mgid);
    membership.receives = flags == RDMA_MC_JOIN_FLAG_FULLMEMBER;
    membership.context = context;
    return membership;
}

void describe(const Identifier& id, Membership& membership, Event& event) {
    event.membership = &membership;
    rdma_ud_param& group = event.public_part.param.ud;
    group.private_data = membership.context;
    group.ah_attr.is_global = 1;
    group.ah_attr.grh.dgid = membership.mgid;
    group.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_for(id.source));
    group.ah_attr.grh.hop_limit = 1;
    group.ah_attr.dlid = membership.mlid;
    group.ah_attr.port_num = id.public_part.port_num;
    group.qp_num = kGroupQp;
    group.qkey = kDatagramKey;
}

bool can_join(const Identifier& id) {
    return id.is_datagram() && id.public_part.verbs &&
           (id.state == State::kBound || id.state == State::kAddressResolved);
}

int join(Identifier& id, const sockaddr* address, std::uint32_t flags, void* context) {
    const auto group = address ? group_address(address) : std::nullopt;
    if (!group) return EINVAL;
    std::list<Membership> made{make_membership(*group, id.public_part.ps, flags, context)};
    Membership& membership = made.front();
    support::MutexLock lock(id.engine->mutex);
    if (!can_join(id)) return EINVAL;
    const bool is_group = softverbs::is_group(membership.mgid);
    Event& event = is_group ? id.engine->push(id, RDMA_CM_EVENT_MULTICAST_JOIN)
                            : id.engine->push(id, RDMA_CM_EVENT_MULTICAST_ERROR, -EINVAL);
    describe(id, membership, event);
    id.memberships.splice(id.memberships.end(), made);
    return 0;
}

/// rdma_join_multicast() and rdma_join_multicast_ex().
int join_by_call(Identifier& id, const sockaddr* address, std::uint32_t flags, void* context) {
    forget_event(id);
    const int error = join(id, address, flags, context);
    return error ? error : complete(id);
}

int check(const rdma_cm_join_mc_attr_ex& attributes) {
    constexpr std::uint32_t kNeeded =
        RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if ((attributes.comp_mask & ~kNeeded) != 0) return EOPNOTSUPP;
    const bool is_complete = attributes.comp_mask == kNeeded && attributes.addr;
    return is_complete && attributes.join_flags < RDMA_MC_JOIN_FLAG_RESERVED ? 0 : EINVAL;
}

void detach(Identifier& id, Membership& membership) {
    if (!membership.is_attached) return;
    membership.is_attached = false;
    ibv_detach_mcast(id.public_part.qp, &membership.mgid, membership.mlid);
}

/// Events of the group that wait are dropped; for those that are fetched it waits, since a thread
/// that fetches one attaches the queue pair.
int leave(Identifier& id, const sockaddr* address) {
    const auto group = address ? group_address(address) : std::nullopt;
    if (!group) return EINVAL;
    const auto is_it = [&](const Membership& one) {
        return one.address.family == group->family &&
               same_address(one.address.address, group->address);
    };
    std::list<Membership> left;
    {
        support::MutexLock lock(id.engine->mutex);
        const auto found = std::find_if(id.memberships.begin(), id.memberships.end(), is_it);
        if (found == id.memberships.end()) return EADDRNOTAVAIL;
        left.splice(left.end(), id.memberships, found);
        id.engine->drop_events(id, left.front());
    }
    detach(id, left.front());
    return 0;
}

}  // namespace

void attach_to_group(Identifier& id, Event& event) {
    Membership& membership = *event.membership;
    if (!id.public_part.qp || !membership.receives) return;
    const int error = ibv_attach_mcast(id.public_part.qp, &membership.mgid, membership.mlid);
    membership.is_attached = error == 0;
    if (error == 0) return;
    event.public_part.event = RDMA_CM_EVENT_MULTICAST_ERROR;
    event.public_part.status = -error;
}

void detach_from_groups(Identifier& id) {
    for (Membership& membership : id.memberships) detach(id, membership);
}

}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;
using softverbs::Identifier;

extern "C" {

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::join_by_call(Identifier::of(id), address, RDMA_MC_JOIN_FLAG_FULLMEMBER,
                                       context);
    });
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* context) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        if (!attributes) return EINVAL;
        if (const int error = softverbs::check(*attributes)) return error;
        return softverbs::join_by_call(Identifier::of(id), attributes->addr, attributes->join_flags,
                                       context);
    });
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        forget_event(Identifier::of(id));
        return softverbs::leave(Identifier::of(id), address);
    });
}

}  // extern "C"
