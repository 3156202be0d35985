// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// rdma_connect in a thread of its own, for iWARP: a driver may make the TCP connection within the
/// call (siw does), which takes minutes when the peer's machine drops it. Neither the event thread
/// nor connection_lock waits for that.
#pragma once

#include <pthread.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <functional>

#include "dapl/cm/event_loop.hpp"

namespace dapl::cma {

class ConnectThread final : private cm::EventSource {
  public:
    /// @param error rdma_connect's errno, 0 for success. Called by the event thread.
    using Done = std::function<void(int error)>;

    /// @param id, parameters, and what they point at, outlive the thread.
    ConnectThread(cm::EventLoop& loop, rdma_cm_id* id, const rdma_conn_param& parameters,
                  Done done);
    /// Interrupts the call if it is under way: it waits for nobody.
    ~ConnectThread() REQUIRES(connection_lock);
    ConnectThread(const ConnectThread&) = delete;
    ConnectThread& operator=(const ConnectThread&) = delete;

    /// @return an errno value, 0 for success.
    int start() REQUIRES(connection_lock);

  private:
    static void* main(void* self);
    void ready() override REQUIRES(connection_lock);
    void stop();

    cm::EventLoop& loop_;
    rdma_cm_id* const id_;
    rdma_conn_param parameters_;
    const Done done_;
    int finished_ = -1;  ///< an eventfd
    bool running_ = false;
    pthread_t thread_{};
    std::atomic<int> error_{0};
};

}  // namespace dapl::cma
