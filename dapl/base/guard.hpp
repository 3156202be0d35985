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

/// Thrown where a limit of the system ends a call and the user has been told which.
struct ToldLimit : std::bad_alloc {};

/// The answer of a call that finds no memory for what it makes. Tells the user, once in the
/// library's life: what follows has the same cause.
[[gnu::cold]] DAT_RETURN out_of_memory() noexcept;

/// Runs a step of something that its caller gives up when it fails.
/// @return the step's code, or kOutOfMemory, of which the user has been told.
template <class Step>
DAT_RETURN or_out_of_memory(const Step& step) {
    try {
        return step();
    } catch (const ToldLimit&) {
        return kOutOfMemory;
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
}

/// Runs the body with cancellation disabled, and of the deferred type: a signal that was sent while
/// it was still enabled is obeyed by the C library (2.36) whatever the state is then, if the type
/// is asynchronous. What the body throws becomes a DAT code. The body gets the caller's state, for
/// CancellationWindow; only a body that waits has a use for it.
template <class Body>
DAT_RETURN uncancelled(const Body& body) {
    int old_cancel_type, old_cancel_state;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old_cancel_type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_cancel_state);
    const DAT_RETURN code = support::guarded<DAT_RETURN>(
        [&] { return or_out_of_memory([&] { return body(old_cancel_state); }); }, kOutOfMemory,
        error(DAT_INTERNAL_ERROR));
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

/// @return the code of a failed control-path function, or DAT_SUCCESS.
template <class T>
DAT_RETURN code_of(const support::Result<T>& result) {
    return result ? kSuccess : result.error().code;
}

}  // namespace dapl
