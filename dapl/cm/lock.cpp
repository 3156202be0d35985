// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/lock.hpp"

namespace dapl {
namespace {

/// A union's member is not destroyed when the library is unloaded or the process exits.
union Immortal {
    support::Mutex mutex;
    constexpr Immortal() : mutex() {}
    ~Immortal() {}
};

Immortal storage;

}  // namespace

support::Mutex& connection_lock = storage.mutex;

}  // namespace dapl
