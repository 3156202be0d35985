/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Event dispatchers and consumer notification objects. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_EVD_
#define _DAT_HPP_EVD_

#include <dat2/dat/ia.hpp>

namespace dat {

/**
 * A consumer notification object: collects the events of several EVDs. Goes after them
 * (DAT_INVALID_STATE while one is attached).
 */
class cno : public owner<dat_cno_free> {
  public:
    using owner::owner;
    /** dat_cno_create(). @param agent called once for a trigger; none by default. */
    static result<cno> create(const ia& of, DAT_OS_WAIT_PROXY_AGENT agent = {}) noexcept {
        return detail::make<cno>(
            [&](DAT_HANDLE* made) { return dat_cno_create(of.get(), agent, made); });
    }
    /** dat_cno_fd_create(). @param descriptor out; it goes with the CNO. */
    static result<cno> create(const ia& of, DAT_FD& descriptor) noexcept {
        return detail::make<cno>(
            [&](DAT_HANDLE* made) { return dat_cno_fd_create(of.get(), &descriptor, made); });
    }

    /** dat_cno_wait(). A cancellation point. @return the EVD that triggered. */
    result<evd_view> wait(std::chrono::microseconds timeout = forever) const {
        DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_cno_wait(get(), detail::timeout(timeout), &triggered);
        return detail::either(code, evd_view(triggered));
    }
    /** dat_cno_trigger(). @return DAT_QUEUE_EMPTY where nothing has triggered. */
    result<evd_view> trigger() const noexcept {
        DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_cno_trigger(get(), &triggered);
        return detail::either(code, evd_view(triggered));
    }
    result<void> modify_agent(DAT_OS_WAIT_PROXY_AGENT agent) const noexcept {
        return result<void>::of(dat_cno_modify_agent(get(), agent));
    }
    result<DAT_CNO_PARAM> query() const noexcept {
        return detail::ask<DAT_CNO_PARAM>(
            [this](DAT_CNO_PARAM* told) { return dat_cno_query(get(), DAT_CNO_FIELD_ALL, told); });
    }
};

/** An event dispatcher: a queue of events. Goes after the EPs and service points that use it. */
class evd : public owner<dat_evd_free>, public evd_calls<evd> {
  public:
    using owner::owner;
    /**
     * dat_evd_create(), without a CNO or with one.
     *
     * @param length events that it must hold. @param kinds DAT_EVD_*, several by flags().
     */
    static result<evd> create(const ia& of, DAT_COUNT length, DAT_EVD_FLAGS kinds) noexcept {
        return create(of.get(), length, kinds, DAT_HANDLE_NULL);
    }
    static result<evd> create(const ia& of, DAT_COUNT length, DAT_EVD_FLAGS kinds,
                              const cno& triggered) noexcept {
        return create(of.get(), length, kinds, triggered.get());
    }

    operator evd_view() const noexcept { return evd_view(get()); }
    /** dat_evd_modify_cno(). */
    result<void> attach(const cno& triggered) const noexcept {
        return result<void>::of(dat_evd_modify_cno(get(), triggered.get()));
    }
    result<void> detach() const noexcept {
        return result<void>::of(dat_evd_modify_cno(get(), DAT_HANDLE_NULL));
    }

  private:
    static result<evd> create(DAT_IA_HANDLE of, DAT_COUNT length, DAT_EVD_FLAGS kinds,
                              DAT_CNO_HANDLE triggered) noexcept {
        return detail::make<evd>(
            [&](DAT_HANDLE* made) { return dat_evd_create(of, length, triggered, kinds, made); });
    }
};

}  // namespace dat

#endif
