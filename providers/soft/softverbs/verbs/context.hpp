// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What ibv_open_device returns, protection domains, and the context's asynchronous events.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <list>
#include <memory>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// Asynchronous events of one context: a queue in private memory and an eventfd that counts it.
/// Each event names an object, which must not be destroyed before the event has been acknowledged.
class AsyncEvents {
  public:
    int open();  ///< @return the descriptor, or -1 with errno
    ~AsyncEvents();
    void push(const ibv_async_event& event) EXCLUDES(mutex_);
    /// Blocks unless the descriptor is O_NONBLOCK. @return 0 or -1 with errno.
    int get(ibv_async_event& event) EXCLUDES(mutex_);
    /// Removes events of an object (its address) that nobody has fetched, then waits until those
    /// that were fetched have been acknowledged.
    void retire(const void* object) EXCLUDES(mutex_);
    void acknowledge(const void* object) EXCLUDES(mutex_);

  private:
    int fd_ = -1;
    support::Mutex mutex_;
    support::CondVar acknowledged_;
    using Queue = std::list<ibv_async_event>;
    Queue queue_ GUARDED_BY(mutex_);
    Queue fetched_ GUARDED_BY(mutex_);  ///< and not acknowledged
};

/// Calls that return an error number leave it in errno as well, as kernel drivers do: programs read
/// it there, the reference's uDAPL providers among them.
inline int also_errno(int cause) {
    if (cause != 0) errno = cause;
    return cause;
}

struct Context {
    /// First: an ibv_context pointer is a pointer into this.
    verbs_context verbs{};
    std::shared_ptr<Adapter> adapter;
    AsyncEvents events;

    static Context& of(ibv_context* context) {
        return *reinterpret_cast<Context*>(reinterpret_cast<char*>(context) -
                                           offsetof(verbs_context, context));
    }
    ibv_context* handle() { return &verbs.context; }
};

/// Whether it is one of this device's.
bool is_soft(const ibv_context& context);

/// The `handle` of an object is for the program to read. The device goes by numbers of its own, and
/// answers ENOENT, as the kernel does, when one is destroyed whose handle the program has changed.
struct ProtectionDomain : ibv_pd {
    explicit ProtectionDomain(Context& owner)
        : ibv_pd{owner.handle(), owner.adapter->next_pd()}, number_(handle) {}
    std::atomic<int> users{0};
    static ProtectionDomain& of(ibv_pd* pd) { return *static_cast<ProtectionDomain*>(pd); }
    Context& owner() { return Context::of(context); }
    std::uint32_t number() const { return number_; }

  private:
    const std::uint32_t number_;
};

}  // namespace softverbs
