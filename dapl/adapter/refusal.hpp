// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a device or the system does not give. Each function tells the user.
#pragma once

#include <cerrno>
#include <cstdint>

#include "dapl/base/codes.hpp"

namespace dapl {

class Ia;

/// The system has made no descriptor, or no memory for one.
/// @param what the descriptor would have been for, with its article.
tl::unexpected<support::Error> refused_by_system(int error_number, const char* what);

/// @param what the device refused, with its article.
tl::unexpected<support::Error> refused_by_device(const Ia& ia, int error_number, const char* what);

/// Some devices cannot change the size of what they have made: nothing is wrong with them.
inline bool is_beyond_device(int error_number) {
    return error_number == ENOSYS || error_number == EOPNOTSUPP;
}

/// A registration is told of once in a process, and only where a limit is reached: consumers'
/// caches try until one fails and then give others back.
void registration_refused(const Ia& ia, int error_number, std::uint64_t bytes);

}  // namespace dapl
