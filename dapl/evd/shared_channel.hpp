// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A completion channel (a descriptor), shared by the EVDs whose completion queues notify through
/// it. The first EVDs of a process have one each, so that a notification wakes the waiter itself;
/// later ones share with others of their adapter instance. One of a channel's sleeping waiters, the
/// reader, polls the descriptor and wakes the others; a waiter that leaves the channel without a
/// reader wakes the next one. While an EVD of the channel has a CNO, the service thread reads in
/// place of them all.
#pragma once

#include <memory>

#include "dapl/adapter/service_thread.hpp"
#include "dapl/base/list.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Evd;
class Ia;

/// A thread that waits on an EVD, for as long as it may sleep there.
struct Sleeper : ListNode<Sleeper> {
    int wake_descriptor = -1;  ///< ends its sleep
};

class SharedChannel final : public ServiceThread::Handler {
  public:
    /// @return empty, with errno, when the device refuses. Throws std::bad_alloc.
    static std::shared_ptr<SharedChannel> make(ibv_context* device, ServiceThread& service);
    /// For make().
    SharedChannel(verbs::CompletionChannel native, ServiceThread& service);
    ~SharedChannel();

    ibv_comp_channel* native() const { return native_.get(); }

    void join(Sleeper& sleeper) EXCLUDES(lock_);
    void leave(Sleeper& sleeper) EXCLUDES(lock_);
    /// Called before each sleep. @return the descriptor to poll and read(), or -1 if another thread
    /// does.
    int descriptor_for(Sleeper& sleeper) EXCLUDES(lock_);
    /// Reads one notification and passes it to its EVD. @param reader as for Evd::announced().
    /// @return whether there was one.
    bool read(const Evd* reader);
    /// Reads all pending notifications.
    void read_all();
    /// Called for each EVD with a CNO. @return false when the system refuses.
    bool add_watcher() EXCLUDES(watch_, lock_);
    void remove_watcher() EXCLUDES(watch_, lock_);
    /// Called by the service thread.
    void serve() override { read(nullptr); }

  private:
    void set_watched(bool watched) REQUIRES(watch_) EXCLUDES(lock_);

    const verbs::CompletionChannel native_;
    ServiceThread& service_;
    support::Mutex watch_;  ///< taken before lock_
    int watchers_ GUARDED_BY(watch_) = 0;
    support::SpinLock lock_;
    List<Sleeper> sleepers_ GUARDED_BY(lock_);
    Sleeper* reader_ GUARDED_BY(lock_) = nullptr;  ///< one of sleepers_
    bool watched_ GUARDED_BY(lock_) = false;       ///< by the service thread
};

/// @return the channel for the completion queue of a new EVD; empty, with errno, when the device
/// refuses. Throws std::bad_alloc.
std::shared_ptr<SharedChannel> channel_for(Ia& ia);

}  // namespace dapl
