// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Declarations common to the routes. The functions of the device have their public names in the
/// softverbs core; only libsoftverbs.so renames them to soft0_NAME (local.mk), so that the routes
/// can have the public names.
#pragma once

// The headers wrap some of the names in macros.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/passthrough/system_library.hpp"
