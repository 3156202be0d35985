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
        kNoDevice,       ///< the kernel knows none
        kNoUverbs,       ///< the kernel's devices cannot be used by programs
        kNoUserDriver,   ///< libibverbs does not know the kernel's device
        kUnknownDevice,  ///< another name than those there are
        kNoNode,         ///< the device file is missing
        kNoPermission,   ///< the device file may not be opened
        kDoesNotOpen,    ///< an error of the device or the system
        kNoSuchPort,
        kNoGid,
        kUnusedGidIndex,
        kInterfaceWithoutDevice,
        kUnknownName,  ///< neither an interface nor a device, address or host name
        kNoAddress,    ///< of a device or an interface
        kNoRdmaCm,     ///< the kernel's connection manager is not there
        kLimit,        ///< of descriptors, memory, space or threads: `error`
    };
    Cause cause;
    std::string subject;   ///< the device, its file, or what was looked for
    std::string evidence;  ///< what was found instead
    std::string advice{};  ///< what depends on the machine in the next step, where something does
    int error = 0;         ///< kLimit: errno
};

/// What an error of the system says of a device, where it says it of a limit; else `otherwise`.
DeviceFault limit_or(int error, const std::string& device, DeviceFault otherwise);

/// With the DAT code of dat_ia_open; tells nobody.
tl::unexpected<support::Error> failure_of(const DeviceFault& fault);
/// Tells the user, one line, and makes the failure.
tl::unexpected<support::Error> tell(std::string_view ia_name, const DeviceFault& fault);

}  // namespace dapl::cm
