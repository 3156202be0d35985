// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the program's place in the stack of a call.
#pragma once

#include <cstdint>
#include <string>

namespace check {

/// A return address. Taking and keeping one is cheap; its name is looked up when it is reported.
using Place = const void*;

/// When and where something was done.
struct Origin {
    Place place = nullptr;
    std::int64_t time = 0;  ///< CLOCK_MONOTONIC, ns
};

/// Walks the stack, so it is for reports and the control path. No lock may be held: another thread
/// may be loading a library whose constructor calls us.
/// @return the innermost frame of the calling thread outside libdat2 and this library.
Place calling_place();

/// @return that place and the present time.
Origin here();

/// @return whole milliseconds since then.
std::int64_t milliseconds_since(const Origin& origin);

/// @return "FUNCTION (FILE:LINE, OBJECT+0xOFFSET)", where the offset is the one that addr2line
/// takes; without FILE and LINE if the object has no debug information, without the function if it
/// has been stripped and does not export it, and mostly without both on a machine without libdw.
/// Allocates; no lock may be held.
std::string name_of(Place place);

}  // namespace check
