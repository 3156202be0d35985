// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A completion channel, which is a descriptor, and the EVDs whose completion queues announce
/// there. The first EVDs of a process have one each, so that what is announced wakes the waiter
/// itself; later ones share with others of their adapter instance. Of a channel's sleeping waiters
/// one, the reader, watches the descriptor and wakes the others; who leaves the channel without a
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
    /// Before each sleep. @return the descriptor to watch and read(), or -1: another thread does.
    int descriptor_for(Sleeper& sleeper) EXCLUDES(lock_);
    /// Takes one announcement and passes it on. @param reader needs no waking. @return whether
    /// there was one.
    bool read(const Evd* reader);
    /// Takes all announcements that there are.
    void read_all();
    /// For each EVD with a CNO. @return false when the system refuses.
    bool add_watcher() EXCLUDES(watch_, lock_);
    void remove_watcher() EXCLUDES(watch_, lock_);
    /// On the service thread.
    void serve() override { read(nullptr); }

  private:
    void set_watched(bool watched) REQUIRES(watch_) EXCLUDES(lock_);

    const verbs::CompletionChannel native_;
    ServiceThread& service_;
    support::Mutex watch_;  ///< before lock_
    int watchers_ GUARDED_BY(watch_) = 0;
    support::SpinLock lock_;
    List<Sleeper> sleepers_ GUARDED_BY(lock_);
    Sleeper* reader_ GUARDED_BY(lock_) = nullptr;  ///< one of them
    bool watched_ GUARDED_BY(lock_) = false;       ///< by the service thread
};

/// For the completion queue of a new EVD. @return empty, with errno, when the device refuses.
/// Throws std::bad_alloc.
std::shared_ptr<SharedChannel> channel_for(Ia& ia);

}  // namespace dapl
