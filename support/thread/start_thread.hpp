// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How the libraries start the threads that they have of their own.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace support {

/// Signals belong to the application's threads: ours are born with all of them blocked.
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
