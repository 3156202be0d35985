// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the three kinds of service points have in common: a listener, and the EVD that its requests
/// are told to.
#pragma once

#include <memory>

#include "dapl/base/codes.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl {

class Cr;
class Ep;
class Evd;
class Ia;

/// connection_lock guards it, and the list of its IA that it is on.
class ServicePoint : public ListNode<ServicePoint>, public cm::ListenUser {
  public:
    /// Counts as a user of the EVD.
    ServicePoint(Kind own_kind, Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to);
    ServicePoint(const ServicePoint&) = delete;
    ServicePoint& operator=(const ServicePoint&) = delete;
    ~ServicePoint();

    /// Listens and joins its IA. @return codes as dat_psp_create gives them.
    DAT_RETURN open() REQUIRES(connection_lock);
    /// Leaves its IA. No request comes from the network any more. Those that nobody has answered
    /// stay.
    void close() REQUIRES(connection_lock);
    /// Whether a request would be told to the consumer.
    virtual bool is_taking() const REQUIRES(connection_lock) = 0;

    const Kind kind;
    Ia& ia;
    const DAT_CONN_QUAL conn_qual;
    Evd& evd;

  protected:
    /// Turns a request into a CR. @param ep what it brings with it, or nullptr. Throws
    /// std::bad_alloc; then nothing has changed, and the peer is sent away.
    Cr& admit(std::unique_ptr<cm::Connection> connection, cm::PrivateData data, Ep* ep)
        REQUIRES(connection_lock);
    /// Tells the consumer, who may use the CR and its EP at once. A request for whose event there
    /// is no room ends here: peers cannot pile up what nobody knows of. @param self the service
    /// point's handle.
    void tell(DAT_HANDLE self, Cr& cr) REQUIRES(connection_lock);

  private:
    std::unique_ptr<cm::Listener> listener_ GUARDED_BY(connection_lock);
};

/// @return the EVD of a new service point, or the code.
support::Result<Evd*> request_evd(const Ia& ia, DAT_EVD_HANDLE handle);

/// @return the service point that takes the requests for a qualifier, or nullptr.
ServicePoint* service_point_at(const Ia& ia, DAT_CONN_QUAL conn_qual) REQUIRES(connection_lock);

/// For dat_ia_close: ends all of them.
void close_service_points(Ia& ia) EXCLUDES(connection_lock);

/// Qualifiers that a service point may be given: what unprivileged programs may listen on.
inline constexpr DAT_CONN_QUAL kFirstAny = 1024;
inline constexpr DAT_CONN_QUAL kLastAny = 65535;
/// @return the next one to try; freed ones come round again only after all others. Thread safe.
DAT_CONN_QUAL next_any();

/// Runs `make` for one qualifier after the other until one is free; ends when all were tried.
/// @param make (DAT_CONN_QUAL) -> DAT_RETURN; after DAT_CONN_QUAL_IN_USE it is called again.
template <class Make>
DAT_RETURN at_any_qualifier(const Make& make) {
    for (DAT_CONN_QUAL tried = kFirstAny; tried <= kLastAny; ++tried) {
        const DAT_RETURN code = make(next_any());
        if (DAT_GET_TYPE(code) != DAT_CONN_QUAL_IN_USE) return code;
    }
    return raw(DAT_CONN_QUAL_UNAVAILABLE);
}

}  // namespace dapl
