// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of all our libraries: what may be thrown out of a C function, and what a
/// cancellation must not cut short.
#pragma once

#include <cxxabi.h>
#include <pthread.h>

#include <atomic>
#include <new>

#include "support/base/forced_unwind.hpp"

namespace support {

/// Runs the body of a C function. Only the unwinding of a cancelled thread passes through; every
/// other exception becomes one of the two codes. Has no cleanup in its frame.
template <class Code, class Body>
CATCHES_FORCED_UNWIND Code guarded(const Body& body, Code out_of_memory, Code anything_else) {
    try {
        return body();
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::bad_alloc&) {
        return out_of_memory;
    } catch (...) {
        return anything_else;
    }
}

/// Disables cancellation in a call that owns something across a cancellation point (closing a
/// descriptor is one), or that must not end half way: the thread ends at its next cancellation
/// point after the call. The type is set to deferred as well, because with an asynchronous type the
/// C library (2.36) acts on a signal that was sent earlier, whatever the state is by then.
class CancellationDisabled {
  public:
    CancellationDisabled() {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_before_);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before_);
    }
    ~CancellationDisabled() {
        pthread_setcancelstate(state_before_, nullptr);
        pthread_setcanceltype(type_before_, nullptr);
    }
    CancellationDisabled(const CancellationDisabled&) = delete;
    CancellationDisabled& operator=(const CancellationDisabled&) = delete;

  private:
    int type_before_ = PTHREAD_CANCEL_DEFERRED;
    int state_before_ = PTHREAD_CANCEL_ENABLE;
};

/// Makes a report once in the life of `told`, from calls that are not cancellation points. A report
/// that fails for lack of memory is made the next time.
template <class Report>
void report_once(std::atomic<bool>& told, const Report& make) {
    if (told.exchange(true)) return;
    const CancellationDisabled disabled;
    try {
        make();
    } catch (...) {
        told = false;
    }
}

}  // namespace support
