// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The operations of dat_extension_op on datagram endpoints. Each reads its remaining arguments.
#pragma once

#include <cstdarg>

#include "dapl/base/dat.hpp"

namespace dapl {

/// dat_ib_post_send_ud; thread safe, never blocks.
DAT_RETURN post_send_ud(DAT_HANDLE ep, va_list arguments);
/// dat_ib_ud_cm_free: frees an exchange whose event's private data is no longer needed.
DAT_RETURN free_ud_exchange(DAT_HANDLE ep, va_list arguments);
/// dat_ib_ud_ah_free.
DAT_RETURN free_ud_address(DAT_HANDLE ep, va_list arguments);

}  // namespace dapl
