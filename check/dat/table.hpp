// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The provider functions with checks around them. A decorator of any table of DAT functions.
#pragma once

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#include <string_view>

#include "check/model/finding.hpp"

namespace check::dat {

/// @return what the user wants of an IA. Reports unknown words once. No lock may be held.
Policy policy_of(std::string_view ia_name);

/// Puts checks around the functions of a provider's table; does nothing if the policy asks for
/// none. The table's memory identifies it, and is never used for another purpose. Not thread safe.
/// @param table its `extension` points at a support::ProviderMark.
void decorate(DAT_PROVIDER& table, const Policy& policy);

}  // namespace check::dat
