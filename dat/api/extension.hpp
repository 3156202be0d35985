// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Extensions: how the opening of an IA announces them to the program.
#pragma once

namespace dat {

/// Called when an IA with extensions has been opened. Sets dat_extensions (dat_extensions.h) the
/// first time. Thread safe.
void tell_program_of_extensions();

}  // namespace dat
