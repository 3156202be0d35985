// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The end of the program, when the checks tell what they have counted.
#pragma once

namespace check {

/// Has end(status, nullptr) called when the program calls exit() or returns from main(), after the
/// handlers that are registered later. Keeps this library loaded until then.
void at_exit(void (*end)(int status, void*));

}  // namespace check
