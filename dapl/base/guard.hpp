// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary of the core.
///
/// Asynchronous cancellation may strike between any two instructions, and a frame with cleanups
/// cannot be unwound from an arbitrary instruction. So the frames of uncancelled() and of the entry
/// functions that use it have no cleanups, and every function that has some is called with
/// cancellation disabled.
#pragma once

#include <pthread.h>

#include "dapl/base/codes.hpp"
#include "support/base/guard.hpp"

namespace dapl {

/// Thrown when a system limit makes a call fail and the limit has already been reported to the
/// user.
struct ToldLimit : std::bad_alloc {};

/// Reports that there is no memory for the objects of a DAT call, once in the library's life: later
/// failures have the same cause. @return kOutOfMemory.
[[gnu::cold]] DAT_RETURN out_of_memory() noexcept;

/// Runs a step whose failure makes its caller give up what it was making.
/// @return the step's code, or kOutOfMemory if there was no memory, which is then reported.
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

/// Runs the body with cancellation disabled and its type deferred. The type matters: if it is
/// asynchronous, the C library (2.36) acts on a signal that was sent while cancellation was still
/// enabled, whatever the state is by then. Turns what the body throws into a DAT code. The body
/// gets the caller's cancellation state for CancellationWindow; only a body that waits needs it.
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

/// While it lives, the thread can be cancelled (deferred) if its caller allows that. It encloses
/// only the one system call that waits.
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
