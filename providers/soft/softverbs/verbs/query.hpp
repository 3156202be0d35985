// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The attributes and limits of the device, its port and its GID.
#pragma once

#include <infiniband/verbs.h>

#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"

namespace softverbs {

inline constexpr std::uint32_t kMaxWorkRequests = 65536;
inline constexpr std::uint32_t kMaxInline = 1024;
inline constexpr std::uint32_t kMaxMessage = std::uint32_t{1} << 31;
inline constexpr std::uint8_t kMaxReadAtomic = 128;

int query_port_attributes(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
                          std::size_t length);
int query_device_extended(ibv_context* context, const ibv_query_device_ex_input* input,
                          ibv_device_attr_ex* attributes, std::size_t length);
/// ibv_query_rt_values_ex: the device's clock is CLOCK_MONOTONIC, in nanoseconds.
int query_clock(ibv_context* context, ibv_values_ex* values);

}  // namespace softverbs
