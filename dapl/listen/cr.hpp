// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Connection request: a peer that waits for the consumer to accept or reject it. Lives from its
/// event until it is answered, even if its service point is freed before.
#pragma once

#include <array>
#include <memory>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl {

class Ep;
class Ia;

class Cr final : public Object<Cr>, public ListNode<Cr> {
  public:
    static constexpr Kind kKind = Kind::kCr;
    Cr(Ia& owner, DAT_CONN_QUAL qualifier, std::unique_ptr<cm::Connection> request,
       cm::PrivateData data) REQUIRES(connection_lock);

    Ia& ia;
    const DAT_CONN_QUAL conn_qual;  ///< the service point's, all 64 bits
    /// Destroying it unanswered refuses the peer.
    std::unique_ptr<cm::Connection> connection GUARDED_BY(connection_lock);
    /// The EP that came with the request: an RSP's, or one that the provider made; else nullptr.
    /// Not freed before the request is answered.
    Ep* ep GUARDED_BY(connection_lock) = nullptr;
    sockaddr_storage remote_address;
    std::array<std::byte, 256> private_data{};
    DAT_COUNT private_data_size;
};

/// Removes a CR from its IA's list and destroys it; an unanswered peer is refused.
void close(Cr& cr) REQUIRES(connection_lock);
/// Closes a CR that is not accepted. An RSP's EP belongs to the consumer again.
/// @return the EP that the provider made for the request, or nullptr. Its handle is revoked; the
/// caller ends it with destroy_ep() as soon as connection_lock is released.
[[nodiscard]] Ep* drop(Cr& cr) REQUIRES(connection_lock);
/// For dat_ia_close: refuses all peers that have not been answered.
void close_requests(Ia& ia) EXCLUDES(connection_lock);

}  // namespace dapl
