// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Connection request: a peer waits for this consumer's answer. Lives from its event to the answer,
/// also when its service point is freed before.
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
    /// To destroy it unanswered is to send the peer away.
    std::unique_ptr<cm::Connection> connection GUARDED_BY(connection_lock);
    /// Came with the request: an RSP's or one that the provider made; nullptr otherwise. Not freed
    /// before the answer.
    Ep* ep GUARDED_BY(connection_lock) = nullptr;
    sockaddr_storage remote_address;
    std::array<std::byte, 256> private_data{};
    DAT_COUNT private_data_size;
};

/// Takes it off its IA's list and ends it; an unanswered peer is sent away.
void close(Cr& cr) REQUIRES(connection_lock);
/// The same for one that is not accepted. An RSP's EP is its consumer's again. @return the EP that
/// was made for it: no handle leads there any more, and it wants destroy_ep() as soon as
/// connection_lock is dropped; or nullptr.
[[nodiscard]] Ep* drop(Cr& cr) REQUIRES(connection_lock);
/// For dat_ia_close: sends everybody away who has not been answered.
void close_requests(Ia& ia) EXCLUDES(connection_lock);

}  // namespace dapl
