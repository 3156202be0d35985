// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Device memory: a small store of the adapter's own, which programs reach by copies and peers
/// through regions. Here it is memory that is shared from birth.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace softverbs {

/// ibv_alloc_dm. @return nullptr with errno: EINVAL for no bytes, too many, or an alignment beyond
/// a page; ENOMEM when the device's store is used up.
ibv_dm* allocate_device_memory(ibv_context* context, ibv_alloc_dm_attr* attributes);
/// ibv_free_dm. @return 0, or EBUSY while regions are registered on it.
int free_device_memory(ibv_dm* memory);
/// ibv_reg_dm_mr. Such a region is zero-based. @return nullptr with errno: EINVAL for a range
/// beyond the memory or access flags that do not say so.
ibv_mr* register_device_memory(ibv_pd* pd, ibv_dm* memory, std::uint64_t offset, std::size_t length,
                               unsigned access);

/// Size of the store of a process, in bytes.
inline constexpr std::size_t kDeviceMemory = 1 << 20;

}  // namespace softverbs
