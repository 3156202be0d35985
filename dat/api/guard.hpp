// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of calls that do more than jump into a provider.
#pragma once

#include <cxxabi.h>
#include <dat2/udat.h>
#include <pthread.h>

#include <new>

#include "dapl/support/forced_unwind.hpp"

namespace dat {

/// Loading libraries and waiting for another thread that does must not end half way: a cancelled
/// thread ends at its next cancellation point after the call.
class CancellationDeferred {
  public:
    CancellationDeferred() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~CancellationDeferred() { pthread_setcancelstate(before_, nullptr); }
    CancellationDeferred(const CancellationDeferred&) = delete;
    CancellationDeferred& operator=(const CancellationDeferred&) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Runs the body of an entry function; nothing is thrown across but the end of a thread.
template <class Body>
CATCHES_FORCED_UNWIND DAT_RETURN guarded(Body&& body) {
    const CancellationDeferred deferred;
    try {
        return body();
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::bad_alloc&) {
        return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
    } catch (...) {
        return DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
    }
}

}  // namespace dat
