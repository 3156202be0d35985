// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The dry run of dat_ia_open: the registry's and the provider's own choices.
#pragma once

#include <string>

#include "tools/info/finding.hpp"

namespace info {

/// @param thread_safe what the program asks for, as with DAT_THREADSAFE.
/// Loads the provider and opens its device, and gives both back.
KnownFacts explain_ia(const std::string& ia_name, bool thread_safe);

}  // namespace info
