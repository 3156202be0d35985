/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Service points and connection requests. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_CONNECTION_
#define _DAT_HPP_CONNECTION_

#include <dat2/dat/ep.hpp>

namespace dat {

namespace detail {
inline DAT_RETURN reject_silently(DAT_HANDLE request) {
    return dat_cr_reject(request, 0, nullptr);
}
}  // namespace detail

/**
 * A connection request, which must be answered once: by accept(), reject() or hand_off(). An answer
 * that succeeds leaves the owner empty; the end of one that was not answered, and free(), reject.
 */
class cr : public owner<detail::reject_silently> {
  public:
    using owner::owner;
    /** Takes up the request of an event; once for each event. */
    explicit cr(const DAT_CR_ARRIVAL_EVENT_DATA& arrived) noexcept : owner(arrived.cr_handle) {}

    /** dat_cr_accept() with an endpoint of the program's. */
    result<void> accept(const ep& with, private_data data = {}) noexcept {
        return answered(
            dat_cr_accept(get(), with.get(), detail::count(data), detail::pointer(data)));
    }
    /** dat_cr_accept() with the endpoint that the service point has brought. */
    result<void> accept(private_data data = {}) noexcept {
        return answered(
            dat_cr_accept(get(), DAT_HANDLE_NULL, detail::count(data), detail::pointer(data)));
    }
    result<void> reject(private_data data = {}) noexcept {
        return answered(dat_cr_reject(get(), detail::count(data), detail::pointer(data)));
    }
    /** dat_cr_handoff(). @param qualifier of another service point of the IA. */
    result<void> hand_off(DAT_CONN_QUAL qualifier) noexcept {
        return answered(dat_cr_handoff(get(), qualifier));
    }
    /** dat_cr_query(). What it points at is there until the request is answered. */
    result<DAT_CR_PARAM> query() const noexcept {
        return detail::ask<DAT_CR_PARAM>(
            [this](DAT_CR_PARAM* told) { return dat_cr_query(get(), DAT_CR_FIELD_ALL, told); });
    }

  private:
    result<void> answered(DAT_RETURN code) noexcept {
        if (code == DAT_SUCCESS) static_cast<void>(release());
        return result<void>::of(code);
    }
};

/** A public service point: requests for its qualifier come to its EVD until it ends. */
class psp : public owner<dat_psp_free> {
  public:
    using owner::owner;
    /** dat_psp_create(). @param flags DAT_PSP_PROVIDER_FLAG: requests bring an endpoint. */
    static result<psp> create(const ia& of, DAT_CONN_QUAL qualifier, evd_view requests,
                              DAT_PSP_FLAGS flags = DAT_PSP_CONSUMER_FLAG) noexcept {
        return detail::make<psp>([&](DAT_HANDLE* made) {
            return dat_psp_create(of.get(), qualifier, requests.get(), flags, made);
        });
    }
    /** dat_psp_create_any(); query() tells the qualifier. */
    static result<psp> create_any(const ia& of, evd_view requests,
                                  DAT_PSP_FLAGS flags = DAT_PSP_CONSUMER_FLAG) noexcept {
        DAT_CONN_QUAL qualifier = 0;
        return detail::make<psp>([&](DAT_HANDLE* made) {
            return dat_psp_create_any(of.get(), &qualifier, requests.get(), flags, made);
        });
    }
    result<DAT_PSP_PARAM> query() const noexcept {
        return detail::ask<DAT_PSP_PARAM>(
            [this](DAT_PSP_PARAM* told) { return dat_psp_query(get(), DAT_PSP_FIELD_ALL, told); });
    }
};

/** A reserved service point: takes one request, for one endpoint. Goes before that. */
class rsp : public owner<dat_rsp_free> {
  public:
    using owner::owner;
    static result<rsp> create(const ia& of, DAT_CONN_QUAL qualifier, const ep& reserved,
                              evd_view requests) noexcept {
        return detail::make<rsp>([&](DAT_HANDLE* made) {
            return dat_rsp_create(of.get(), qualifier, reserved.get(), requests.get(), made);
        });
    }
    result<DAT_RSP_PARAM> query() const noexcept {
        return detail::ask<DAT_RSP_PARAM>(
            [this](DAT_RSP_PARAM* told) { return dat_rsp_query(get(), DAT_RSP_FIELD_ALL, told); });
    }
};

/** A common service point: requests of socket connections. */
class csp : public owner<dat_csp_free> {
  public:
    using owner::owner;
    static result<csp> create(const ia& of, DAT_COMM kind, const DAT_SOCK_ADDR* address,
                              evd_view requests) noexcept {
        return detail::make<csp>([&](DAT_HANDLE* made) {
            return dat_csp_create(of.get(), &kind, const_cast<DAT_IA_ADDRESS_PTR>(address),
                                  requests.get(), made);
        });
    }
    result<DAT_CSP_PARAM> query() const noexcept {
        return detail::ask<DAT_CSP_PARAM>(
            [this](DAT_CSP_PARAM* told) { return dat_csp_query(get(), DAT_CSP_FIELD_ALL, told); });
    }
};

}  // namespace dat

#endif
