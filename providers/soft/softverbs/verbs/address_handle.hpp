// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Address handles: the destinations of datagrams. An address determines the port, and some header
/// fields; the queue pair number identifies the destination, which is reached at that port only.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/verbs/context.hpp"

namespace softverbs {

/// The part of an address handle that a datagram needs. A queued datagram has its own copy, as the
/// handle may be destroyed before it is sent.
struct AddressVector {
    std::uint32_t pd;       ///< number of the handle's protection domain
    std::uint8_t port;      ///< kAnyPort, kNoPort or the PortId::index() of the destination
    std::uint8_t own_port;  ///< PortId::index() of the sender's
    bool is_global;         ///< with a global route header
    std::uint8_t sl;        ///< the receiver's ibv_wc::sl; on RoCE a kind_of_packet()
    std::uint8_t hop_limit;
    std::uint8_t sgid_index;
    std::uint16_t mlid;                 ///< of a multicast group
    std::uint32_t version_tclass_flow;  ///< of the header, in network order
    union ibv_gid dgid;

    static constexpr std::uint8_t kAnyPort = 0xff;  ///< multicast
    static constexpr std::uint8_t kNoPort = 0xfe;   ///< of another fabric: datagrams are lost

    bool is_unicast() const { return port < kNoPort; }
    bool is_multicast() const { return port == kAnyPort; }
};

class AddressHandle : public ibv_ah {
  public:
    static AddressHandle& of(ibv_ah* ah) { return *static_cast<AddressHandle*>(ah); }
    /// @return nullptr with errno: EINVAL for a port or GID index that does not exist, or a path
    /// that the link cannot use; ENOMEM.
    static AddressHandle* create(ProtectionDomain& pd, const ibv_ah_attr& attributes);
    static void destroy(AddressHandle* ah);

    const AddressVector& vector() const { return vector_; }

  private:
    AddressVector vector_{};
};

}  // namespace softverbs
