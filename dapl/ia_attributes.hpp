// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What dat_ia_query says about an adapter instance.
#pragma once

#include "dapl/ia.hpp"

namespace dapl {

/// Fills in the DAT_IB_* names and values of this adapter instance.
void name_attributes(Ia& ia);

}  // namespace dapl
