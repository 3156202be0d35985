// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Starts the threads that the libraries own.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace support {

/// Starts a thread with all signals blocked: signals belong to the application's threads.
/// @return 0 or an errno value.
inline int start_thread(pthread_t& thread, void* (*run)(void*), void* argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, nullptr, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

}  // namespace support
