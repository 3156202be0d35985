// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a device does not give. Registrations are not among it: consumers' caches try until one
/// fails and then give others back.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "dapl/codes.hpp"
#include "dapl/ia.hpp"
#include "dapl/support/log.hpp"

namespace dapl {

inline bool is_out_of_descriptors(int error_number) {
    return error_number == EMFILE || error_number == ENFILE;
}

/// The system has made no descriptor, or no memory for one. Tells the user which limit it was.
/// @param what the descriptor would have been for, with its article.
inline tl::unexpected<support::Error> refused_by_system(int error_number, const char* what) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (is_out_of_descriptors(error_number))
        support::report<support::kNoDescriptors>(
            what, std::generic_category().message(error_number), limit.rlim_cur);
    return support::failure(error(DAT_INSUFFICIENT_RESOURCES), what);
}

/// Tells the user. @param what the device refused, with its article.
inline tl::unexpected<support::Error> refused_by_device(const Ia& ia, int error_number,
                                                        const char* what) {
    if (is_out_of_descriptors(error_number)) return refused_by_system(error_number, what);
    support::report<support::kDeviceRefuses>(ibv_get_device_name(ia.context()->device), what,
                                             std::generic_category().message(error_number));
    return support::failure(from_errno(error_number), what);
}

}  // namespace dapl
