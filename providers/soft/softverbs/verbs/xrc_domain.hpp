// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// XRC domains. An XRC_RECV queue pair delivers into every shared receive queue of its domain: each
/// request names one by its number. A domain belongs to one process. All who open the same inode of
/// a device in that process share it; processes do not share domains, since a process waits only
/// for the requesters of its own queue pairs (requesters.hpp).
///
/// A shared receive queue of a domain has an entry and a number among the queue pairs
/// (layout.hpp, kXrcQueue), so requesters find it as they find a queue pair, and no two processes
/// of a fabric have queues of the same number. The requester aims its Target at the queue that a
/// request names (Target::aim), behind what Executor::ready() refuses, so that other requests pay
/// nothing for it. A completion names the queue pair and the shared receive queue
/// (CompletionNames). Whoever destroys the latter waits for all requesters.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <memory>
#include <set>
#include <tuple>

#include "providers/soft/softverbs/verbs/context.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class QueuePair;
class SharedReceiveQueue;

class XrcDomain {
  public:
    explicit XrcDomain(std::uint32_t domain_number) : number(domain_number) {}
    const std::uint32_t number;  ///< QpEntry::xrc_domain

    /// An XRC_RECV queue pair or a shared receive queue as an element of the domain, made before
    /// any lock is taken and freed after all are released.
    template <class Object>
    using Member = typename std::set<Object*>::node_type;
    template <class Object>
    void add(Member<Object>&& made) EXCLUDES(lock_) {
        support::SpinLockGuard guard(lock_);
        std::get<std::set<Object*>>(members_).insert(std::move(made));
    }
    template <class Object>
    [[nodiscard]] Member<Object> remove(Object* one) EXCLUDES(lock_) {
        support::SpinLockGuard guard(lock_);
        return std::get<std::set<Object*>>(members_).extract(one);
    }
    /// Makes the requesters try again that wait for a receive.
    void wake_requesters() EXCLUDES(lock_);
    /// Visits the shared receive queues. `visit` may take locks of completion queues.
    void each_queue(const std::function<void(SharedReceiveQueue&)>& visit) EXCLUDES(lock_);
    /// @return the shared receive queue of this number, nullptr when there is none; the adapter's
    /// mutex keeps it.
    SharedReceiveQueue* queue(std::uint32_t srq_num) EXCLUDES(lock_);

  private:
    support::SpinLock lock_;  ///< taken after a queue pair's locks, before a completion queue's
    std::tuple<std::set<QueuePair*>, std::set<SharedReceiveQueue*>> members_ GUARDED_BY(lock_);
};

/// ibv_open_xrcd returns this: one of the handles of a domain.
struct OpenXrcDomain : ibv_xrcd {
    OpenXrcDomain(ibv_context* owner, std::shared_ptr<XrcDomain> opened)
        : ibv_xrcd{owner}, domain(std::move(opened)) {}
    static OpenXrcDomain& of(ibv_xrcd* xrcd) { return *static_cast<OpenXrcDomain*>(xrcd); }
    const std::shared_ptr<XrcDomain> domain;
    std::atomic<int> users{0};
};

/// ibv_open_xrcd. @return nullptr with errno: EAGAIN when the inode has no domain and O_CREAT is
/// not set, EINVAL when it has one and O_EXCL is set, as the kernel reports them.
ibv_xrcd* open_xrc_domain(ibv_context* context, ibv_xrcd_init_attr* attributes);
/// ibv_close_xrcd. @return 0, or EBUSY while objects were created with this handle.
int close_xrc_domain(ibv_xrcd* xrcd);

}  // namespace softverbs
