// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls rdma_connect in a thread of its own, for iWARP: a driver may make the TCP connection
/// within the call (siw does), which takes minutes when the peer's machine drops it. Neither the
/// event thread nor connection_lock waits for that.
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

    /// @param id must outlive the thread. @param parameters what they point to must too.
    ConnectThread(cm::EventLoop& loop, rdma_cm_id* id, const rdma_conn_param& parameters,
                  Done done);
    /// Interrupts the call if it is under way, so that nobody waits for the peer.
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
