// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The DAT headers that a provider needs, in the order that they need.
#pragma once

#include <dat2/udat.h>
// Apart, so that no sorting moves it before udat.h.
#include <dat2/dat_registry.h>
