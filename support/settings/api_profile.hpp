// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which of DAT 2.0 there is, to try how a program does where it lacks a part.
#pragma once

namespace support {

enum class ApiProfile {
    kFull,
    kAix  ///< what uDAPL on AIX has
};

/// What the setting OPENDAT_API_PROFILE says; another value is reported once. Control path only.
ApiProfile api_profile();

}  // namespace support
