// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records as text: for lines of the log, for dumps, and for tools that read other processes.
#pragma once

#include <cstdint>
#include <string>

#include "support/trace/trace_points.hpp"

namespace support {

/// @return "dat_ep_connect", or "call 4711" for one that this release does not know.
std::string call_name(std::uint32_t call);
/// @return "CONNECTED", or "state 4711".
std::string ep_state_name(std::uint32_t state);
/// @return "EP 1a2b50000003" for the id of an object; for other numbers, which are handles, "handle
/// 0x7".
std::string object_name(std::uint64_t object, bool is_id);
/// @return one line without time and thread: "EP 1a2b50000003 dat_ep_connect = 0x0".
std::string to_text(const TraceRecord& record);

}  // namespace support
