/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Endpoints, shared receive queues and remote memory regions. Part of <dat2/dat.hpp>.
 */
#ifndef _DAT_HPP_EP_
#define _DAT_HPP_EP_

#include <dat2/dat/evd.hpp>
#include <dat2/dat/memory.hpp>

namespace dat {

/**
 * The segments of a transfer: one, or a list (an array, std::span and the like of DAT_LMR_TRIPLET
 * or dat::segment). The list itself is read before the post returns.
 */
class segments {
  public:
    segments(const DAT_LMR_TRIPLET& one) noexcept : first_(&one), count_(1) {}
    template <std::ranges::contiguous_range R>
    requires std::derived_from<std::ranges::range_value_t<R>, DAT_LMR_TRIPLET> segments(
        const R& list)
    noexcept
        : first_(std::ranges::data(list)),
          count_(static_cast<DAT_COUNT>(std::ranges::size(list))) {}

    DAT_COUNT count() const noexcept { return count_; }
    /** As the C calls take it, which do not change it. */
    DAT_LMR_TRIPLET* first() const noexcept { return const_cast<DAT_LMR_TRIPLET*>(first_); }

  private:
    const DAT_LMR_TRIPLET* first_;
    DAT_COUNT count_;
};

/** Bytes for the peer that go with a connection; copied by the call. */
using private_data = std::span<const std::byte>;

namespace detail {
inline DAT_PVOID pointer(private_data data) noexcept {
    return const_cast<std::byte*>(data.data());
}
inline DAT_COUNT count(private_data data) noexcept {
    return static_cast<DAT_COUNT>(data.size());
}
}  // namespace detail

/** A queue of receives that several endpoints share. Goes after them. */
class srq : public owner<dat_srq_free> {
  public:
    using owner::owner;
    static result<srq> create(const ia& of, const pz& zone, DAT_SRQ_ATTR attributes) noexcept {
        return detail::make<srq>([&](DAT_HANDLE* made) {
            return dat_srq_create(of.get(), zone.get(), &attributes, made);
        });
    }
    result<void> post_recv(segments into, DAT_DTO_COOKIE cookie) const {
        return result<void>::of(dat_srq_post_recv(get(), into.count(), into.first(), cookie));
    }
    result<DAT_SRQ_PARAM> query() const noexcept {
        return detail::ask<DAT_SRQ_PARAM>(
            [this](DAT_SRQ_PARAM* told) { return dat_srq_query(get(), DAT_SRQ_FIELD_ALL, told); });
    }
    result<void> resize(DAT_COUNT receives) const noexcept {
        return result<void>::of(dat_srq_resize(get(), receives));
    }
    result<void> set_low_watermark(DAT_COUNT receives) const noexcept {
        return result<void>::of(dat_srq_set_lw(get(), receives));
    }
};

/** Where the events of an endpoint go; an empty view where it has none of a kind. */
struct ep_evds {
    evd_view receives;
    evd_view requests;
    evd_view connections;
};

/**
 * An endpoint. Its end cuts the connection. Memory of transfers must stay as it is until their
 * completions, which the layer cannot see to.
 */
class ep : public owner<dat_ep_free> {
  public:
    using owner::owner;
    /** dat_ep_create(). @param attributes nullptr: defaults. */
    static result<ep> create(const ia& of, const pz& zone, const ep_evds& evds,
                             const DAT_EP_ATTR* attributes = nullptr) noexcept {
        return detail::make<ep>([&](DAT_HANDLE* made) {
            return dat_ep_create(of.get(), zone.get(), evds.receives.get(), evds.requests.get(),
                                 evds.connections.get(), attributes, made);
        });
    }
    /** dat_ep_create_with_srq(). */
    static result<ep> create(const ia& of, const pz& zone, const ep_evds& evds, const srq& receives,
                             const DAT_EP_ATTR& attributes) noexcept {
        return detail::make<ep>([&](DAT_HANDLE* made) {
            return dat_ep_create_with_srq(of.get(), zone.get(), evds.receives.get(),
                                          evds.requests.get(), evds.connections.get(),
                                          receives.get(), &attributes, made);
        });
    }

    /** dat_ep_connect(): the event on the connection EVD tells how it went. */
    result<void> connect(const DAT_SOCK_ADDR* address, DAT_CONN_QUAL qualifier,
                         private_data data = {}, std::chrono::microseconds timeout = forever,
                         DAT_QOS qos = DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_FLAGS flags = DAT_CONNECT_DEFAULT_FLAG) const noexcept {
        return result<void>::of(dat_ep_connect(
            get(), const_cast<DAT_IA_ADDRESS_PTR>(address), qualifier, detail::timeout(timeout),
            detail::count(data), detail::pointer(data), qos, flags));
    }
    result<void> disconnect(DAT_CLOSE_FLAGS flags = DAT_CLOSE_GRACEFUL_FLAG) const noexcept {
        return result<void>::of(dat_ep_disconnect(get(), flags));
    }
    result<void> reset_connection() const noexcept { return result<void>::of(dat_ep_reset(get())); }

