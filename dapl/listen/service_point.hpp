// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Base of the four kinds of service points: a listener, and the EVD to which its requests are
/// reported.
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

/// connection_lock guards a service point and its IA's list of them.
class ServicePoint : public ListNode<ServicePoint>, public cm::ListenUser {
  public:
    /// Counts as a user of the EVD.
    ServicePoint(Kind own_kind, Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to);
    ServicePoint(const ServicePoint&) = delete;
    ServicePoint& operator=(const ServicePoint&) = delete;
    ~ServicePoint();

    /// Starts to listen and joins its IA. @return the codes of dat_psp_create.
    DAT_RETURN open() REQUIRES(connection_lock);
    /// The same on a socket of the program, for one request.
    DAT_RETURN open_over(support::UniqueFd socket, std::span<const std::byte> last_words)
        REQUIRES(connection_lock);
    /// Leaves its IA and stops listening. Unanswered requests stay.
    void close() REQUIRES(connection_lock);
    /// @return its handle.
    virtual DAT_HANDLE self() const = 0;
    /// Whether a request would be reported to the consumer.
    virtual bool is_taking() const REQUIRES(connection_lock) = 0;

    const Kind kind;
    Ia& ia;
    const DAT_CONN_QUAL conn_qual;
    Evd& evd;

  protected:
    /// Turns a request into a CR. @param ep the EP that comes with the request, or nullptr. Throws
    /// std::bad_alloc; then nothing has changed, and the peer is refused.
    Cr& admit(std::unique_ptr<cm::Connection> connection, cm::PrivateData data, Ep* ep)
        REQUIRES(connection_lock);
    /// Reports a request to the consumer, who may use the CR and its EP at once. Drops the request
    /// if the EVD cannot queue its event, so that peers cannot pile up requests that nobody knows
    /// of.
    void tell(Cr& cr) REQUIRES(connection_lock);

  private:
    DAT_RETURN join(support::Result<std::unique_ptr<cm::Listener>> listener)
        REQUIRES(connection_lock);

    std::unique_ptr<cm::Listener> listener_ GUARDED_BY(connection_lock);
};

/// @return the EVD for a new service point, or the code for an unsuitable handle.
support::Result<Evd*> request_evd(const Ia& ia, DAT_EVD_HANDLE handle);

/// @return the service point that takes the requests for a qualifier, or nullptr.
ServicePoint* service_point_at(const Ia& ia, DAT_CONN_QUAL conn_qual) REQUIRES(connection_lock);

/// For dat_ia_close: ends all service points of the IA.
void close_service_points(Ia& ia) EXCLUDES(connection_lock);

/// Range of the qualifiers that the provider chooses itself: ports on which unprivileged programs
/// may listen.
inline constexpr DAT_CONN_QUAL kFirstAny = 1024;
inline constexpr DAT_CONN_QUAL kLastAny = 65535;
/// @return the next qualifier to try; a freed one comes round again only after all others. Thread
/// safe.
DAT_CONN_QUAL next_any();

/// Calls `make` with one qualifier after the other until one is free or all were tried.
/// @param make (DAT_CONN_QUAL) -> DAT_RETURN; called again after DAT_CONN_QUAL_IN_USE.
template <class Make>
DAT_RETURN at_any_qualifier(const Make& make) {
    for (DAT_CONN_QUAL tried = kFirstAny; tried <= kLastAny; ++tried) {
        const DAT_RETURN code = make(next_any());
        if (DAT_GET_TYPE(code) != DAT_CONN_QUAL_IN_USE) return code;
    }
    return raw(DAT_CONN_QUAL_UNAVAILABLE);
}

}  // namespace dapl
