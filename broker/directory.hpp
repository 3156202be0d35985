// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The directory of the registration broker's tables.
#pragma once

#include <sys/types.h>

#include <string>

namespace dapl::memory {

/// @return OPENDAT_REGISTRATION_DIRECTORY if it is set, else the user's own status directory.
std::string directory_path(uid_t user);

}  // namespace dapl::memory
