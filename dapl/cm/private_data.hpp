// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The consumer's private data on its way in: checked before anything is done with it.
#pragma once

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl {

/// @param limit in bytes. @param size_number, data_number of the arguments, for the code.
inline support::Result<cm::PrivateData> private_data(DAT_COUNT size, const void* data,
                                                     std::size_t limit, int size_number,
                                                     int data_number) {
    if (size < 0 || static_cast<std::size_t>(size) > limit)
        return support::failure(bad_argument(size_number));
    if (size > 0 && !data) return support::failure(bad_argument(data_number));
    return cm::PrivateData(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
}

}  // namespace dapl
