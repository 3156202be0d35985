// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the kernel says of one of its RDMA devices, and what it lets this process do with it, as
/// facts.
#pragma once

#include <string>

#include "device/kernel_devices.hpp"
#include "support/base/facts.hpp"

namespace dapl::cm {

void explain_kernel_device(const support::Facts& facts, const KernelView& view,
                           const std::string& device);

}  // namespace dapl::cm
