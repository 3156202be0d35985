// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One dat_ep_connect or dat_cr_accept of a datagram endpoint: the two ends tell each other where
/// their queue pairs are. Nothing is connected by it.
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

/// All of it is guarded by connection_lock. Has one event, and keeps the private data of that until
/// it is destroyed; to destroy it before is to give up, without an event.
class UdExchange final : private cm::User, private cm::Timer {
  public:
    /// @param number by which the consumer knows it: the context of its event.
    UdExchange(Ep& ep, std::uint64_t number) : ep_(ep), number_(number) {}
    UdExchange(const UdExchange&) = delete;
    UdExchange& operator=(const UdExchange&) = delete;
    ~UdExchange() REQUIRES(connection_lock);

    /// Active side. A failure means that nothing was tried.
    /// @param peer AF_INET or AF_INET6. @param timeout microseconds.
    DAT_RETURN connect(const sockaddr_storage& peer, DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
                       cm::PrivateData data) REQUIRES(connection_lock);
    /// Passive side. Takes the request only where it succeeds.
    /// @param asked the request's own private data, which this side's event repeats: that is how
    /// its consumer knows whose address it is.
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
    std::array<std::byte, 256> private_data_{};  ///< what the event points at
    std::size_t private_data_size_ = 0;
    std::unique_ptr<cm::Connection> cm_;  ///< until the event thread has seen the end
};

}  // namespace dapl
