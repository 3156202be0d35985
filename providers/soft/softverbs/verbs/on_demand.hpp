// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Regions on demand: memory that need not be there when it is registered. The kernel copies it, so
/// their pages are found when they are used; here is only the advice that programs give before.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softverbs {

/// ibv_advise_mr: brings the pages of regions on demand in, before the call returns. @return 0 or
/// an errno: EINVAL for what is not such a region of the domain, EFAULT for ranges beyond it or
/// memory that is not there, EPERM for writes to a region that may not be written.
int advise(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* segments,
           std::uint32_t count);

/// Enters them into the answer of ibv_query_device_ex.
void describe_on_demand(ibv_device_attr_ex& attributes);

}  // namespace softverbs
