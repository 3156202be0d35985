// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <system_error>

#include "dapl/base/codes.hpp"

namespace dapl::cm {

inline std::string text_of_error(int error) {
    return std::generic_category().message(error);
}

/// @param error an errno value. @param what was tried; the cause reads `WHAT: text of the error`.
inline tl::unexpected<support::Error> system_failure(int error, const std::string& what) {
    return support::failure(from_errno(error), what + ": " + text_of_error(error));
}

}  // namespace dapl::cm
