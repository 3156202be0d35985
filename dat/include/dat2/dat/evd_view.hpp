/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Events and what takes them. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_EVD_VIEW_
#define _DAT_HPP_EVD_VIEW_

#include <dat2/dat/result.hpp>

namespace dat {

/**
 * An event. Each of the functions that tell more gives nullptr where the event is of another kind;
 * what it gives points into the event. Not initialised until an EVD fills it.
 */
class event {
  public:
    event() noexcept {}

    DAT_EVENT_NUMBER number() const noexcept { return raw.event_number; }
    const DAT_DTO_COMPLETION_EVENT_DATA* dto() const noexcept {
        return number() == DAT_DTO_COMPLETION_EVENT ? &raw.event_data.dto_completion_event_data
                                                    : nullptr;
    }
    const DAT_RMR_BIND_COMPLETION_EVENT_DATA* rmr_bind() const noexcept {
        return number() == DAT_RMR_BIND_COMPLETION_EVENT ? &raw.event_data.rmr_completion_event_data
                                                         : nullptr;
    }
    /** Of DAT_CONNECTION_REQUEST_EVENT. Who takes the request up makes a cr of it, once. */
    const DAT_CR_ARRIVAL_EVENT_DATA* request() const noexcept {
        return number() == DAT_CONNECTION_REQUEST_EVENT ? &raw.event_data.cr_arrival_event_data
                                                        : nullptr;
    }
    /** Of DAT_CONNECTION_EVENT_*. */
    const DAT_CONNECTION_EVENT_DATA* connection() const noexcept {
        return is_between(DAT_CONNECTION_EVENT_ESTABLISHED, DAT_CONNECTION_EVENT_UNREACHABLE)
                   ? &raw.event_data.connect_event_data
                   : nullptr;
    }
    /** Of DAT_ASYNC_ERROR_*. */
    const DAT_ASYNCH_ERROR_EVENT_DATA* async_error() const noexcept {
        return is_between(DAT_ASYNC_ERROR_EVD_OVERFLOW, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR)
                   ? &raw.event_data.asynch_error_event_data
                   : nullptr;
    }
    const DAT_SOFTWARE_EVENT_DATA* software() const noexcept {
        return number() == DAT_SOFTWARE_EVENT ? &raw.event_data.software_event_data : nullptr;
    }

    DAT_EVENT raw;   ///< as C has it; for events of extensions too
    DAT_COUNT more;  ///< events left inside; set by waits alone

  private:
    bool is_between(DAT_EVENT_NUMBER first, DAT_EVENT_NUMBER last) const noexcept {
        return number() >= first && number() <= last;
    }
};

/** The calls on an event dispatcher. @tparam Self has get(). */
template <class Self>
class evd_calls {
  public:
    /**
     * dat_evd_dequeue(): takes the oldest event without waiting.
     *
     * @param into filled on success. @return DAT_QUEUE_EMPTY where there is none.
     */
    result<void> dequeue(event& into) const {
        return result<void>::of(dat_evd_dequeue(handle(), &into.raw));
    }
    /**
     * dat_evd_wait(): takes the oldest event. A cancellation point.
     *
     * @param into filled on success; its more tells how many are left.
     * @param threshold events that must be there to end the wait.
     * @return DAT_TIMEOUT_EXPIRED where there were not so many in time.
     */
    result<void> wait(event& into, std::chrono::microseconds timeout = forever,
                      DAT_COUNT threshold = 1) const {
        return result<void>::of(
            dat_evd_wait(handle(), detail::timeout(timeout), threshold, &into.raw, &into.more));
    }
    /** The same, with the event by value. */
    result<event> next(std::chrono::microseconds timeout = forever) const {
        return {detail::in_place{}, [&](event& taken) {
                    return dat_evd_wait(handle(), detail::timeout(timeout), 1, &taken.raw,
                                        &taken.more);
                }};
    }
    /** dat_evd_post_se(). @param pointer comes back in event::software(). */
    result<void> post(void* pointer) const noexcept {
        DAT_EVENT sent{};
        sent.event_number = DAT_SOFTWARE_EVENT;
        sent.event_data.software_event_data.pointer = pointer;
        return result<void>::of(dat_evd_post_se(handle(), &sent));
    }
    result<DAT_EVD_PARAM> query() const noexcept {
        return {detail::in_place{}, [this](DAT_EVD_PARAM& told) {
                    return dat_evd_query(handle(), DAT_EVD_FIELD_ALL, &told);
                }};
    }
    result<void> resize(DAT_COUNT length) const noexcept {
        return result<void>::of(dat_evd_resize(handle(), length));
    }
    result<void> enable() const noexcept { return result<void>::of(dat_evd_enable(handle())); }
    result<void> disable() const noexcept { return result<void>::of(dat_evd_disable(handle())); }
    result<void> set_unwaitable() const noexcept {
        return result<void>::of(dat_evd_set_unwaitable(handle()));
    }
    result<void> clear_unwaitable() const noexcept {
        return result<void>::of(dat_evd_clear_unwaitable(handle()));
    }

  private:
    DAT_EVD_HANDLE handle() const noexcept { return static_cast<const Self&>(*this).get(); }
};

/** An event dispatcher that somebody else owns, or none. Can be copied. */
class evd_view : public evd_calls<evd_view> {
  public:
    constexpr evd_view() noexcept = default;
    constexpr explicit evd_view(DAT_EVD_HANDLE handle) noexcept : handle_(handle) {}
    constexpr DAT_EVD_HANDLE get() const noexcept { return handle_; }
    constexpr explicit operator bool() const noexcept { return handle_ != DAT_HANDLE_NULL; }
    friend constexpr bool operator==(evd_view one, evd_view other) noexcept {
        return one.handle_ == other.handle_;
    }

  private:
    DAT_EVD_HANDLE handle_ = DAT_HANDLE_NULL;
};

}  // namespace dat

#endif
