// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the routes share. The functions of the device bear their public names in the softverbs
/// core; in libsoftverbs.so alone they are renamed to soft0_NAME (local.mk), so that the routes can
/// have the public ones.
#pragma once

// The headers wrap some of the names in macros.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/passthrough/system_library.hpp"
