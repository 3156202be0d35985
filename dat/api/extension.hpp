// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the opening of an IA has to do with extensions.
#pragma once

namespace dat {

/// An IA with extensions is open. Sets dat_extensions (dat_extensions.h), the first time. Thread
/// safe.
void tell_program_of_extensions();

}  // namespace dat
