// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Why an adapter instance has no device: the first cause with its evidence.
#pragma once

#include <string>
#include <string_view>

#include "support/base/result.hpp"

namespace dapl::cm {

struct DeviceFault {
    enum class Cause {
        kNoDevice,       ///< the kernel has no RDMA device
        kNoUverbs,       ///< programs cannot use the kernel's devices
        kNoUserDriver,   ///< libibverbs does not know the kernel's device
        kUnknownDevice,  ///< no device has this name
        kNoNode,         ///< the device file is missing
        kNoPermission,   ///< the device file may not be opened
        kDoesNotOpen,    ///< an error of the device or the system
        kNoSuchPort,
        kNoGid,
        kUnusedGidIndex,
        kInterfaceWithoutDevice,
        kUnknownName,  ///< neither an interface nor a device, address or host name
        kNoAddress,    ///< the device or interface has no address
        kNoRdmaCm,     ///< the kernel's connection manager is not available
        kLimit,        ///< no more descriptors, memory, space or threads: `error`
    };
    Cause cause;
    std::string subject;   ///< the device, its file, or what was looked for
    std::string evidence;  ///< what was found instead
    std::string advice{};  ///< the part of the next step that depends on the machine, if any
    int error = 0;         ///< kLimit: errno
};

/// @return kLimit for the device if the error means that a limit is reached, else `otherwise`.
DeviceFault limit_or(int error, const std::string& device, DeviceFault otherwise);

/// Makes a failure with the code of dat_ia_open; reports nothing.
tl::unexpected<support::Error> failure_of(const DeviceFault& fault);
/// Reports the fault to the user on one line and makes the failure.
tl::unexpected<support::Error> tell(std::string_view ia_name, const DeviceFault& fault);

}  // namespace dapl::cm
