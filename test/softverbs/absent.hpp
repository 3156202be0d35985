// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks for verbs that the device does not have.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <type_traits>

namespace test {

/// Expects the call to fail with EOPNOTSUPP in errno.
template <class Call>
void absent(const Call& call) {
    errno = 0;
    const auto answer = call();
    if constexpr (std::is_pointer_v<decltype(answer)>) {
        EXPECT_EQ(answer, nullptr);
    } else {
        EXPECT_EQ(static_cast<long>(answer), -1);
    }
    EXPECT_EQ(errno, EOPNOTSUPP);
}

/// Like absent(), for calls that return the error.
#define ABSENT_BY_CODE(call) EXPECT_EQ(call, EOPNOTSUPP)

}  // namespace test
