// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection lock: one per process, for everything that sets up or takes down connections.
///
/// Lock order: object tree of the IA, then connection_lock, then an EVD's own locks. Nothing that
/// waits for a peer runs under it. Posts and polls never take it: they read the EP's atomic state.
#pragma once

#include "support/thread/mutex.hpp"

namespace dapl {

/// Never destroyed: threads may still use it while the process exits.
extern support::Mutex& connection_lock;

}  // namespace dapl