    /* Transfers: each is dat_ep_ and its name. They do not throw, and are not noexcept since
     * compilers would add code for it. */
    result<void> post_send(segments from, DAT_DTO_COOKIE cookie,
                           DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(dat_ep_post_send(get(), from.count(), from.first(), cookie, flags));
    }
    result<void> post_recv(segments into, DAT_DTO_COOKIE cookie,
                           DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(dat_ep_post_recv(get(), into.count(), into.first(), cookie, flags));
    }
    result<void> post_rdma_write(segments from, const DAT_RMR_TRIPLET& to, DAT_DTO_COOKIE cookie,
                                 DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(
            dat_ep_post_rdma_write(get(), from.count(), from.first(), cookie, &to, flags));
    }
    result<void> post_rdma_read(segments into, const DAT_RMR_TRIPLET& from, DAT_DTO_COOKIE cookie,
                                DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(
            dat_ep_post_rdma_read(get(), into.count(), into.first(), cookie, &from, flags));
    }
    result<void> post_rdma_read_to_rmr(
        const DAT_RMR_TRIPLET& into, const DAT_RMR_TRIPLET& from, DAT_DTO_COOKIE cookie,
        DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(dat_ep_post_rdma_read_to_rmr(get(), &into, cookie, &from, flags));
    }
    /** @param invalidated an RMR context of the peer, which ends. */
    result<void> post_send_with_invalidate(
        segments from, DAT_RMR_CONTEXT invalidated, DAT_DTO_COOKIE cookie,
        DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const {
        return result<void>::of(dat_ep_post_send_with_invalidate(
            get(), from.count(), from.first(), cookie, flags, DAT_TRUE, invalidated));
    }

    /** dat_ep_query(). Its addresses are there until the EP is freed. */
    result<DAT_EP_PARAM> query() const noexcept {
        return detail::ask<DAT_EP_PARAM>(
            [this](DAT_EP_PARAM* told) { return dat_ep_query(get(), DAT_EP_FIELD_ALL, told); });
    }
    result<void> modify(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM& parameters) const noexcept {
        return result<void>::of(dat_ep_modify(get(), mask, &parameters));
    }
    result<DAT_EP_STATE> state() const noexcept {
        return detail::ask<DAT_EP_STATE>([this](DAT_EP_STATE* told) {
            return dat_ep_get_status(get(), told, nullptr, nullptr);
        });
    }
};

/** A remote memory region (memory window). Its end unbinds it. Goes before what it is bound to. */
class rmr : public owner<dat_rmr_free> {
  public:
    using owner::owner;
    static result<rmr> create(const pz& zone) noexcept {
        return detail::make<rmr>(
            [&](DAT_HANDLE* made) { return dat_rmr_create(zone.get(), made); });
    }
    static result<rmr> create_for_ep(const pz& zone) noexcept {
        return detail::make<rmr>(
            [&](DAT_HANDLE* made) { return dat_rmr_create_for_ep(zone.get(), made); });
    }

    /**
     * dat_rmr_bind(): the event on the request EVD of the EP tells how it went.
     *
     * @param part of the LMR, by segment(). @return what peers name it by.
     */
    result<DAT_RMR_CONTEXT> bind(const lmr& memory, const DAT_LMR_TRIPLET& part,
                                 DAT_MEM_PRIV_FLAGS privileges, const ep& through,
                                 DAT_RMR_COOKIE cookie,
                                 DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG,
                                 DAT_VA_TYPE addresses = DAT_VA_TYPE_VA) const noexcept {
        DAT_RMR_CONTEXT context = 0;
        const DAT_RETURN code = dat_rmr_bind(get(), memory.get(), &part, privileges, addresses,
                                             through.get(), cookie, flags, &context);
        return detail::either(code, std::move(context));
    }
    /** dat_rmr_bind() to nothing. */
    result<void> unbind(const ep& through, DAT_RMR_COOKIE cookie,
                        DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG) const noexcept {
        const DAT_LMR_TRIPLET nothing{};
        return result<void>::of(dat_rmr_bind(get(), DAT_HANDLE_NULL, &nothing,
                                             DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, through.get(),
                                             cookie, flags, nullptr));
    }
    /** dat_rmr_query(): an RMR that is not bound has no triplet to tell. */
    result<DAT_RMR_PARAM> query(DAT_RMR_PARAM_MASK mask = DAT_RMR_FIELD_ALL) const noexcept {
        return detail::ask<DAT_RMR_PARAM>(
            [&](DAT_RMR_PARAM* told) { return dat_rmr_query(get(), mask, told); });
    }
};

}  // namespace dat

#endif
