// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Address exchange of a datagram endpoint, for one dat_ep_connect or dat_cr_accept: the two ends
/// tell each other the addresses of their queue pairs. It connects nothing.
#pragma once

#include <dat2/dat_ib_extensions.h>

#include <array>
#include <cstdint>
#include <memory>

#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/lock.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl {

class Ep;

/// connection_lock guards all members. An exchange posts one event and keeps the event's private
/// data until it is destroyed. Destroying it before the event cancels it, without an event.
class UdExchange final : private cm::User, private cm::Timer {
  public:
    /// @param number identifies the exchange to the consumer: the context of its event.
    UdExchange(Ep& ep, std::uint64_t number) : ep_(ep), number_(number) {}
    UdExchange(const UdExchange&) = delete;
    UdExchange& operator=(const UdExchange&) = delete;
    ~UdExchange() REQUIRES(connection_lock);

    /// Starts the exchange at the active side. On failure nothing was sent.
    /// @param peer AF_INET or AF_INET6. @param timeout microseconds.
    DAT_RETURN connect(const sockaddr_storage& peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    /// Answers at the passive side. Takes the request only on success.
    /// @param asked private data of the request, repeated in this side's event so that its consumer
    /// knows whose address it is.
    DAT_RETURN accept(std::unique_ptr<cm::Connection>& request, cm::PrivateData asked,
                      cm::PrivateData data) REQUIRES(connection_lock);
    bool is_over() const REQUIRES(connection_lock) { return is_over_; }

  private:
    void report(cm::Outcome outcome, cm::PrivateData data) override REQUIRES(connection_lock);
    void expired() override REQUIRES(connection_lock);
    void established() REQUIRES(connection_lock);
    void refused(DAT_IB_EVENT_NUMBER number, DAT_IB_EXT_TYPE type) REQUIRES(connection_lock);
    void keep(cm::PrivateData data) REQUIRES(connection_lock);
    void finish(DAT_IB_EVENT_NUMBER number, const DAT_IB_EXTENSION_EVENT_DATA& extension)
        REQUIRES(connection_lock);

    Ep& ep_;
    const std::uint64_t number_;
    bool active_ = false;
    bool is_over_ = false;
    DAT_TIMEOUT timeout_ = DAT_TIMEOUT_INFINITE;
    Clock::time_point begun_{};
    sockaddr_storage peer_{};
    std::array<std::byte, 256> private_data_{};  ///< the event points to it
    std::size_t private_data_size_ = 0;
    std::unique_ptr<cm::Connection> cm_;  ///< destroyed by the event thread after the end
};

}  // namespace dapl
