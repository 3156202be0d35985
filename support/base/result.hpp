// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What control-path functions return: a value, or the DAT code with the text of its cause.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace support {

/// A failure on its way to the caller. Who makes it has already told the user (log.hpp), once;
/// who passes it on adds nothing.
struct Error {
    std::uint32_t code;  ///< the complete DAT_RETURN, class bit as the caller expects it
    std::string cause;   ///< lower-case text for traces; empty where the code says all
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::uint32_t code, std::string cause = {}) {
    return tl::unexpected<Error>(Error{code, std::move(cause)});
}

}  // namespace support
