// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks the private data that a consumer passes, before anything else is done with it.
#pragma once

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl {

/// @param limit in bytes. @param size_number, data_number positions of the two arguments, for the
/// code of a failure.
inline support::Result<cm::PrivateData> private_data(DAT_COUNT size, const void* data,
                                                     std::size_t limit, int size_number,
                                                     int data_number) {
    if (size < 0 || static_cast<std::size_t>(size) > limit)
        return support::failure(bad_argument(size_number));
    if (size > 0 && !data) return support::failure(bad_argument(data_number));
    return cm::PrivateData(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
}

}  // namespace dapl
