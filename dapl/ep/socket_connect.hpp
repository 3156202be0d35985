// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "dapl/base/dat.hpp"

#include <cstdarg>

namespace dapl {

/// dat_iw_socket_connect.
DAT_RETURN connect_over_socket(DAT_HANDLE ep, va_list arguments);

}  // namespace dapl
