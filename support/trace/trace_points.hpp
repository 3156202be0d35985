// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Trace points: each event goes to the thread's ring, to a USDT probe, and at some trace levels to
/// a line of the log. Each function here is the one place for its kind of event. Thread safe; must
/// not be called with a spin lock held, since a line may be written.
///
/// Points on the control path always call them. Points on the data path test data_path_traced()
/// first, which is false below kDataPathLevel unless somebody listens to a probe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "support/trace/trace_ring.hpp"

namespace support {

enum class TraceCall : std::uint32_t {
    kNone,
#define CALL(name, path) name,
#define OWN_CALL(name, path) name,
#include "support/trace/trace_calls.def"
#undef CALL
#undef OWN_CALL
};

enum class TracePath { kControl, kData };

/// Levels from which on an event also becomes a line of the log.
inline constexpr int kLineOfConnection = 5;  ///< state changes and connection messages
inline constexpr int kLineOfCall = 7;        ///< returns of calls on the control path
inline constexpr int kLineOfTransfer = 10;   ///< all events

/// @param object id of the object that the call is about, or 0. @param arguments the other
/// arguments.
void trace_call(TraceCall call, std::uint64_t object, const std::uint64_t (&arguments)[5]);
/// @param code a DAT_RETURN. @param made id of the object that the call made, or 0.
void trace_return(TraceCall call, TracePath path, std::uint64_t object, std::uint32_t code,
                  std::uint64_t made);
/// @param label the cause's name; 24 bytes of it are kept.
void trace_state(std::uint64_t endpoint, std::uint32_t cause, const char* label, std::uint32_t from,
                 std::uint32_t to);
/// A message of connection set-up or teardown. @param ports the local port in the upper half, the
/// peer's in the lower: the same pair the other way round is the other end. @param label which
/// message.
void trace_sent(std::uint64_t endpoint, const char* label, std::uint64_t ports, std::size_t bytes);
void trace_received(std::uint64_t endpoint, const char* label, std::uint64_t ports,
                    std::size_t bytes);

// Points on the data path.
struct TracePost {
    TraceCall call;
    std::uint64_t cookie, length;
    int segments;
    unsigned flags;
};
void trace_post(std::uint64_t endpoint, const TracePost& post, std::uint32_t code);
struct TraceCompletion {
    std::uint32_t event_number;
    std::uint64_t cookie;
    std::uint32_t status, operation;
    std::uint64_t bytes;
};
void trace_completion(std::uint64_t endpoint, std::uint64_t evd, const TraceCompletion& completion);
/// An event of another kind that the consumer has dequeued.
void trace_event(std::uint64_t evd, std::uint32_t event_number);

/// trace_trigger: an event of the EVD triggers the CNO. trace_trigger_taken: a waiter on the CNO
/// has got the EVD, or 0.
void trace_trigger(std::uint64_t cno, std::uint64_t evd);
void trace_trigger_taken(std::uint64_t cno, std::uint64_t evd);

/// @return an argument as a record keeps it: numbers and addresses; 0 for larger ones.
template <class Argument>
std::uint64_t trace_word(const Argument& argument) {
    std::uint64_t word = 0;
    // NOLINTBEGIN(bugprone-sizeof-expression): of pointers too
    if constexpr (sizeof(Argument) <= sizeof word && std::is_trivially_copyable_v<Argument>)
        std::memcpy(&word, &argument, sizeof argument);
    // NOLINTEND(bugprone-sizeof-expression)
    return word;
}

}  // namespace support
