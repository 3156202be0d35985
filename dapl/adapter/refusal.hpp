// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Refusals by a device or by the system, reported to the user.
#pragma once

#include <cerrno>
#include <cstdint>

#include "dapl/base/codes.hpp"

namespace dapl {

class Ia;

/// Reports that the system created no descriptor, or had no memory for one.
/// @param what the purpose of the descriptor, with its article.
tl::unexpected<support::Error> refused_by_system(int error_number, const char* what);

/// Reports a refusal by the device. @param what the refused object, with its article.
tl::unexpected<support::Error> refused_by_device(const Ia& ia, int error_number, const char* what);

/// Whether the device does not implement the operation. Some devices cannot resize a queue: that is
/// no fault.
inline bool is_beyond_device(int error_number) {
    return error_number == ENOSYS || error_number == EOPNOTSUPP;
}

/// Reports a refused registration once per process, and only if a limit is reached: consumers'
/// registration caches register until it fails and then free other regions.
void registration_refused(const Ia& ia, int error_number, std::uint64_t bytes);

}  // namespace dapl
