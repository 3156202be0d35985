// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Restricts DAT 2.0 to a part of it, to test how a program behaves when it lacks the rest.
#pragma once

namespace support {

enum class ApiProfile {
    kFull,
    kAix  ///< what uDAPL on AIX offers
};

/// @return what the setting OPENDAT_API_PROFILE asks for; an unknown value is reported once.
/// Control path only.
ApiProfile api_profile();

}  // namespace support
