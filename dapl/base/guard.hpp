// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of the core.
///
/// Asynchronous cancellation may strike between any two instructions. A frame with cleanups cannot
/// be unwound from just anywhere, so the frames of uncancelled() and of the entry functions that
/// use it have none, and all that has is called with cancellation disabled.
#pragma once

#include <pthread.h>

#include "dapl/base/codes.hpp"
#include "support/base/guard.hpp"

namespace dapl {

/// Runs the body with cancellation disabled, and of the deferred type: a signal that was sent while
/// it was still enabled is obeyed by the C library (2.36) whatever the state is then, if the type
/// is asynchronous. What the body throws becomes a DAT code. The body gets the caller's state, for
/// CancellationWindow; only a body that waits has a use for it.
template <class Body>
DAT_RETURN uncancelled(const Body& body) {
    int old_cancel_type, old_cancel_state;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old_cancel_type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_cancel_state);
    const DAT_RETURN code = support::guarded<DAT_RETURN>([&] { return body(old_cancel_state); },
                                                         kOutOfMemory, error(DAT_INTERNAL_ERROR));
    pthread_setcancelstate(old_cancel_state, nullptr);
    pthread_setcanceltype(old_cancel_type, nullptr);
    return code;
}

/// While it lives the thread can be cancelled (deferred) where its caller allows it: put it around
/// the one system call that waits.
class CancellationWindow {
  public:
    explicit CancellationWindow(int old_cancel_state) {
        pthread_setcancelstate(old_cancel_state, nullptr);
    }
    ~CancellationWindow() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }
    CancellationWindow(const CancellationWindow&) = delete;
    CancellationWindow& operator=(const CancellationWindow&) = delete;
};

/// Runs a step of something that its caller gives up when it fails.
/// @return the step's code, or kOutOfMemory.
template <class Step>
DAT_RETURN or_out_of_memory(const Step& step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    }
}

/// @return the code of a failed control-path function, or DAT_SUCCESS.
template <class T>
DAT_RETURN code_of(const support::Result<T>& result) {
    return result ? kSuccess : result.error().code;
}

}  // namespace dapl
