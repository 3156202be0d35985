// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {
namespace {

/// @return the domain of a file's inode at this device.
Result<std::shared_ptr<XrcDomain>> domain_of_inode(Context& context, int fd, int flags) {
    struct stat status;
    if (fstat(fd, &status) != 0) return tl::unexpected<int>(EBADF);
    Adapter& adapter = *context.adapter;
    const Adapter::XrcInode inode{context.device, status.st_dev, status.st_ino};
    auto made = std::make_shared<XrcDomain>(adapter.next_xrc_domain());
    auto node = support::made_node<Adapter::XrcDomains>(inode, made);
    std::shared_ptr<XrcDomain> known;
    Adapter::XrcDomains closed;
    support::MutexLock lock(adapter.mutex);
    closed = support::taken_out(adapter.xrc_domains,
                                [](const auto& one) { return one.second.expired(); });
    const auto entry = adapter.xrc_domains.find(inode);
    const bool is_old = entry != adapter.xrc_domains.end();
    if (is_old) known = entry->second.lock();
    if (known && (flags & O_EXCL) != 0) return tl::unexpected<int>(EINVAL);
    if (known) return known;
    if ((flags & O_CREAT) == 0) return tl::unexpected<int>(EAGAIN);
    if (is_old)
        entry->second.swap(node.mapped());  // closed since
    else
        adapter.xrc_domains.insert(std::move(node));
    return made;
}

Result<std::shared_ptr<XrcDomain>> find_domain(Context& context,
                                               const ibv_xrcd_init_attr& attributes) {
    constexpr std::uint32_t kBoth = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if ((attributes.comp_mask & ~kBoth) != 0) return tl::unexpected<int>(EOPNOTSUPP);
    if (attributes.comp_mask != kBoth) return tl::unexpected<int>(EINVAL);
    if (attributes.fd != -1) return domain_of_inode(context, attributes.fd, attributes.oflags);
    return std::make_shared<XrcDomain>(context.adapter->next_xrc_domain());
}

}  // namespace

void XrcDomain::wake_requesters() {
    support::SpinLockGuard guard(lock_);
    for (QueuePair* receiver : std::get<std::set<QueuePair*>>(members_)) receiver->wake_requester();
}

void XrcDomain::each_queue(const std::function<void(SharedReceiveQueue&)>& visit) {
    support::SpinLockGuard guard(lock_);
    for (SharedReceiveQueue* queue : std::get<std::set<SharedReceiveQueue*>>(members_))
        visit(*queue);
}

SharedReceiveQueue* XrcDomain::queue(std::uint32_t srq_num) {
    SharedReceiveQueue* found = nullptr;
    each_queue([&](SharedReceiveQueue& queue) {
        if (queue.number() == srq_num) found = &queue;
    });
    return found;
}

ibv_xrcd* open_xrc_domain(ibv_context* context, ibv_xrcd_init_attr* attributes) {
    const CancellationDisabled guard;
    try {
        Result<std::shared_ptr<XrcDomain>> domain = find_domain(Context::of(context), *attributes);
        if (domain) return new OpenXrcDomain(context, std::move(*domain));
        errno = domain.error();
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    }
    return nullptr;
}

int close_xrc_domain(ibv_xrcd* xrcd) {
    const CancellationDisabled guard;
    OpenXrcDomain* const mine = &OpenXrcDomain::of(xrcd);
    if (mine->users != 0) return also_errno(EBUSY);
    delete mine;
    return 0;
}

}  // namespace softverbs
