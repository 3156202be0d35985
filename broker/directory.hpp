// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where the tables of the registration broker are.
#pragma once

#include <sys/types.h>

#include <string>

namespace dapl::memory {

/// OPENDAT_REGISTRATION_DIRECTORY, else the user's own.
std::string directory_path(uid_t user);

}  // namespace dapl::memory
