// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A lock guard that needs no C++ run time, since this library does not link with one.
#pragma once

#include <pthread.h>

namespace softverbs::heap {

class Lock {
  public:
    explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~Lock() { pthread_mutex_unlock(&mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    pthread_mutex_t& mutex_;
};

}  // namespace softverbs::heap
