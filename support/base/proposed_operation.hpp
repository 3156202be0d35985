// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Operations of dat_extension() (dat_extensions.h) reach a provider as dat_extension_op().
#pragma once

#include <dat2/udat.h>

#include <dat2/dat_extensions.h>
#include <dat2/dat_opendat.h>

namespace support {

/// @return the number that the operation has for dat_extension_op().
constexpr unsigned proposed(DAT_EXT_OP operation) {
    return unsigned{DAT_OPENDAT_PROPOSED_OP} + unsigned{operation};
}

}  // namespace support
