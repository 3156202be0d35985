/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Interface adapters. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_IA_
#define _DAT_HPP_IA_

#include <dat2/dat/evd_view.hpp>
#include <dat2/dat/owner.hpp>

namespace dat {

namespace detail {
inline DAT_RETURN close_abruptly(DAT_HANDLE ia) {
    return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}
}  // namespace detail

/**
 * An open interface adapter. Its end cuts connections and frees every object that is left; then the
 * owners of those objects may only be destroyed if they are empty.
 */
class ia : public owner<detail::close_abruptly> {
  public:
    using owner::owner;
    /**
     * dat_ia_open(), with an async EVD of its own, or with that of another IA of the same device.
     *
     * @param name in dat.conf. @param async_length events that the async EVD must hold.
     * @param shared DAT_HANDLE_NULL, or the async EVD.
     */
    static result<ia> open(const char* name, DAT_COUNT async_length = 8,
                           evd_view shared = {}) noexcept {
        DAT_EVD_HANDLE async = shared.get();
        return detail::make<ia>([&](DAT_HANDLE* made) {
            return dat_ia_open(const_cast<DAT_NAME_PTR>(name), async_length, &async, made);
        });
    }

    /** dat_ia_close(): DAT_CLOSE_GRACEFUL_FLAG is refused while objects exist. */
    result<void> close(DAT_CLOSE_FLAGS flags = DAT_CLOSE_ABRUPT_FLAG) noexcept {
        const DAT_RETURN code = dat_ia_close(get(), flags);
        if (code == DAT_SUCCESS) static_cast<void>(release());
        return result<void>::of(code);
    }

    /** dat_ia_query(). What the pointers inside point at is there until the IA is closed. */
    result<DAT_IA_ATTR> attributes() const noexcept {
        return detail::ask<DAT_IA_ATTR>([this](DAT_IA_ATTR* told) {
            return dat_ia_query(get(), nullptr, DAT_IA_FIELD_ALL, told, 0, nullptr);
        });
    }
    /** @param told filled on success; not by value, since it has a member that cannot be assigned.
     */
    result<void> provider_attributes(DAT_PROVIDER_ATTR& told) const noexcept {
        return result<void>::of(
            dat_ia_query(get(), nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &told));
    }
    /** Where events that belong to no call are queued. It goes with the IA. */
    result<evd_view> async_evd() const noexcept {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_ia_query(get(), &async, 0, nullptr, 0, nullptr);
        return detail::either(code, evd_view(async));
    }
};

}  // namespace dat

#endif
