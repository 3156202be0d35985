// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which sanitizer a test was built with, for the few that must know.
#pragma once

#include <cstdint>

#if !defined(__has_feature)
#define __has_feature(feature) 0  // g++ has macros of its own
#endif

namespace test {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
/// It cannot follow a child that starts threads after its parent, which had some, forked.
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// A byte that the device writes while the program watches it: ThreadSanitizer knows of no
/// completion that orders the two.
[[gnu::no_sanitize_thread]] inline std::uint8_t watch(const volatile std::uint8_t& byte) {
    return byte;
}

}  // namespace test
