// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/lane.hpp"

#include <dat2/dat_ib_extensions.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sstream>

#include "tools/common/failure.hpp"
#include "tools/perf/interrupt.hpp"

namespace perf {

using tools::Failure;
using tools::format;
using tools::require_success;

namespace {

constexpr DAT_COUNT kReadsAtOnce = 16;
constexpr unsigned kSpareRequests = 16;  ///< for credit writes
constexpr DAT_TIMEOUT kSliceUs = 500'000;
constexpr const char* kPostHelp =
    "look at the other side's messages: the connection may have ended";

/// @return the cookie of a request: kind, endpoint, and how many requests its completion covers.
DAT_DTO_COOKIE cookie_of(Lane::Kind kind, unsigned endpoint, std::uint32_t covered) {
    DAT_DTO_COOKIE cookie;
    cookie.as_64 =
        std::uint64_t{static_cast<unsigned>(kind)} << 48 | std::uint64_t{endpoint} << 32 | covered;
    return cookie;
}

bool is_empty(DAT_RETURN code) {
    return DAT_GET_TYPE(code) == DAT_QUEUE_EMPTY;
}

}  // namespace

Lane::Lane(const Watch& watch, const Terms& terms, const Room& room)
    : watch_(watch),
      terms_(terms),
      states_(terms.endpoints),
      out_(watch.device, std::max<std::uint64_t>(room.out, 1), terms.memory),
      in_(watch.device, std::max<std::uint64_t>(room.in, 1), terms.memory),
      words_(watch.device, word_offset(terms.endpoints, kAtomic), terms.memory) {
    const unsigned per_endpoint = terms.receives() + terms.depth + kSpareRequests;
    require_success(
        dat_evd_create(watch.device.ia(), static_cast<DAT_COUNT>(per_endpoint * terms.endpoints),
                       DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &ends_.evd),
        "dat_evd_create", "use a smaller --depth or fewer endpoints");
    create_endpoints();
}

Lane::Ends::~Ends() {
    for (DAT_EP_HANDLE endpoint : endpoints) dat_ep_free(endpoint);
    if (evd != DAT_HANDLE_NULL) dat_evd_free(evd);
}

void Lane::create_endpoints() {
    const DAT_IA_ATTR& limits = watch_.device.attributes();
    DAT_EP_ATTR attributes{};
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = std::min<DAT_VLEN>(kLargestSize, limits.max_message_size);
    attributes.max_rdma_size = std::min<DAT_VLEN>(kLargestSize, limits.max_rdma_size);
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.max_recv_dtos = static_cast<DAT_COUNT>(terms_.receives());
    attributes.max_request_dtos = static_cast<DAT_COUNT>(terms_.depth + kSpareRequests);
    attributes.max_recv_iov = 1;
    attributes.max_request_iov = 1;
    attributes.max_rdma_read_in = std::min(kReadsAtOnce, limits.max_rdma_read_per_ep_in);
    attributes.max_rdma_read_out = std::min(kReadsAtOnce, limits.max_rdma_read_per_ep_out);
    for (unsigned i = 0; i < terms_.endpoints; ++i) {
        DAT_EP_HANDLE endpoint = DAT_HANDLE_NULL;
        require_success(dat_ep_create(watch_.device.ia(), watch_.device.pz(), ends_.evd, ends_.evd,
                                      watch_.device.connection_evd(), &attributes, &endpoint),
                        "dat_ep_create", "use a smaller --depth");
        ends_.endpoints.push_back(endpoint);
        for (unsigned left = terms_.receives(); left > 0; --left) post_receive(i);
    }
}

std::string Lane::place() const {
    std::ostringstream text;
    for (const Region* region : {&out_, &in_, &words_})
        text << region->remote().address << ' ' << region->remote().context << ' ';
    return text.str();
}

void Lane::set_peer(const std::string& place) {
    std::istringstream words(place);
    for (RemoteRegion* region : {&peer_out_, &peer_in_, &peer_words_})
        words >> region->address >> region->context;
    if (words) return;
    throw Failure("memory of the other side", "'" + place.substr(0, 60) + "'", "three regions",
                  "run the same version of dat_perf on both sides");
}

void Lane::begin(const Measurement& measurement, bool credits) {
    measurement_ = measurement;
    credits_ = credits;
    const auto length = static_cast<DAT_SEG_LENGTH>(measurement.size);
    const bool to_here =
        measurement.operation == Operation::read || is_atomic(measurement.operation);
    patience_ = {};
    local_ = to_here ? in_.at(0, length) : out_.at(0, length);
    remote_ = to_here ? peer_out_.at(0, length) : peer_in_.at(0, length);
    for (unsigned i = 0; i < terms_.endpoints; ++i) {
        states_[i] = {};
        word(i, kAtomic) = 0;
        word(i, kCreditIn) = 0;
    }
    // A ping-pong by RDMA write polls for bytes that change, so none may be left from before.
    if (measurement.ping_pong() && measurement.operation == Operation::write)
        in_.data()[measurement.size - 1] = 0;
}

bool Lane::has_room(unsigned endpoint) const {
    const State& state = states_[endpoint];
    if (state.outstanding >= terms_.depth) return false;
    return !credits_ || state.posted - word(endpoint, kCreditIn) < terms_.receives();
}

void Lane::post(unsigned endpoint, bool last) {
    State& state = states_[endpoint];
    const bool signalled = last || state.unsignalled + 1 >= terms_.signal_rate;
    const unsigned covered = state.unsignalled + 1;
    require_success(
        post_operation(endpoint, cookie_of(Kind::request, endpoint, covered).as_64,
                       signalled ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG),
        "post", kPostHelp);
    state.unsignalled = signalled ? 0 : covered;
    ++state.outstanding;
    ++state.posted;
    post_owed(state, endpoint);
}

DAT_RETURN Lane::post_operation(unsigned endpoint, std::uint64_t cookie_bits,
                                DAT_COMPLETION_FLAGS flags) {
    DAT_EP_HANDLE ep = ends_.endpoints[endpoint];
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = cookie_bits;
    switch (measurement_.operation) {
        case Operation::send:
            return dat_ep_post_send(ep, 1, &local_, cookie, flags);
        case Operation::write:
        case Operation::registration:
        case Operation::registration_write:
            return dat_ep_post_rdma_write(ep, 1, &local_, cookie, &remote_, flags);
        case Operation::read:
            return dat_ep_post_rdma_read(ep, 1, &local_, cookie, &remote_, flags);
        case Operation::write_immediate:
            return dat_ib_post_rdma_write_immed(ep, 1, &local_, cookie, &remote_, 1, flags);
        case Operation::fetch_add: {
            DAT_RMR_TRIPLET target = peer_words_.at(word_offset(endpoint, kAtomic), kAtomicSize);
            return dat_ib_post_fetch_and_add(ep, 1, &local_, cookie, &target, flags);
        }
        case Operation::compare_swap: {
            DAT_RMR_TRIPLET target = peer_words_.at(word_offset(endpoint, kAtomic), kAtomicSize);
            const std::uint64_t now = states_[endpoint].posted;
            return dat_ib_post_cmp_and_swap(ep, now, now + 1, &local_, cookie, &target, flags);
        }
    }
    return DAT_INVALID_PARAMETER;
}

void Lane::post_receive(unsigned endpoint) {
    DAT_LMR_TRIPLET segment = in_.at(0, static_cast<DAT_SEG_LENGTH>(in_.length()));
    require_success(
        dat_ep_post_recv(ends_.endpoints[endpoint], 1, &segment,
                         cookie_of(Kind::receive, endpoint, 0), DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_recv", kPostHelp);
}

void Lane::post_owed(State& state, unsigned endpoint) {
    for (; state.owed > 0; --state.owed) post_receive(endpoint);
}

/// Posts the receive again before the sender gets the credit for it, or after the answer to the
/// message, which does not have to wait for that.
void Lane::count_receive(unsigned endpoint) {
    State& state = states_[endpoint];
    ++state.owed;
    if (!measurement_.ping_pong()) post_owed(state, endpoint);
    ++state.received;
    const unsigned step = std::max(terms_.receives() / 4, 1U);
    if (!credits_ || state.received % step != 0) return;
    word(endpoint, kCreditOut) = state.received;
    DAT_LMR_TRIPLET from = words_.at(word_offset(endpoint, kCreditOut), sizeof(std::uint64_t));
    const DAT_RMR_TRIPLET to =
        peer_words_.at(word_offset(endpoint, kCreditIn), sizeof(std::uint64_t));
    require_success(dat_ep_post_rdma_write(ends_.endpoints[endpoint], 1, &from,
                                           cookie_of(Kind::credit, endpoint, 1), &to,
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_rdma_write", kPostHelp);
    ++state.outstanding;
}

Lane::Event Lane::digest(const DAT_EVENT& event) {
    const DAT_DTO_COMPLETION_EVENT_DATA& done = event.event_data.dto_completion_event_data;
    const bool known = event.event_number == DAT_DTO_COMPLETION_EVENT ||
                       event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
    if (!known || done.status != DAT_DTO_SUCCESS) event_failed(event);
    const std::uint64_t cookie = done.user_cookie.as_64;
    const Event taken{static_cast<Kind>(cookie >> 48),
                      static_cast<unsigned>(cookie >> 32) & 0xffff};
    if (taken.kind == Kind::receive)
        count_receive(taken.endpoint);
    else
        states_[taken.endpoint].outstanding -= static_cast<std::uint32_t>(cookie);
    return taken;
}

void Lane::event_failed(const DAT_EVENT& event) {
    const bool dto = event.event_number == DAT_DTO_COMPLETION_EVENT ||
                     event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
    const DAT_DTO_COMPLETION_STATUS status = event.event_data.dto_completion_event_data.status;
    // If the connection has ended, that is the cause and the rest follows from it.
    if (dto && (status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT))
        watch_.device.require_connections();
    throw Failure(std::string(name_of(measurement_.operation)),
                  dto ? tools::status_name(status) : tools::event_name(event.event_number),
                  "DAT_DTO_SUCCESS", "look at the other side's messages");
}

bool Lane::try_take(Event& taken) {
    DAT_EVENT event;
    const DAT_RETURN code = dat_evd_dequeue(ends_.evd, &event);
    if (code == DAT_SUCCESS) {
        taken = digest(event);
        return true;
    }
    if (!is_empty(code)) require_success(code, "dat_evd_dequeue", kPostHelp);
    return false;
}

Lane::Event Lane::take() {
    Event taken;
    Patience patience(*this, SpinWait::For::kQueue);
    if (!measurement_.blocking) {
        while (!try_take(taken)) patience.idle();
        return taken;
    }
    DAT_EVENT event;
    DAT_COUNT more = 0;
    for (;;) {
        const DAT_RETURN code = dat_evd_wait(ends_.evd, kSliceUs, 1, &event, &more);
        if (code == DAT_SUCCESS) return digest(event);
        if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(code) != DAT_INTERRUPTED_CALL)
            require_success(code, "dat_evd_wait", kPostHelp);
        patience.slice_passed();
    }
}

void Lane::take_receive() {
    while (take().kind != Kind::receive) continue;
}

void Lane::await_byte(unsigned char value) {
    const volatile unsigned char& byte = in_.data()[measurement_.size - 1];
    Patience patience(*this, SpinWait::For::kMemory);
    while (byte != value) patience.idle();
    std::atomic_thread_fence(std::memory_order_acquire);
}

void Lane::drain(unsigned endpoint) {
    while (states_[endpoint].outstanding > 0) take();
    post_owed(states_[endpoint], endpoint);
}

void Lane::register_once() {
    DAT_LMR_CONTEXT lmr_context = 0;
    DAT_RMR_CONTEXT rmr_context = 0;
    const DAT_LMR_HANDLE lmr =
        register_memory(watch_.device, out_.data(), measurement_.size, lmr_context, rmr_context);
    if (measurement_.operation == Operation::registration_write) {
        local_.lmr_context = lmr_context;
        post(0, true);
        drain(0);
    }
    require_success(dat_lmr_free(lmr), "dat_lmr_free", "report this as a fault of the provider");
}

void Lane::Patience::look() {
    check_interrupt();
    lane_.watch_.device.require_connections();
    if (lane_.watch_.channel.closed()) {
        throw Failure("wait", "the other side has ended", "a running process",
                      "look at the other side's messages");
    }
    const double now = tools::now_us();
    if (began_us_ == 0) began_us_ = now;
    if (now - began_us_ < lane_.watch_.timeout_seconds * 1e6) return;
    throw Failure("wait", "no progress",
                  format("the next step of a %s within %.0f seconds",
                         std::string(name_of(lane_.measurement_.operation)).c_str(),
                         lane_.watch_.timeout_seconds),
                  "check the other side, which may hang; --timeout allows more time");
}

}  // namespace perf
