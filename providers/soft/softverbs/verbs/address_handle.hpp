// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Address handles: the destinations of datagrams. A fabric has one LID and one GID, so an address
/// determines only whether the destination is in this fabric, and some header fields; the queue
/// pair number identifies the destination.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/verbs/context.hpp"

namespace softverbs {

/// The part of an address handle that a datagram needs. A queued datagram has its own copy, as the
/// handle may be destroyed before it is sent.
struct AddressVector {
    bool is_reachable;  ///< multicast or in this fabric; datagrams elsewhere are lost
    bool is_global;     ///< with a global route header
    std::uint8_t sl;
    std::uint8_t hop_limit;
    std::uint32_t version_tclass_flow;  ///< of the header, in network order
    union ibv_gid dgid;

    bool is_multicast() const { return is_global && dgid.raw[0] == 0xff; }
};

class AddressHandle : public ibv_ah {
  public:
    static AddressHandle& of(ibv_ah* ah) { return *static_cast<AddressHandle*>(ah); }
    /// @return nullptr with errno: EINVAL for a port or GID index that does not exist, ENOMEM.
    static AddressHandle* create(ProtectionDomain& pd, const ibv_ah_attr& attributes);
    static void destroy(AddressHandle* ah);

    const AddressVector& vector() const { return vector_; }

  private:
    AddressVector vector_{};
};

/// Whether the address has the LID or GID prefix of this fabric. Without this check a queue pair
/// number of another fabric would reach a different queue pair here.
bool is_in_fabric(Process& process, const ibv_ah_attr& address);

}  // namespace softverbs
