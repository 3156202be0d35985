// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What uDAPL on AIX lacks, answered as its guide says: the attributes tell, and the calls answer
/// DAT_MODEL_NOT_SUPPORTED where DAT 2.0 has an attribute that tells, else DAT_NOT_IMPLEMENTED.
#pragma once

#include "dapl/base/dat.hpp"

namespace dapl {

void limit_to_aix(DAT_PROVIDER& table);
void limit_to_aix(DAT_IA_ATTR& attributes);
void limit_to_aix(DAT_PROVIDER_ATTR& attributes);

}  // namespace dapl
