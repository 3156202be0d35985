// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Socket service point (dat_iw_extensions.h): takes one request, on a connected socket.
#pragma once

#include <dat2/dat_iw_extensions.h>

#include <cstdarg>

#include "dapl/listen/reserved_ep.hpp"
#include "dapl/listen/service_point.hpp"

namespace dapl {

class Ssp final : public Object<Ssp>, public ServicePoint {
  public:
    static constexpr Kind kKind = Kind::kSsp;
    /// @param given the program's own descriptor, which is only told again. @param reserved see
    /// ReservedEp.
    Ssp(Ia& owner, DAT_CONN_QUAL own_port, Evd& requests_to, DAT_IW_SOCKET given, Ep* reserved);

    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock);
    void deserted() override REQUIRES(connection_lock);
    DAT_HANDLE self() const override { return handle(); }
    /// Nobody asks for it by its qualifier.
    bool is_taking() const override REQUIRES(connection_lock) { return false; }
    DAT_IW_SSP_PARAM parameters() const REQUIRES(connection_lock);

    ReservedEp ep;

  private:
    const DAT_IW_SOCKET given_;
    bool is_waiting_ GUARDED_BY(connection_lock) = true;
};

void end(Ssp& ssp) REQUIRES(connection_lock);

/// The operations of dat_iw_extensions.h on socket service points.
DAT_RETURN create_ssp(DAT_HANDLE ia, va_list arguments);
DAT_RETURN free_ssp(DAT_HANDLE handle);
DAT_RETURN query_ssp(DAT_HANDLE handle, va_list arguments);

}  // namespace dapl
