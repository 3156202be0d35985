// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reserved service point: takes one request, for one EP.
#pragma once

#include "dapl/listen/reserved_ep.hpp"
#include "dapl/listen/service_point.hpp"

namespace dapl {

class Rsp final : public Object<Rsp>, public ServicePoint {
  public:
    static constexpr Kind kKind = Kind::kRsp;
    /// @param reserved see ReservedEp.
    Rsp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to, Ep& reserved);

    /// The first request takes the EP; peers that come later are rejected.
    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock);
    DAT_HANDLE self() const override { return handle(); }
    bool is_taking() const override REQUIRES(connection_lock) { return ep.get() != nullptr; }

    ReservedEp ep;
};

void end(Rsp& rsp) REQUIRES(connection_lock);

}  // namespace dapl
