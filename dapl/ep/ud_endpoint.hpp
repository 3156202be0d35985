// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a datagram endpoint (DAT_IB_SERVICE_TYPE_UD) has in place of a connection: any number of
/// exchanges with peers, and the address handles that came of them.
///
/// Its queue pair sends and receives from its creation on, and the EP is UNCONNECTED unless a
/// service point has it. That is why the functions of connected endpoints post nothing on it.
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

/// DAT_IB_SERVICE_TYPE_UD, an enumerator of another type.
inline constexpr auto kDatagramService = DAT_SERVICE_TYPE_EXTENSION_BASE;

/// An EP has one from its creation to its end, or none.
class UdEndpoint final {
  public:
    /// @param offered the manager's, which offers datagrams.
    UdEndpoint(Ep& ep, const cm::DatagramService& offered) : service(offered), ep_(ep) {}
    UdEndpoint(const UdEndpoint&) = delete;
    UdEndpoint& operator=(const UdEndpoint&) = delete;

    const cm::DatagramService service;

    /// As UdExchange; the EP is complete.
    DAT_RETURN connect(const sockaddr* peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    DAT_RETURN accept(std::unique_ptr<cm::Connection>& request, cm::PrivateData asked,
                      cm::PrivateData data) REQUIRES(connection_lock);
    /// @return whether peers are being told the number of the queue pair.
    bool is_exchanging() const REQUIRES(connection_lock);
    /// Forgets all exchanges, with the private data of their events.
    void forget_exchanges() REQUIRES(connection_lock) { exchanges_.clear(); }
    /// The same for one, which is over, by the number that its event gave. @return false where
    /// there is none.
    bool forget_exchange(std::uint64_t number) REQUIRES(connection_lock);

    /// @return an address handle of the EP's PZ, which lives until it or the EP is freed; nullptr,
    /// with errno, when the device refuses.
    ibv_ah* add_address(ibv_ah_attr& way) REQUIRES(connection_lock);
    /// @return false where it is no address handle of this EP.
    bool free_address(const ibv_ah* address) REQUIRES(connection_lock);
    /// Those of a PZ that the EP leaves; nothing sends to them any more.
    void free_addresses() REQUIRES(connection_lock) { addresses_.clear(); }

    /// A transfer or the queue pair has failed: if that stops the queue pair the consumer is told,
    /// once; dat_ep_reset gives the EP a new one.
    void failed() REQUIRES(connection_lock);
    bool is_broken() const REQUIRES(connection_lock) { return is_broken_; }
    /// There is a new queue pair.
    void renewed() REQUIRES(connection_lock) { is_broken_ = false; }

  private:
    Ep& ep_;
    bool is_broken_ GUARDED_BY(connection_lock) = false;
    std::uint64_t last_number_ GUARDED_BY(connection_lock) = 0;
    std::map<std::uint64_t, UdExchange> exchanges_ GUARDED_BY(connection_lock);
    std::unordered_map<const ibv_ah*, verbs::AddressHandle> addresses_ GUARDED_BY(connection_lock);
};

/// Moves a new queue pair to where it sends and receives. @return errno.
int start_datagrams(const cm::DatagramService& service, std::uint8_t port, ibv_qp* queue_pair);

}  // namespace dapl
