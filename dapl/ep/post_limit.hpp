// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names the limit that has refused a post, once for each limit in a process: programs may post
/// until a queue is full. No spin lock is held by the caller.
#pragma once

#include "dapl/base/dat.hpp"

#include <cstdint>

namespace dapl {

class Ep;
class Ia;

/// A post that was refused, and the room that there was.
struct RefusedPost {
    const char* object;  ///< "EP" or "SRQ"
    DAT_HANDLE handle;
    std::uint64_t id;
    bool is_receive;
    bool is_read;
    DAT_COUNT max_dtos, posted;
    DAT_COUNT max_segments, segments;
    std::uint64_t max_length;
    const DAT_LMR_TRIPLET* local;
};

/// Whether the limit behind this code has not been reported yet: only then is it worth while to
/// collect the facts.
bool is_unreported_limit(DAT_RETURN code);
/// Reports the limit, where the facts show one.
void report_limit_of_post(const RefusedPost& post, DAT_RETURN code);

/// The same for a transfer that an EP has refused. @param operation DAT_DTOS or DAT_IB_DTOS.
void report_limit_of_post(Ep& ep, std::uint32_t operation, DAT_COUNT segments,
                          const DAT_LMR_TRIPLET* local, DAT_RETURN code);

}  // namespace dapl
