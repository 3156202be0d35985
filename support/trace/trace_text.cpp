// SPDX-License-Identifier: BSD-2-Clause
#include "support/trace/trace_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "support/base/object_id.hpp"

namespace support {
namespace {

constexpr const char* kCallNames[] = {
    "no call",
#define CALL(name, path) "dat_" #name,
#define OWN_CALL(name, path) "dat_" #name,
#include "support/trace/trace_calls.def"
#undef CALL
#undef OWN_CALL
};

/// In the order of DAT_EP_STATE.
constexpr const char* kStateNames[] = {
    "UNCONNECTED",
    "UNCONFIGURED_UNCONNECTED",
    "RESERVED",
    "UNCONFIGURED_RESERVED",
    "PASSIVE_CONNECTION_PENDING",
    "UNCONFIGURED_PASSIVE",
    "ACTIVE_CONNECTION_PENDING",
    "TENTATIVE_CONNECTION_PENDING",
    "UNCONFIGURED_TENTATIVE",
    "CONNECTED",
    "DISCONNECT_PENDING",
    "DISCONNECTED",
    "COMPLETION_PENDING",
    "CONNECTED_SINGLE_PATH",
    "CONNECTED_MULTI_PATH",
};

/// In the order of the core's kinds: bits 28 to 31 of an id are its kind.
constexpr const char* kKindNames[] = {"IA",  "PZ", "LMR", "EVD", "CNO", "EP", "PSP",
                                      "RSP", "CR", "SRQ", "CSP", "RMR", "SSP"};

std::string label_of(const TraceRecord& record) {
    char text[25] = {};
    std::memcpy(text, &record.values[2], 24);
    return text;
}

std::string arguments_of(const TraceRecord& record) {
    const auto end =
        std::find_if(std::rbegin(record.values), std::rend(record.values), [](std::uint64_t value) {
            return value != 0;
        }).base();
    std::string text;
    for (auto value = std::begin(record.values); value != end; ++value)
        text += fmt::format("{}{:#x}", text.empty() ? "" : ", ", *value);
    return text;
}

std::string message_text(const char* verb, const TraceRecord& record) {
    return fmt::format("{} {}, port {} to {}, {} bytes", verb, label_of(record),
                       record.values[0] >> 32, record.values[0] & 0xffffffff, record.values[1]);
}

std::string event_text(const TraceRecord& record, bool has_ids) {
    const auto& values = record.values;
    switch (static_cast<TraceEvent>(record.event)) {
        case TraceEvent::kCall:
            return fmt::format("{}({})", call_name(record.what), arguments_of(record));
        case TraceEvent::kReturn:
            return fmt::format("{} = {:#x}{}", call_name(record.what), values[0],
                               values[1] ? ", created " + object_name(values[1], has_ids) : "");
        case TraceEvent::kState:
            return fmt::format("{} -> {}: {}", ep_state_name(static_cast<std::uint32_t>(values[0])),
                               ep_state_name(static_cast<std::uint32_t>(values[1])),
                               label_of(record));
        case TraceEvent::kSent:
            return message_text("sent", record);
        case TraceEvent::kReceived:
            return message_text("received", record);
        case TraceEvent::kPost:
            return fmt::format("{} cookie {:#x}, {} segments, first {} bytes, flags {:#x} = {:#x}",
                               call_name(record.what), values[0], values[2], values[1], values[3],
                               values[4]);
        case TraceEvent::kCompletion:
            return fmt::format("event {:#x} cookie {:#x}, status {}, operation {:#x}, {} bytes, {}",
                               record.what, values[0], values[1], values[2], values[3],
                               object_name(values[4], true));
        case TraceEvent::kEvent:
            return fmt::format("event {:#x}", record.what);
        case TraceEvent::kTrigger:
            return "triggered by " + object_name(values[0], true);
        case TraceEvent::kTriggerTaken:
            return "trigger consumed, " +
                   (values[0] ? object_name(values[0], true) : std::string("no EVD is left"));
        case TraceEvent::kMessage:
            return fmt::format("message DAT{:03}", record.what);
    }
    return fmt::format("unknown event {}", record.event);
}

}  // namespace

std::string call_name(std::uint32_t call) {
    return call < std::size(kCallNames) ? kCallNames[call] : fmt::format("call {}", call);
}

std::string ep_state_name(std::uint32_t state) {
    return state < std::size(kStateNames) ? kStateNames[state] : fmt::format("state {}", state);
}

std::string object_name(std::uint64_t object, bool is_id) {
    const std::uint32_t kind = object_kind(object);
    if (!is_id || kind >= std::size(kKindNames)) return fmt::format("handle {:#x}", object);
    return fmt::format("{} {:x}", kKindNames[kind], object);
}

std::string to_text(const TraceRecord& record) {
    const auto hook = static_cast<TraceHook>(record.hook);
    const bool dapl = hook == TraceHook::kDapl || hook == TraceHook::kDaplError;
    const std::string event = event_text(record, dapl);
    return record.object ? object_name(record.object, dapl) + " " + event : event;
}

}  // namespace support
