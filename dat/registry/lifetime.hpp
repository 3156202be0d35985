// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The process's one registry: made when the library is loaded, gone when it is unloaded or the
/// process exits.
#pragma once

#include <memory>

#include "dat/registry/registry.hpp"

namespace dat {

/// @return nullptr once the library's destructor has run (other destructors may still call us) and
/// where memory was short when it was loaded. Thread safe.
std::shared_ptr<Registry> registry();

}  // namespace dat
