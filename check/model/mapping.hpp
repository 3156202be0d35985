// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Questions to the kernel about the program's memory, which it may have unmapped.
#pragma once

#include <cstdint>

namespace check {

/// Whether the first and the last byte can be read. @param length not 0.
bool can_be_read(std::uint64_t memory, std::uint64_t length);

/// Whether the first and the last page are mapped. Their protection does not matter: devices do not
/// look at it after the registration. @param length not 0.
bool is_mapped(std::uint64_t memory, std::uint64_t length);

}  // namespace check
