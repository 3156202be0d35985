// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What happens, told to whoever wants to know: the thread's ring, a USDT probe, and from some
/// level on a line of the log. Each function here is the one place of its kind of event. Thread
/// safe; a line may be written, so no spin lock may be held.
///
/// Points on the control path call them always. Points on the data path ask data_path_traced()
/// first; it is false below kDataPathLevel, unless somebody listens to a probe.
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

/// Levels from which on an event is a line of the log too.
inline constexpr int kLineOfConnection = 5;  ///< state changes and connection messages
inline constexpr int kLineOfCall = 7;        ///< returns of calls on the control path
inline constexpr int kLineOfTransfer = 10;   ///< everything

/// @param object id of the object the call is about, or 0. @param arguments the others.
void trace_call(TraceCall call, std::uint64_t object, const std::uint64_t (&arguments)[5]);
/// @param code a DAT_RETURN. @param made id of the object that the call has made, or 0.
void trace_return(TraceCall call, TracePath path, std::uint64_t object, std::uint32_t code,
                  std::uint64_t made);
/// @param label the cause's name; 24 bytes of it are kept.
void trace_state(std::uint64_t endpoint, std::uint32_t cause, const char* label, std::uint32_t from,
                 std::uint32_t to);
/// A message of a connection's set-up or end. @param ports own one in the upper, the peer's in the
/// lower half: the same pair, the other way round, is the other end. @param label which message.
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
/// An event of another kind that the consumer has taken.
void trace_event(std::uint64_t evd, std::uint32_t event_number);

/// An event of the EVD triggers the CNO; somebody who waits for the CNO has got the EVD, or 0.
void trace_trigger(std::uint64_t cno, std::uint64_t evd);
void trace_trigger_taken(std::uint64_t cno, std::uint64_t evd);

/// An argument of a call as a record keeps it: numbers and addresses; of larger ones nothing.
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
