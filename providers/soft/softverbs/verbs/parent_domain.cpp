// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/parent_domain.hpp"

#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/context.hpp"

namespace softverbs {
namespace {

struct ThreadDomain : ibv_td {
    explicit ThreadDomain(ibv_context* context) : ibv_td{context} {}
    static ThreadDomain& of(ibv_td* domain) { return *static_cast<ThreadDomain*>(domain); }
    std::atomic<int> users{0};
};

template <class Object>
Object* or_errno(Object* made, int cause) {
    if (!made) errno = cause;
    return made;
}

bool makes_sense(ibv_context* context, const ibv_parent_domain_init_attr& attributes) {
    constexpr std::uint32_t kKnown =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    return (attributes.comp_mask & ~kKnown) == 0 && attributes.pd &&
           attributes.pd->context == context && !ProtectionDomain::of(attributes.pd).original &&
           (!attributes.td || attributes.td->context == context);
}

}  // namespace

ibv_td* allocate_thread_domain(ibv_context* context, ibv_td_init_attr* attributes) {
    if (attributes->comp_mask != 0) return or_errno<ibv_td>(nullptr, EINVAL);
    return or_errno<ibv_td>(new (std::nothrow) ThreadDomain(context), ENOMEM);
}

int free_thread_domain(ibv_td* domain) {
    ThreadDomain* const mine = &ThreadDomain::of(domain);
    if (mine->users != 0) return also_errno(EBUSY);
    delete mine;
    return 0;
}

ibv_pd* allocate_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
    if (!makes_sense(context, *attributes)) return or_errno<ibv_pd>(nullptr, EINVAL);
    ObjectCount& pds = Context::of(context).adapter->pds;
    if (!pds.take()) return or_errno<ibv_pd>(nullptr, ENOMEM);
    std::atomic<int>* const users =
        attributes->td ? &ThreadDomain::of(attributes->td).users : nullptr;
    ibv_pd* const made =
        new (std::nothrow) ProtectionDomain(ProtectionDomain::of(attributes->pd), users);
    if (!made) pds.put();
    return or_errno(made, ENOMEM);
}

}  // namespace softverbs
