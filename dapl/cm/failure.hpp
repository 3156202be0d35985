// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <system_error>

#include "dapl/base/codes.hpp"

namespace dapl::cm {

inline std::string text_of_error(int error) {
    return std::generic_category().message(error);
}

/// Makes a failure from an errno value. @param what the step that failed; the cause reads
/// `WHAT: text of the error`.
inline tl::unexpected<support::Error> system_failure(int error, const std::string& what) {
    return support::failure(from_errno(error), what + ": " + text_of_error(error));
}

}  // namespace dapl::cm
