// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The settings for times, repetitions and sizes. On a large network the times are longer, unless
/// the user has set them: everybody connects to everybody at once there.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace dapl::ucm {

struct Timing {
    using Milliseconds = std::chrono::milliseconds;
    int sends;                    ///< of a request or reply, in all
    Milliseconds reply, confirm;  ///< until a request or reply is sent again the first time
    int disconnect_sends;         ///< of a disconnect, in all
    Milliseconds disconnect;      ///< between them
    Milliseconds memory;          ///< how long an ended connection answers late messages
    std::size_t entries;          ///< sends, and receives, of the service queue pair
};

Timing read_timing(std::string_view ia_name);

}  // namespace dapl::ucm
