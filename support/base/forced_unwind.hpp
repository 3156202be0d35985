// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Declares what `catch (const abi::__forced_unwind&)` needs besides <cxxabi.h>.
#pragma once

/// For each function that catches the unwinding of a cancelled thread. The unwinding is a foreign
/// exception without an object: the run time binds the caught reference to nothing, and the
/// function only rethrows it. UBSan's check of references would report exactly that, so it is off
/// there; g++ forgets that it is off when it inlines the function.
#define CATCHES_FORCED_UNWIND __attribute__((noinline, no_sanitize("null")))
