// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Address handles: where datagrams go. A fabric has one LID and one GID, so an address says no
/// more than whether it is in this fabric, and what stands in the headers; the queue pair's number
/// finds the rest.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/verbs/context.hpp"

namespace softverbs {

/// What a datagram needs of its address handle, which may be gone before the datagram is sent.
struct AddressVector {
    bool is_reachable;  ///< in this fabric; what goes elsewhere is lost on its way
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
    /// @return nullptr with errno: EINVAL for a port or a GID index that is not there.
    static AddressHandle* create(ProtectionDomain& pd, const ibv_ah_attr& attributes);
    static void destroy(AddressHandle* ah);

    const AddressVector& vector() const { return vector_; }

  private:
    AddressVector vector_{};
};

/// A number from another fabric means somebody else here: LID and GID tell the fabrics apart.
bool is_in_fabric(Process& process, const ibv_ah_attr& address);

}  // namespace softverbs
