// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The experiments, one function each (described in doc/registration.md).
#pragma once

#include "test/bench/registration/results.hpp"

namespace registration {

void newcomers(const Run& run);  ///< R1
void hoarder(const Run& run);    ///< R2
void grace(const Run& run);      ///< R3
/// R3, with data.
void take_from_under_traffic(Experiment& experiment);
void waiting(const Run& run);    ///< R4
void policies(const Run& run);   ///< R5
void liars(const Run& run);      ///< R6
void classes(const Run& run);    ///< R8
void ways(const Run& run);       ///< R9
void unwilling(const Run& run);  ///< R12
void peers(const Run& run);      ///< R13
void calls(const Run& run);      ///< R14
void greedy(const Run& run);     ///< R15
void pool(const Run& run);       ///< R16

}  // namespace registration
