// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports the limit that made a post fail, or that the device has refused it, once each in a
/// process, since programs may post until a queue is full. The caller holds no spin lock.
#pragma once

#include "dapl/base/dat.hpp"

#include <cstdint>

namespace dapl {

class Ep;
class Ia;

/// A refused post, with the limits that applied to it.
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

/// Returns whether the limit behind this code has not been reported yet; only then are the facts
/// worth collecting.
bool is_unreported_limit(DAT_RETURN code);
/// Reports the limit, if the facts show that it was exceeded.
void report_limit_of_post(const RefusedPost& post, DAT_RETURN code);

/// Reports that the device has refused a post. @param what "a receive" or "a request".
[[gnu::cold]] void report_post_refused_by_device(const Ia& ia, int error_number, const char* what);

/// Reports why a post on an EP has failed, by its limits or by the device.
/// @param operation DAT_DTOS or DAT_IB_DTOS. @param code of the post; may be DAT_SUCCESS.
void report_refused_post(Ep& ep, std::uint32_t operation, DAT_COUNT segments,
                         const DAT_LMR_TRIPLET* local, DAT_RETURN code);

/// Reports that a post of the fast path was refused, if the device has refused it. @return the
/// code.
[[gnu::cold, gnu::noinline]] DAT_RETURN fast_post_refused(Ep& ep, std::uint32_t operation,
                                                          DAT_RETURN code);

}  // namespace dapl
