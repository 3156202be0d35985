// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reserved service point: takes one request, for one EP.
#pragma once

#include "dapl/listen/service_point.hpp"

namespace dapl {

class Rsp final : public Object<Rsp>, public ServicePoint {
  public:
    static constexpr Kind kKind = Kind::kRsp;
    /// @param reserved the EP, UNCONNECTED until reserve() moves it.
    Rsp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to, Ep& reserved);

    /// Moves the EP to RESERVED or UNCONFIGURED_RESERVED: it waits for a request from here on.
    void reserve() REQUIRES(connection_lock);
    /// The first request takes the EP; peers that come later are rejected.
    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock);
    bool is_taking() const override REQUIRES(connection_lock) { return ep_ != nullptr; }
    /// Returns an EP that still waits to the consumer.
    void release() REQUIRES(connection_lock);

    const DAT_EP_HANDLE ep_handle;  ///< for dat_rsp_query, even after a request has taken the EP

  private:
    Ep* ep_ GUARDED_BY(connection_lock);  ///< nullptr once a request has come
};

void end(Rsp& rsp) REQUIRES(connection_lock);

}  // namespace dapl
