// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The context that ibv_open_device returns, its asynchronous events, and protection domains.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <list>
#include <memory>

#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

struct Context;

/// Asynchronous events of one context: a queue in private memory and an eventfd that counts its
/// events. Each event names an object, which must not be destroyed before the event has been
/// acknowledged.
class AsyncEvents {
  public:
    using Queue = std::list<ibv_async_event>;
    /// @param owner the context, whose adapter may still be missing.
    /// @return the descriptor, or -1 with errno.
    int open(Context& owner);
    ~AsyncEvents();
    void push(const ibv_async_event& event) EXCLUDES(mutex_);
    /// Takes the first of the events. Allocates nothing, unless a fault rule concerns it.
    void push_first(Queue& made) EXCLUDES(mutex_);
    /// Adds the event that a fault rule has held back, if its object is still there.
    void release(std::uint64_t ticket) EXCLUDES(mutex_);
    /// Blocks unless the descriptor is O_NONBLOCK. @return 0 or -1 with errno.
    int get(ibv_async_event& event) EXCLUDES(mutex_);
    /// Removes the events of an object that nobody has fetched, then waits until those that were
    /// fetched have been acknowledged. @param object its address.
    void retire(const void* object) EXCLUDES(mutex_);
    void acknowledge(const void* object) EXCLUDES(mutex_);

  private:
    void append(Queue& made) EXCLUDES(mutex_);
    void obey(const faults::Rule& rule, Queue& made) EXCLUDES(mutex_);
    void hold(Queue& made, faults::Duration duration) EXCLUDES(mutex_);
    void remove(Queue& queue, const void* object, Queue& gone) REQUIRES(mutex_);

    int fd_ = -1;
    Context* owner_ = nullptr;
    support::Mutex mutex_;
    support::CondVar acknowledged_;
    Queue queue_ GUARDED_BY(mutex_);
    Queue fetched_ GUARDED_BY(mutex_);  ///< fetched and not acknowledged
    struct Held {
        std::uint64_t ticket;
        Queue event;
    };
    std::list<Held> held_ GUARDED_BY(mutex_);  ///< by fault rules
};

/// Sets errno to an error number and returns it. Verbs calls that return one leave it in errno as
/// well, as the drivers of kernel devices do: programs read it there, the reference's uDAPL
/// providers among them.
inline int also_errno(int cause) {
    if (cause != 0) errno = cause;
    return cause;
}

struct Context {
    /// The first member: an ibv_context pointer points into it.
    verbs_context verbs{};
    std::shared_ptr<Adapter> adapter;
    unsigned device = 0;  ///< number: soft0 is 0
    AsyncEvents events;

    static Context& of(ibv_context* context) {
        return *reinterpret_cast<Context*>(reinterpret_cast<char*>(context) -
                                           offsetof(verbs_context, context));
    }
    ibv_context* handle() { return &verbs.context; }
};

/// @return whether a fault rule makes the call fail, with errno set.
inline bool is_refused(ibv_context* context, faults::Subject call) {
    return also_errno(Context::of(context).adapter->process().faults().refuse(call)) != 0;
}

/// Whether the context is one of this device's.
bool is_soft(const ibv_context& context);

/// A protection domain. As in all objects, `handle` is for the program to read only: the device
/// uses a number of its own, and returns ENOENT, as the kernel does, when an object is destroyed
/// whose handle the program has changed.
struct ProtectionDomain : ibv_pd {
    explicit ProtectionDomain(Context& owner)
        : ibv_pd{owner.handle(), owner.adapter->next_pd()}, number_(handle) {}
    /// A parent domain: another object for the same domain. Objects of both go together.
    ProtectionDomain(ProtectionDomain& original, std::atomic<int>* thread_users)
        : ibv_pd{original.context, original.number()},
          original(&original),
          thread_users(thread_users),
          number_(original.number()) {
        ++original.users;
        if (thread_users) ++*thread_users;
    }
    ~ProtectionDomain() {
        if (original) --original->users;
        if (thread_users) --*thread_users;
    }
    ProtectionDomain(const ProtectionDomain&) = delete;
    ProtectionDomain& operator=(const ProtectionDomain&) = delete;

    std::atomic<int> users{0};
    /// A parent domain keeps the domain that it stands for, and the users of its thread domain, if
    /// it has one.
    ProtectionDomain* const original = nullptr;
    std::atomic<int>* const thread_users = nullptr;
    static ProtectionDomain& of(ibv_pd* pd) { return *static_cast<ProtectionDomain*>(pd); }
    Context& owner() { return Context::of(context); }
    std::uint32_t number() const { return number_; }

  private:
    const std::uint32_t number_;
};

/// Whether both stand for one protection domain: either may be a parent domain.
inline bool is_same_domain(ibv_pd* one, ibv_pd* other) {
    return ProtectionDomain::of(one).number() == ProtectionDomain::of(other).number();
}

}  // namespace softverbs
