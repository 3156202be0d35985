// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a device does not give. Registrations are not among it: consumers' caches try until one
/// fails and then give others back.
#pragma once

#include <system_error>

#include "dapl/codes.hpp"
#include "dapl/ia.hpp"
#include "dapl/support/log.hpp"

namespace dapl {

/// Tells the user. @param what the device refused, with its article.
inline tl::unexpected<support::Error> refused_by_device(const Ia& ia, int error_number,
                                                        const char* what) {
    support::report<support::kDeviceRefuses>(ibv_get_device_name(ia.context()->device), what,
                                             std::generic_category().message(error_number));
    return support::failure(from_errno(error_number), what);
}

}  // namespace dapl
