// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues that belong to identifiers.
#include <rdma/rdma_verbs.h>

#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
namespace {

/// Creates the SRQ that queue pairs created for the identifier afterwards use by default.
int create_shared_receives(rdma_cm_id& id, ibv_srq_init_attr_ex& attributes) {
    if (!id.verbs || id.srq) return EINVAL;
    const bool has_type = (attributes.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
    // rdma_cm here connects no XRC queue pairs.
    if (has_type && attributes.srq_type == IBV_SRQT_XRC) return EOPNOTSUPP;
    if ((attributes.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
        attributes.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
        attributes.pd = id.pd;
    }
    if (!attributes.pd || attributes.pd->context != id.verbs) return EINVAL;
    id.srq = ibv_create_srq_ex(id.verbs, &attributes);
    if (!id.srq) return errno;
    id.pd = attributes.pd;
    return 0;
}

}  // namespace
}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;

extern "C" {

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return attributes ? softverbs::create_shared_receives(*id, *attributes) : EINVAL;
    });
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attributes) {
    if (!attributes) {
        errno = EINVAL;
        return -1;
    }
    ibv_srq_init_attr_ex extended = {};
    extended.srq_context = attributes->srq_context;
    extended.attr = attributes->attr;
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
    extended.srq_type = IBV_SRQT_BASIC;
    if (pd) {
        extended.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
        extended.pd = pd;
    }
    if (rdma_create_srq_ex(id, &extended) != 0) return -1;
    attributes->attr = extended.attr;
    return 0;
}

void rdma_destroy_srq(rdma_cm_id* id) {
    CancellationDisabled no_cancellation;
    if (id->srq) ibv_destroy_srq(id->srq);
    id->srq = nullptr;
}

}  // extern "C"
