// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The result of control-path functions: a value, or the DAT code with a text for its cause.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace support {

/// A failure that is passed to the caller. The function that makes it has already reported it to
/// the user (log.hpp), once; functions that pass it on report nothing.
struct Error {
    std::uint32_t code;  ///< the complete DAT_RETURN, with the class bit that the caller expects
    std::string cause;   ///< lower-case text for traces; empty when the code is enough
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::uint32_t code, std::string cause = {}) {
    return tl::unexpected<Error>(Error{code, std::move(cause)});
}

}  // namespace support
