// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "test/support/sanitizer.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHasRegistrationCache = false;  ///< the sanitizer replaces malloc()
#else
#define HAS_REGISTRATION_CACHE
inline constexpr bool kHasRegistrationCache = true;
#endif

/// @return how many regions the cache has registered. For programs linked with
/// registration_cache.cpp.
int registrations_of_cache();
