// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Endpoint: posting transfers and dequeuing their events.
#include "test/dtest/endpoint.hpp"

#include <dat2/dat_ib_extensions.h>
#include <sched.h>

#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

/// Number of empty polls after which the processor is yielded, as the other side may need this very
/// core, and the clock is read.
constexpr unsigned kPollsBeforeYield = 256;
constexpr std::uint64_t kControlCookie = 0xaaaa;
constexpr const char* kPostHelp =
    "look at the other side's messages: the connection may have ended";

DAT_COMPLETION_FLAGS flags(bool signalled) {
    return signalled ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;
}

DAT_DTO_COOKIE make_cookie(std::uint64_t value) {
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = value;
    return cookie;
}

DAT_RMR_TRIPLET remote_segment(DAT_VADDR address, DAT_RMR_CONTEXT context, std::uint32_t length) {
    DAT_RMR_TRIPLET triplet{};
    triplet.virtual_address = address;
    triplet.segment_length = length;
    triplet.rmr_context = context;
    return triplet;
}

bool is_empty(DAT_RETURN code) {
    return DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_QUEUE_EMPTY);
}

bool is_timeout(DAT_RETURN code) {
    return DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_TIMEOUT_EXPIRED) || is_empty(code) ||
           DAT_GET_TYPE(code) == DAT_GET_TYPE(DAT_INTERRUPTED_CALL);
}

}  // namespace

/// Waits as the options ask: polls, or waits on the CNO or the EVD. @return whether there was an
/// event.
bool Endpoint::try_take(DAT_EVD_HANDLE evd, double wait_us, DAT_EVENT& event) {
    const bool is_dto = evd == request_evd_ || evd == receive_evd_;
    // The wait for a connection request may be long, so it never polls. RDMA write ping-pong polls
    // memory, and the completion follows at once, so there the DTO EVDs are always polled.
    if ((options_.poll && evd != cr_evd_) || (options_.write_ping_pong && is_dto)) {
        for (unsigned polls = 0; polls < kPollsBeforeYield; ++polls) {
            const DAT_RETURN code = dat_evd_dequeue(evd, &event);
            if (code == DAT_SUCCESS) return true;
            if (!is_empty(code)) require_success(code, "dat_evd_dequeue", kPostHelp);
        }
        empty_polls_ += kPollsBeforeYield;
        sched_yield();
        return false;
    }
    if (options_.cno && is_dto) {
        // A CNO wakes up once for several events, for other EVDs, or for none: only the EVD counts.
        DAT_RETURN code = dat_evd_dequeue(evd, &event);
        if (code == DAT_SUCCESS) return true;
        if (!is_empty(code)) require_success(code, "dat_evd_dequeue", kPostHelp);
        DAT_EVD_HANDLE woken = DAT_HANDLE_NULL;
        code = dat_cno_wait(cno_, static_cast<DAT_TIMEOUT>(wait_us), &woken);
        if (code != DAT_SUCCESS && !is_timeout(code))
            require_success(code, "dat_cno_wait", kPostHelp);
        return dat_evd_dequeue(evd, &event) == DAT_SUCCESS;
    }
    DAT_COUNT more = 0;
    const DAT_RETURN code = dat_evd_wait(evd, static_cast<DAT_TIMEOUT>(wait_us), 1, &event, &more);
    if (code == DAT_SUCCESS) return true;
    if (!is_timeout(code)) require_success(code, "dat_evd_wait", kPostHelp);
    return false;
}

DAT_EVENT Endpoint::take_event(DAT_EVD_HANDLE evd, const char* what, const Deadline& deadline) {
    constexpr double kSliceUs = 500e3;
    DAT_EVENT event;
    std::memset(&event, 0, sizeof event);
    while (!try_take(evd, deadline.left_us(kSliceUs), event)) {
        if (!deadline.passed()) continue;
        throw Failure(options_.poll  ? "dat_evd_dequeue"
                      : options_.cno ? "dat_cno_wait"
                                     : "dat_evd_wait",
                      "no event came" + evidence(),
                      format("a %s within %.0f seconds", what, deadline.seconds()),
                      "look at the other side: it may hang or run with other options; --timeout "
                      "waits longer");
    }
    return event;
}

/// @return the events on the connection and async EVDs, for messages.
std::string Endpoint::evidence() {
    std::string text;
    DAT_EVENT event;
    for (DAT_EVD_HANDLE evd : {connection_evd_, async_evd_}) {
        while (evd != DAT_HANDLE_NULL && dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
            text += (text.empty() ? " (events: " : ", ") + event_name(event.event_number);
        }
    }
    return text.empty() ? text : text + ")";
}

