// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <system_error>

#include "dapl/codes.hpp"

namespace dapl::cm {

/// @param error an errno value. @param what was tried; the cause reads `WHAT: text of the error`.
inline tl::unexpected<support::Error> system_failure(int error, const std::string& what) {
    return support::failure(from_errno(error),
                            what + ": " + std::generic_category().message(error));
}

}  // namespace dapl::cm
