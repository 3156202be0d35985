// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Datagram endpoints (DAT_IB_SERVICE_TYPE_UD). In place of a connection they have any number of
/// exchanges with peers, and the address handles that result from them.
///
/// The queue pair sends and receives from its creation on, and the EP is UNCONNECTED unless a
/// service point has it. So the post functions of connected endpoints refuse requests on it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <unordered_map>

#include "dapl/base/dat.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/ep/ud_exchange.hpp"
#include "dapl/verbs/handles.hpp"

namespace dapl {

class Ep;

/// DAT_IB_SERVICE_TYPE_UD, which is an enumerator of another type.
inline constexpr auto kDatagramService = DAT_SERVICE_TYPE_EXTENSION_BASE;

/// An EP has one from its creation to its end, or has none.
class UdEndpoint final {
  public:
    /// @param offered the manager's datagram service.
    UdEndpoint(Ep& ep, const cm::DatagramService& offered) : service(offered), ep_(ep) {}
    UdEndpoint(const UdEndpoint&) = delete;
    UdEndpoint& operator=(const UdEndpoint&) = delete;

    const cm::DatagramService service;

    /// As in UdExchange. The EP is complete.
    DAT_RETURN connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    DAT_RETURN accept(std::unique_ptr<cm::Connection>& request, cm::PrivateData asked,
                      cm::PrivateData data) REQUIRES(connection_lock);
    /// Returns whether an exchange, which tells a peer the queue pair's number, is under way.
    bool is_exchanging() const REQUIRES(connection_lock);
    /// Discards all exchanges, with the private data of their events.
    void forget_exchanges() REQUIRES(connection_lock) { exchanges_.clear(); }
    /// Discards one finished exchange, by the number in its event. @return false if there is no
    /// such exchange.
    bool forget_exchange(std::uint64_t number) REQUIRES(connection_lock);

    /// Creates an address handle in the EP's PZ; it lives until it or the EP is freed or the EP
    /// changes its PZ. @return nullptr, with errno, if the device refuses.
    ibv_ah* add_address(ibv_ah_attr& way) REQUIRES(connection_lock);
    /// @return false if it is not an address handle of this EP.
    bool free_address(const ibv_ah* address) REQUIRES(connection_lock);
    /// Frees all address handles, when the EP leaves their PZ or is freed. No send uses them any
    /// more.
    void free_addresses() REQUIRES(connection_lock) { addresses_.clear(); }

    /// Handles the failure of a transfer or of the queue pair. If the queue pair has left RTS,
    /// posts one error event; dat_ep_reset then gives the EP a new queue pair.
    void failed() REQUIRES(connection_lock);
    bool is_broken() const REQUIRES(connection_lock) { return is_broken_; }
    /// Clears the failure: the EP has a new queue pair.
    void renewed() REQUIRES(connection_lock) { is_broken_ = false; }

  private:
    Ep& ep_;
    bool is_broken_ GUARDED_BY(connection_lock) = false;
    std::uint64_t last_number_ GUARDED_BY(connection_lock) = 0;
    std::map<std::uint64_t, UdExchange> exchanges_ GUARDED_BY(connection_lock);
    std::unordered_map<const ibv_ah*, verbs::AddressHandle> addresses_ GUARDED_BY(connection_lock);
};

/// Moves a new queue pair to RTS. @return errno.
int start_datagrams(const cm::DatagramService& service, std::uint8_t port, ibv_qp* queue_pair);

}  // namespace dapl
