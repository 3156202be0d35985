// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Maps a slot of DAT_PROVIDER to its call in the trace. For libdat2 and the core, which know DAT's
/// headers; nothing else in this folder does.
#pragma once

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#include "support/trace/trace_points.hpp"

namespace support {

struct TraceSlot {
    TraceCall call;
    TracePath path;
};

/// @tparam slot a member pointer, &DAT_PROVIDER::ep_connect_func.
template <auto slot>
inline constexpr TraceSlot kTraceSlot{};
#define CALL(name, path)                                                               \
    template <>                                                                        \
    inline constexpr TraceSlot kTraceSlot<&DAT_PROVIDER::name##_func>{TraceCall::name, \
                                                                      TracePath::path};
#define OWN_CALL(name, path)
#include "support/trace/trace_calls.def"
#undef CALL
#undef OWN_CALL

/// Records a call with up to five arguments.
template <class... Arguments>
void trace_call_with(TraceCall call, std::uint64_t object, const Arguments&... arguments) {
    const std::uint64_t words[sizeof...(arguments) + 5] = {trace_word(arguments)...};
    trace_call(call, object, {words[0], words[1], words[2], words[3], words[4]});
}

}  // namespace support
