// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/service_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "dapl/base/guard.hpp"
#include "support/base/limits.hpp"
#include "support/thread/start_thread.hpp"

namespace dapl {

ServiceThread::ServiceThread() {
    int error = poller_.open();
    if (error == 0) error = support::start_thread(thread_, run, this);
    if (error == 0) return;
    support::report_limit(error, "the service thread");
    throw ToldLimit();
}

ServiceThread::~ServiceThread() {
    stopping_ = true;
    poller_.wake();
    pthread_join(thread_, nullptr);
}

int ServiceThread::add(int descriptor, Handler& handler) {
    support::MutexLock lock(mutex_);
    known_.push_back(&handler);
    const int error = poller_.add(descriptor, EPOLLIN, reinterpret_cast<std::uintptr_t>(&handler));
    if (error != 0) known_.pop_back();
    return error;
}

bool ServiceThread::watch(int descriptor, Handler& handler) {
    const int error = add(descriptor, handler);
    if (error != 0) support::report_limit(error, "a descriptor that the service thread watches");
    return error == 0;
}

void ServiceThread::unwatch(int descriptor, Handler& handler) {
    support::MutexLock lock(mutex_);
    poller_.remove(descriptor);
    std::erase(known_, &handler);
    while (serving_ == &handler) idle_.wait(mutex_);
}

/// A handler that ran out of memory is called again after a pause: what it could not do leaves its
/// descriptor ready.
void ServiceThread::serve(Handler& handler) {
    {
        support::MutexLock lock(mutex_);
        // A handler that was unwatched after the wait returned may be destroyed: not touched.
        if (std::find(known_.begin(), known_.end(), &handler) == known_.end()) return;
        serving_ = &handler;
    }
    try {
        handler.serve();
    } catch (const std::bad_alloc&) {
        constexpr timespec kPause{0, 1'000'000};
        nanosleep(&kPause, nullptr);
    }
    support::MutexLock lock(mutex_);
    serving_ = nullptr;
    idle_.notify_all();
}

void* ServiceThread::run(void* self) {
    static_cast<ServiceThread*>(self)->loop();
    return nullptr;
}

/// Fetches one event at a time: the handler of a second one might be unwatched before its turn, and
/// its address belong to a new handler.
void ServiceThread::loop() {
    while (!stopping_)
        poller_.wait<1>(-1, [this](std::uint64_t key, std::uint32_t) {
            serve(*reinterpret_cast<Handler*>(key));
        });
}

}  // namespace dapl
