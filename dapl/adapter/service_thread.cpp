// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/adapter/service_thread.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "dapl/base/guard.hpp"
#include "support/base/limits.hpp"
#include "support/thread/start_thread.hpp"

namespace dapl {

ServiceThread::ServiceThread()
    : poll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    epoll_event wake_event{EPOLLIN, {.ptr = nullptr}};
    const bool is_made =
        poll_ >= 0 && wake_ >= 0 && epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &wake_event) == 0;
    const int error = is_made ? support::start_thread(thread_, run, this) : errno;
    if (error == 0) return;
    support::report_limit(error, "the service thread");
    close(poll_);
    close(wake_);
    throw ToldLimit();
}

ServiceThread::~ServiceThread() {
    {
        support::MutexLock lock(mutex_);
        stopping_ = true;
    }
    eventfd_write(wake_, 1);
    pthread_join(thread_, nullptr);
    close(poll_);
    close(wake_);
}

int ServiceThread::add(int descriptor, Handler& handler) {
    support::MutexLock lock(mutex_);
    known_.push_back(&handler);
    epoll_event event{EPOLLIN, {.ptr = &handler}};
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return 0;
    known_.pop_back();
    return errno;
}

bool ServiceThread::watch(int descriptor, Handler& handler) {
    const int error = add(descriptor, handler);
    if (error != 0) support::report_limit(error, "what the service thread watches");
    return error == 0;
}

void ServiceThread::unwatch(int descriptor, Handler& handler) {
    support::MutexLock lock(mutex_);
    epoll_ctl(poll_, EPOLL_CTL_DEL, descriptor, nullptr);
    std::erase(known_, &handler);
    while (serving_ == &handler) idle_.wait(mutex_);
}

/// What a handler could not do for want of memory makes its descriptor ready again.
void ServiceThread::serve(Handler& handler) {
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

void ServiceThread::loop() {
    for (;;) {
        epoll_event event;
        if (epoll_wait(poll_, &event, 1, -1) != 1) continue;
        auto* handler = static_cast<Handler*>(event.data.ptr);
        if (!handler) {
            eventfd_t ignored;
            eventfd_read(wake_, &ignored);
        }
        {
            support::MutexLock lock(mutex_);
            if (stopping_) return;
            // What was unwatched after the wait returned is not touched.
            if (handler && std::find(known_.begin(), known_.end(), handler) != known_.end())
                serving_ = handler;
            else
                handler = nullptr;
        }
        if (handler) serve(*handler);
    }
}

}  // namespace dapl