void Endpoint::post_receive(unsigned slot) {
    DAT_LMR_TRIPLET segment = receive_.segment(slot * slot_bytes(), slot_bytes());
    require_success(
        dat_ep_post_recv(ep_, 1, &segment, make_cookie(slot), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_recv", kPostHelp);
}

void Endpoint::post_send(const Region& from, std::size_t offset, std::uint32_t length,
                         std::uint64_t cookie, bool signalled) {
    DAT_LMR_TRIPLET segment = from.segment(offset, length);
    require_success(dat_ep_post_send(ep_, 1, &segment, make_cookie(cookie), flags(signalled)),
                    "dat_ep_post_send", kPostHelp);
}

void Endpoint::post_write(std::size_t offset, std::size_t remote_offset, std::uint32_t length,
                          std::uint64_t cookie, bool signalled) {
    DAT_LMR_TRIPLET segment = source_.segment(offset, length);
    const DAT_RMR_TRIPLET remote =
        remote_segment(remote_address_ + remote_offset, remote_context_, length);
    require_success(
        dat_ep_post_rdma_write(ep_, 1, &segment, make_cookie(cookie), &remote, flags(signalled)),
        "dat_ep_post_rdma_write", kPostHelp);
}

void Endpoint::post_write_immediate(std::size_t offset, std::size_t remote_offset,
                                    std::uint32_t length, std::uint64_t cookie,
                                    std::uint32_t immediate, bool signalled) {
    DAT_LMR_TRIPLET segment = source_.segment(offset, length);
    DAT_RMR_TRIPLET remote =
        remote_segment(remote_address_ + remote_offset, remote_context_, length);
    const DAT_DTO_COOKIE tag = make_cookie(cookie);
    require_success(
        dat_ib_post_rdma_write_immed(ep_, 1, &segment, tag, &remote, immediate, flags(signalled)),
        "dat_ib_post_rdma_write_immed", kPostHelp);
}

void Endpoint::post_read(std::size_t offset, std::size_t remote_offset, std::uint32_t length,
                         std::uint64_t cookie) {
    DAT_LMR_TRIPLET segment = source_.segment(offset, length);
    const DAT_RMR_TRIPLET remote =
        remote_segment(remote_address_ + remote_offset, remote_context_, length);
    require_success(dat_ep_post_rdma_read(ep_, 1, &segment, make_cookie(cookie), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_read", kPostHelp);
}

void Endpoint::complete_request(std::uint64_t cookie, std::uint32_t length,
                                const Deadline& deadline) {
    const DAT_EVENT event = take_event(request_evd_, "request completion", deadline);
    const DAT_DTO_COMPLETION_EVENT_DATA& done = event.event_data.dto_completion_event_data;
    const bool known = event.event_number == DAT_DTO_COMPLETION_EVENT ||
                       event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
    if (!known || done.status != DAT_DTO_SUCCESS) {
        throw Failure(
            "request completion",
            (known ? status_name(done.status) : event_name(event.event_number)) + evidence(),
            "DAT_DTO_SUCCESS", "look at the other side's messages");
    }
    if (done.user_cookie.as_64 != cookie || done.transfered_length != length) {
        throw Failure(
            "request completion",
            format("cookie 0x%llx, %u bytes",
                   static_cast<unsigned long long>(done.user_cookie.as_64), done.transfered_length),
            format("cookie 0x%llx, %u bytes", static_cast<unsigned long long>(cookie), length),
            "report this as a fault of the provider");
    }
}

Received Endpoint::receive(const Deadline& deadline) {
    const DAT_EVENT event = take_event(receive_evd_, "message", deadline);
    const DAT_DTO_COMPLETION_EVENT_DATA& done = event.event_data.dto_completion_event_data;
    const bool extended = event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
    if ((!extended && event.event_number != DAT_DTO_COMPLETION_EVENT) ||
        done.status != DAT_DTO_SUCCESS) {
        throw Failure("receive completion",
                      (extended || event.event_number == DAT_DTO_COMPLETION_EVENT
                           ? status_name(done.status)
                           : event_name(event.event_number)) +
                          evidence(),
                      "DAT_DTO_SUCCESS",
                      "look at the other side's messages: it may have failed or ended");
    }
    if (done.user_cookie.as_64 != head_) {
        throw Failure(
            "receive completion",
            format("cookie %llu", static_cast<unsigned long long>(done.user_cookie.as_64)),
            format("cookie %u: receives complete in order", head_),
            "report this as a fault of the provider");
    }
    Received received{head_, done.transfered_length, false, 0};
    if (extended) {
        const auto* data =
            reinterpret_cast<const DAT_IB_EXTENSION_EVENT_DATA*>(event.event_extension_data);
        received.has_immediate = data->type == DAT_IB_RDMA_WRITE_IMMED_DATA;
        received.immediate = data->val.immed.data;
    }
    head_ = (head_ + 1) % capacity_.receive_slots();
    return received;
}

void Endpoint::release_slot(unsigned slot) {
    released_[slot] = true;
    while (released_[tail_]) {
        released_[tail_] = false;
        post_receive(tail_);
        tail_ = (tail_ + 1) % capacity_.receive_slots();
    }
}

void Endpoint::send_control(const void* text, std::uint32_t length, const Deadline& deadline) {
    std::memcpy(control_.at(0), text, length);
    post_send(control_, 0, length, kControlCookie, kSignalled);
    complete_request(kControlCookie, length, deadline);
}

}  // namespace dtest
