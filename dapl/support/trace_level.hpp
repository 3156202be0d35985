// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The level that a library starts with: its own setting, else what the reference's variables ask
/// for, else 3.
#pragma once

namespace support {

/// Reads the environment. @return 0 to 10.
int level_from_settings();

}  // namespace support
