// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Waiting for events and checking them, and the contents of messages.
#include <cstring>

#include "test/dtest/pattern.hpp"
#include "test/dtest_ext/connection.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr double kSliceUs = 100e3;
constexpr unsigned char kMark = 0xee;

bool try_take(DAT_EVD_HANDLE evd, double microseconds, DAT_EVENT& event) {
    DAT_COUNT more = 0;
    const DAT_RETURN code =
        dat_evd_wait(evd, static_cast<DAT_TIMEOUT>(microseconds), 1, &event, &more);
    if (code == DAT_SUCCESS) return true;
    const auto type = DAT_GET_TYPE(code);
    if (type != DAT_GET_TYPE(DAT_TIMEOUT_EXPIRED) && type != DAT_GET_TYPE(DAT_QUEUE_EMPTY) &&
        type != DAT_GET_TYPE(DAT_INTERRUPTED_CALL))
        require_success(code, "dat_evd_wait", kFault);
    return false;
}

/// @return the events on the asynchronous EVD, for messages.
std::string evidence(const Context& context) {
    std::string text;
    DAT_EVENT event;
    while (dat_evd_dequeue(context.device.asynchronous(), &event) == DAT_SUCCESS)
        text += (text.empty() ? " (" : ", ") + event_name(event.event_number);
    return text.empty() ? text : text + ")";
}

bool is_extension(const DAT_EVENT& event) {
    return event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
}

std::string describe(bool extension, unsigned operation, int type, DAT_DTO_COMPLETION_STATUS status,
                     std::uint64_t cookie, std::uint32_t length) {
    const std::string kind =
        extension ? format("DAT_IB_DTO_EVENT, operation 0x%x, type 0x%x", operation, type)
                  : "DAT_DTO_COMPLETION_EVENT";
    return kind + format(", %s, %u bytes, cookie %llu", status_name(status).c_str(), length,
                         static_cast<unsigned long long>(cookie));
}

dtest::Pattern pattern(const Context& context, bool server, unsigned index) {
    return {(std::uint64_t{context.options.seed} * 2 + (server ? 1 : 0)) & 0xffff, index};
}

}  // namespace

DAT_EVENT wait_event(const Context& context, DAT_EVD_HANDLE evd, const char* what) {
    const Deadline deadline(context.options.timeout_seconds);
    DAT_EVENT event;
    std::memset(&event, 0, sizeof event);
    while (!try_take(evd, deadline.left_us(kSliceUs), event)) {
        const bool gone = context.other.gone();
        // The other side's last event may have arrived just before it ended.
        if (gone && try_take(evd, 0, event)) break;
        if (!gone && !deadline.passed()) continue;
        throw Failure("dat_evd_wait",
                      (gone ? "the other side has ended" : "no event came") + evidence(context),
                      format("a %s within %.0f seconds", what, deadline.seconds()),
                      "look at the other side's messages");
    }
    return event;
}

DAT_IB_EXTENSION_EVENT_DATA extension_of(const DAT_EVENT& event) {
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memcpy(&extension, event.event_extension_data, sizeof extension);
    return extension;
}

DAT_DTO_COOKIE make_cookie(std::uint64_t value) {
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = value;
    return cookie;
}

void require_completion(const DAT_EVENT& event, DAT_EP_HANDLE ep, const char* what,
                        const Completion& expected) {
    const bool extension = is_extension(event);
    if (!extension && event.event_number != DAT_DTO_COMPLETION_EVENT)
        throw Failure(what, event_name(event.event_number), "a completion", kFault);
    const DAT_DTO_COMPLETION_EVENT_DATA& done = event.event_data.dto_completion_event_data;
    const std::string found = describe(extension, done.operation, extension_of(event).type,
                                       done.status, done.user_cookie.as_64, done.transfered_length);
    const std::string wanted =
        describe(expected.operation != DAT_IB_DTOS{}, expected.operation, expected.type,
                 DAT_DTO_SUCCESS, expected.cookie, expected.length);
    if (found != wanted) throw Failure(what, found, wanted, kFault);
    if (done.ep_handle != ep)
        throw Failure(what, "an event of another endpoint", "one of its own endpoint", kFault);
}

void require_immediate(const DAT_EVENT& event, std::uint32_t expected) {
    const std::uint32_t found = extension_of(event).val.immed.data;
    if (found == expected) return;
    throw Failure("immediate data", format("0x%08x", found), format("0x%08x", expected),
                  "give both sides the same --seed; else report it as a fault of the provider");
}

void require_refusal(DAT_RETURN code, const char* call, DAT_RETURN expected) {
    if (DAT_GET_TYPE(code) == DAT_GET_TYPE(expected)) return;
    const char* name = "";
    const char* minor = "";
    // Only the name is used: the numeric code would add nothing to it.
    dat_strerror(DAT_CLASS_ERROR | expected, &name, &minor);
    throw Failure(call, code_name(code), name, kFault);
}

std::uint32_t number_from(const Context& context, bool server, unsigned index) {
    const std::uint32_t number = context.options.seed * 0x9e3779b1u + index * 0x85ebca6bu;
    return server ? ~number : number;
}

void fill(const Context& context, void* memory, std::size_t size, unsigned index) {
    pattern(context, context.options.server(), index).fill(memory, size, 0);
}

void require_bytes(const Context& context, const void* memory, std::size_t size, unsigned index,
                   const char* what) {
    const dtest::Pattern expected = pattern(context, !context.options.server(), index);
    const auto wrong = expected.first_difference(memory, size, 0);
    if (!wrong) return;
    throw Failure(what,
                  format("byte %zu of %zu is 0x%02x", *wrong, size,
                         static_cast<const unsigned char*>(memory)[*wrong]),
                  format("0x%02x", expected.at(*wrong)),
                  "give both sides the same --seed; else report it as a fault of the provider");
}

void mark(void* memory, std::size_t size) {
    std::memset(memory, kMark, size);
}

void require_untouched(const void* memory, std::size_t size, const char* what) {
    const auto* bytes = static_cast<const unsigned char*>(memory);
    for (std::size_t i = 0; i < size; ++i) {
        if (bytes[i] == kMark) continue;
        throw Failure(what, format("byte %zu has become 0x%02x", i, bytes[i]),
                      "memory that nothing is put into", kFault);
    }
}

}  // namespace dtest_ext
