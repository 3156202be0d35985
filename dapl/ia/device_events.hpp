// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The asynchronous events of one verbs device, shared by the adapter instances that are open on
/// it. A device has only one event stream, whoever reads it.
#pragma once

#include <infiniband/verbs.h>

#include "dapl/adapter/service_thread.hpp"
#include "dapl/base/process_state.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class DeviceEvents final : public ServiceThread::Handler {
  public:
    explicit DeviceEvents(ibv_context* device) : device_(device) {}

    /// From now on the adapter instance gets the events of its device. Throws std::bad_alloc.
    static void join(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);
    /// When this returns, no event is being delivered to the adapter instance.
    static void leave(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);

    /// Called by the service thread.
    void serve() override EXCLUDES(mutex_);

  private:
    void tell_all(DAT_IA_ASYNC_ERROR_REASON reason) EXCLUDES(mutex_);
    void dispatch(const ibv_async_event& event) EXCLUDES(mutex_);

    ibv_context* const device_;
    DeviceEvents* next_ = nullptr;  ///< of the process; guarded by ProcessState::open_mutex
    support::Mutex mutex_;
    Ia* first_ia_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace dapl
