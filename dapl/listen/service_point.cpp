// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/listen/service_point.hpp"

#include <atomic>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/listen/cr.hpp"
#include "dapl/listen/csp.hpp"
#include "dapl/listen/psp.hpp"
#include "dapl/listen/rsp.hpp"
#include "dapl/listen/ssp.hpp"

namespace dapl {
namespace {

/// Whether the IA has a service point of the same kind at this qualifier. Those of other kinds,
/// instances and processes collide in the connection manager, which returns the code without the
/// class bit.
bool has_another(const ServicePoint& wanted) REQUIRES(connection_lock) {
    const auto& points = wanted.ia.service_points;
    for (const ServicePoint* point = points.first(); point; point = points.after(*point))
        if (point->kind == wanted.kind && point->conn_qual == wanted.conn_qual) return true;
    return false;
}

void end(ServicePoint& point) REQUIRES(connection_lock) {
    switch (point.kind) {
        case Kind::kPsp:
            return end(static_cast<Psp&>(point));
        case Kind::kRsp:
            return end(static_cast<Rsp&>(point));
        case Kind::kSsp:
            return end(static_cast<Ssp&>(point));
        default:
            return end(static_cast<Csp&>(point));
    }
}

}  // namespace

ServicePoint::ServicePoint(Kind own_kind, Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to)
    : kind(own_kind), ia(owner), conn_qual(qualifier), evd(requests_to) {
    ++evd.users;
}

ServicePoint::~ServicePoint() {
    --evd.users;
}

DAT_RETURN ServicePoint::open() {
    if (has_another(*this)) return error(DAT_CONN_QUAL_IN_USE);
    return join(ia.manager->listen(conn_qual, *this));
}

DAT_RETURN ServicePoint::open_over(support::UniqueFd socket,
                                   std::span<const std::byte> last_words) {
    const auto service = ia.manager->sockets();
    if (!service) return service.error().code;
    return join((*service)->listen(std::move(socket), last_words, *this));
}

DAT_RETURN ServicePoint::join(support::Result<std::unique_ptr<cm::Listener>> listener) {
    if (!listener) return listener.error().code;
    listener_ = std::move(*listener);
    ia.service_points.add(*this);
    ia.counters.count(DCNT_IA_CM_LISTEN);
    return DAT_SUCCESS;
}

void ServicePoint::close() {
    ia.service_points.remove(*this);
    listener_.reset();
}

Cr& ServicePoint::admit(std::unique_ptr<cm::Connection> connection, cm::PrivateData data, Ep* ep) {
    Cr* cr = make<Cr>(&ia.provider.table, ia, conn_qual, std::move(connection), data);
    cr->ep = ep;
    ia.requests.add(*cr);
    ia.counters.count(DCNT_IA_SP_CR);
    ia.counters.count(cr->connection->is_datagram() ? DCNT_IA_CM_AH_REQ_RX : DCNT_IA_CM_REQ_RX);
    return *cr;
}

void ServicePoint::tell(Cr& cr) {
    auto* address = const_cast<sockaddr_storage*>(&ia.adapter().address);
    if (post_connection_request(evd, self(), reinterpret_cast<DAT_IA_ADDRESS_PTR>(address),
                                conn_qual, cr.handle(), cr.connection->is_datagram()))
        return;
    Ep* unused = drop(cr);
    if (!unused) return;
    ia.eps.remove(*unused);  // it has no queue pair yet: nothing to wait for
    destroy(*unused);
}

support::Result<Evd*> request_evd(const Ia& ia, DAT_EVD_HANDLE handle) {
    Evd* evd = from_handle<Evd>(handle);
    if (!evd || !evd->takes(DAT_EVD_CR_FLAG) || &evd->ia != &ia)
        return support::failure(bad_handle(DAT_INVALID_HANDLE_EVD_CR));
    return evd;
}

ServicePoint* service_point_at(const Ia& ia, DAT_CONN_QUAL conn_qual) {
    ServicePoint* point = ia.service_points.first();
    while (point && (point->conn_qual != conn_qual || !point->is_taking()))
        point = ia.service_points.after(*point);
    return point;
}

void close_service_points(Ia& ia) {
    const support::MutexLock guard(connection_lock);
    while (ServicePoint* point = ia.service_points.first()) end(*point);
}

DAT_CONN_QUAL next_any() {
    static std::atomic<DAT_CONN_QUAL> count{0};
    return kFirstAny + count.fetch_add(1, std::memory_order_relaxed) % (kLastAny - kFirstAny + 1);
}

}  // namespace dapl
