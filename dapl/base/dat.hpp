// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The DAT headers that a provider needs, in the order in which they must be included.
#pragma once

#include <dat2/udat.h>
// In a block of its own, so that no include sorting moves it before udat.h.
#include <dat2/dat_registry.h>
