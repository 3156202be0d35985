// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Removes what uDAPL on AIX lacks, in the way its guide describes: the attributes report it as
/// unsupported, and the calls return DAT_MODEL_NOT_SUPPORTED if DAT 2.0 has an attribute for the
/// feature, else DAT_NOT_IMPLEMENTED.
#pragma once

#include "dapl/base/dat.hpp"

namespace dapl {

void limit_to_aix(DAT_PROVIDER& table);
void limit_to_aix(DAT_IA_ATTR& attributes);
void limit_to_aix(DAT_PROVIDER_ATTR& attributes);

}  // namespace dapl
