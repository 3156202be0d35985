// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Says what this process sees of the devices, by its settings. A constructor reads them: a setting
/// is not read in a signal handler.
#pragma once

namespace softverbs {

struct Sight {
    unsigned devices = 1;
    bool only = false;  ///< the system's devices are hidden
};
extern Sight sight;

}  // namespace softverbs
