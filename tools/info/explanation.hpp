// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The dry run of dat_ia_open: the choices of the registry and of the provider.
#pragma once

#include <string>

#include "tools/info/finding.hpp"

namespace info {

/// Loads the provider, opens its device, and releases both.
/// @param thread_safe what the program asks for, as with DAT_THREADSAFE.
KnownFacts explain_ia(const std::string& ia_name, bool thread_safe);

}  // namespace info
