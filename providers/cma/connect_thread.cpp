// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/connect_thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "support/thread/start_thread.hpp"

namespace dapl::cma {

ConnectThread::ConnectThread(cm::EventLoop& loop, rdma_cm_id* id, const rdma_conn_param& parameters,
                             Done done)
    : loop_(loop), id_(id), parameters_(parameters), done_(std::move(done)) {}

ConnectThread::~ConnectThread() {
    if (finished_ < 0) return;
    loop_.forget(finished_);
    stop();
    close(finished_);
}

int ConnectThread::start() {
    finished_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (finished_ < 0) return errno;
    if (!loop_.watch(finished_, *this)) return ENOMEM;
    const int error = support::start_thread(thread_, main, this);
    running_ = error == 0;
    return error;
}

/// Cancelling this thread interrupts the call: the write to the kernel within it is a cancellation
/// point, and the kernel undoes a connection that a signal interrupts.
void* ConnectThread::main(void* argument) {
    auto& self = *static_cast<ConnectThread*>(argument);
    const int error = rdma_connect(self.id_, &self.parameters_) == 0 ? 0 : errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    self.error_.store(error);
    eventfd_write(self.finished_, 1);
    return nullptr;
}

void ConnectThread::ready() {
    stop();
    eventfd_t count;
    eventfd_read(finished_, &count);
    done_(error_.load());
}

void ConnectThread::stop() {
    if (!std::exchange(running_, false)) return;
    pthread_cancel(thread_);
    pthread_join(thread_, nullptr);
}

}  // namespace dapl::cma
