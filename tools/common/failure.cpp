// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/failure.hpp"

#include <cstdarg>
#include <cstdio>
#include <vector>

namespace tools {

namespace {

struct Name {
    unsigned value;
    const char* name;
};

std::string find_name(const Name* names, size_t count, unsigned value, const char* kind) {
    for (size_t i = 0; i < count; ++i) {
        if (names[i].value == value) return names[i].name;
    }
    return format("unknown %s 0x%x", kind, value);
}

}  // namespace

std::string format(const char* pattern, ...) {
    va_list arguments, again;
    va_start(arguments, pattern);
    va_copy(again, arguments);
    std::vector<char> text(static_cast<size_t>(std::vsnprintf(nullptr, 0, pattern, arguments)) + 1);
    std::vsnprintf(text.data(), text.size(), pattern, again);
    va_end(again);
    va_end(arguments);
    return text.data();
}

std::string code_name(DAT_RETURN code) {
    const char* major = "unknown code";
    const char* minor = "";
    // The return code adds nothing to the texts.
    dat_strerror(code, &major, &minor);
    return format("%s%s%s (0x%08x)", major, *minor ? " " : "", minor, code);
}

#define NAME(x) \
    { static_cast<unsigned>(x), #x }

std::string event_name(DAT_EVENT_NUMBER number) {
    static const Name names[] = {
        NAME(DAT_DTO_COMPLETION_EVENT),
        NAME(DAT_RMR_BIND_COMPLETION_EVENT),
        NAME(DAT_CONNECTION_REQUEST_EVENT),
        NAME(DAT_CONNECTION_EVENT_ESTABLISHED),
        NAME(DAT_CONNECTION_EVENT_PEER_REJECTED),
        NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
        NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
        NAME(DAT_CONNECTION_EVENT_DISCONNECTED),
        NAME(DAT_CONNECTION_EVENT_BROKEN),
        NAME(DAT_CONNECTION_EVENT_TIMED_OUT),
        NAME(DAT_CONNECTION_EVENT_UNREACHABLE),
        NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW),
        NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
        NAME(DAT_ASYNC_ERROR_EP_BROKEN),
        NAME(DAT_ASYNC_ERROR_TIMED_OUT),
        NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
        NAME(DAT_SOFTWARE_EVENT),
    };
    return find_name(names, std::size(names), static_cast<unsigned>(number), "event");
}

std::string status_name(DAT_DTO_COMPLETION_STATUS status) {
    static const Name names[] = {
        NAME(DAT_DTO_SUCCESS),
        NAME(DAT_DTO_ERR_FLUSHED),
        NAME(DAT_DTO_ERR_LOCAL_LENGTH),
        NAME(DAT_DTO_ERR_LOCAL_EP),
        NAME(DAT_DTO_ERR_LOCAL_PROTECTION),
        NAME(DAT_DTO_ERR_BAD_RESPONSE),
        NAME(DAT_DTO_ERR_REMOTE_ACCESS),
        NAME(DAT_DTO_ERR_REMOTE_RESPONDER),
        NAME(DAT_DTO_ERR_TRANSPORT),
        NAME(DAT_DTO_ERR_RECEIVER_NOT_READY),
        NAME(DAT_DTO_ERR_PARTIAL_PACKET),
        NAME(DAT_DTO_ERR_LOCAL_MM_ERROR),
    };
    return find_name(names, std::size(names), static_cast<unsigned>(status), "DTO status");
}

void require_success(DAT_RETURN code, const char* call, const char* next_step) {
    if (code == DAT_SUCCESS) return;
    const bool is_limit = DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES;
    throw Failure(call, code_name(code), "DAT_SUCCESS",
                  is_limit ? "raise the limit that the preceding message names" : next_step);
}

void require_open(DAT_RETURN code, const std::string& ia) {
    require_success(code, ("dat_ia_open " + ia).c_str(), "see the preceding message");
}

/// The library reports failures of its own attempts, but not the peer program's answer.
void require_established(DAT_EVENT_NUMBER number, const char* call) {
    if (number == DAT_CONNECTION_EVENT_ESTABLISHED) return;
    const bool is_told = number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                         number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                         number == DAT_CONNECTION_EVENT_TIMED_OUT;
    throw Failure(call, event_name(number), "DAT_CONNECTION_EVENT_ESTABLISHED",
                  is_told
                      ? "see the preceding message"
                      : "see the other side's messages; both must use the same kind of provider");
}

}  // namespace tools
