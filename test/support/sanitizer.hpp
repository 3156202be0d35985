// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sanitizer that a test was built with, for the few tests that must know.
#pragma once

#include <cstdint>

#if !defined(__has_feature)
#define __has_feature(feature) 0  // g++ defines macros instead
#endif

namespace test {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
/// The thread sanitizer does not support new threads in the forked child of a multi-threaded
/// process.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// Reads a byte that the device may be writing. The thread sanitizer would report a race, since it
/// sees no completion that orders the two.
[[gnu::no_sanitize_thread]] inline std::uint8_t watch(const volatile std::uint8_t& byte) {
    return byte;
}

}  // namespace test
