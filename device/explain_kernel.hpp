// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports as facts what the kernel knows of one of its RDMA devices, and how much memory this
/// process may lock for it.
#pragma once

#include <string>

#include "device/kernel_devices.hpp"
#include "support/base/facts.hpp"

namespace dapl::cm {

void explain_kernel_device(const support::Facts& facts, const KernelView& view,
                           const std::string& device);

}  // namespace dapl::cm
