// SPDX-License-Identifier: BSD-2-Clause
#include "support/trace/trace_points.hpp"

#include <pthread.h>

#include "support/base/guard.hpp"
#include "support/trace/probes.hpp"
#include "support/trace/trace_line.hpp"
#include "support/trace/trace_text.hpp"

namespace support {
namespace {

/// A name, cut to what a record holds.
struct Label {
    explicit Label(const char* text) { std::memcpy(bytes, text, strnlen(text, sizeof bytes)); }
    std::uint64_t word(int number) const {
        std::uint64_t result;
        std::memcpy(&result, bytes + 8 * number, sizeof result);
        return result;
    }
    char bytes[24] = {};
};

void write_text(const TraceRecord& record) {
    trace(Level::kDebug, "{}", to_text(record));
}

/// Has no cleanup in its frame: the thread may be one that can be cancelled at any moment.
[[gnu::noinline, gnu::cold]] void write_line(const TraceRecord& record) {
    int type, state;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    guarded<int>([&record] { return write_text(record), 0; }, 0, 0);
    pthread_setcancelstate(state, nullptr);
    pthread_setcanceltype(type, nullptr);
}

/// Writes an event to the ring and, if the trace level is at least `line_level`, to the log.
void tell(int line_level, bool failed, TraceEvent event, std::uint32_t what, std::uint64_t object,
          std::uint64_t value0 = 0, std::uint64_t value1 = 0, std::uint64_t value2 = 0,
          std::uint64_t value3 = 0, std::uint64_t value4 = 0) {
    trace_record(failed, event, what, object, value0, value1, value2, value3, value4);
    if (trace_level() < line_level) [[likely]]
        return;
    write_line({0,
                trace_hook(failed),
                static_cast<std::uint16_t>(event),
                what,
                object,
                {value0, value1, value2, value3, value4}});
}

void message(TraceEvent event, std::uint64_t endpoint, const char* name, std::uint64_t ports,
             std::size_t bytes) {
    const Label label(name);
    tell(kLineOfConnection, false, event, 0, endpoint, ports, bytes, label.word(0), label.word(1),
         label.word(2));
}

}  // namespace

void trace_call(TraceCall call, std::uint64_t object, const std::uint64_t (&arguments)[5]) {
    const auto number = static_cast<std::uint32_t>(call);
    PROBE(call, number, object, arguments[0], arguments[1], arguments[2]);
    tell(kLineOfTransfer, false, TraceEvent::kCall, number, object, arguments[0], arguments[1],
         arguments[2], arguments[3], arguments[4]);
}

void trace_return(TraceCall call, TracePath path, std::uint64_t object, std::uint32_t code,
                  std::uint64_t made) {
    const auto number = static_cast<std::uint32_t>(call);
    PROBE(call_return, number, object, code, made);
    tell(path == TracePath::kControl ? kLineOfCall : kLineOfTransfer, code != 0,
         TraceEvent::kReturn, number, object, code, made);
}

void trace_state(std::uint64_t endpoint, std::uint32_t cause, const char* label, std::uint32_t from,
                 std::uint32_t to) {
    PROBE(state, endpoint, from, to, cause);
    const Label name(label);
    tell(kLineOfConnection, false, TraceEvent::kState, cause, endpoint, from, to, name.word(0),
         name.word(1), name.word(2));
}

void trace_sent(std::uint64_t endpoint, const char* label, std::uint64_t ports, std::size_t bytes) {
    PROBE(sent, endpoint, label, ports, bytes);
    message(TraceEvent::kSent, endpoint, label, ports, bytes);
}

void trace_received(std::uint64_t endpoint, const char* label, std::uint64_t ports,
                    std::size_t bytes) {
    PROBE(received, endpoint, label, ports, bytes);
    message(TraceEvent::kReceived, endpoint, label, ports, bytes);
}

void trace_post(std::uint64_t endpoint, const TracePost& post, std::uint32_t code) {
    const auto number = static_cast<std::uint32_t>(post.call);
    PROBE(post, endpoint, number, post.cookie, post.length, post.segments, post.flags, code);
    tell(kLineOfTransfer, code != 0, TraceEvent::kPost, number, endpoint, post.cookie, post.length,
         static_cast<std::uint64_t>(post.segments), post.flags, code);
}

void trace_completion(std::uint64_t endpoint, std::uint64_t evd,
                      const TraceCompletion& completion) {
    PROBE(completion, endpoint, evd, completion.cookie, completion.status, completion.operation,
          completion.bytes);
    tell(kLineOfTransfer, completion.status != 0, TraceEvent::kCompletion, completion.event_number,
         endpoint, completion.cookie, completion.status, completion.operation, completion.bytes,
         evd);
}

void trace_event(std::uint64_t evd, std::uint32_t event_number) {
    PROBE(event, evd, event_number);
    tell(kLineOfTransfer, false, TraceEvent::kEvent, event_number, evd);
}

void trace_trigger(std::uint64_t cno, std::uint64_t evd) {
    PROBE(trigger, cno, evd);
    tell(kLineOfTransfer, false, TraceEvent::kTrigger, 0, cno, evd);
}

void trace_trigger_taken(std::uint64_t cno, std::uint64_t evd) {
    PROBE(trigger_taken, cno, evd);
    tell(kLineOfTransfer, false, TraceEvent::kTriggerTaken, 0, cno, evd);
}

}  // namespace support
