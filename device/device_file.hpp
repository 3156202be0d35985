// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Whether this process may open a file of /dev/infiniband.
#pragma once

#include <optional>
#include <string>

#include "device/device_fault.hpp"

namespace dapl::cm {

struct KernelView;

/// @param file its path without the root of the view. @param purpose what it is needed for.
/// @return nothing if it may be opened, according to its mode.
std::optional<DeviceFault> file_fault(const KernelView& view, const std::string& file,
                                      const std::string& purpose);
/// @param error the system's errno value: EACCES or EPERM.
DeviceFault permission_fault(const KernelView& view, const std::string& file, int error);

}  // namespace dapl::cm
