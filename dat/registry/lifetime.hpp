// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The process's one registry: created when the library is loaded, destroyed when it is unloaded or
/// the process exits.
#pragma once

#include <memory>

#include "dat/registry/registry.hpp"

namespace dat {

/// @return nullptr once the library's destructor has run (other destructors may still call this
/// library), and when memory was short at load. Thread safe.
std::shared_ptr<Registry> registry();

}  // namespace dat
