// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Enhanced connection establishment (ECE): vendor options of adapters on which the two ends of a
/// connection agree. This device has none of its own; it carries those that applications agree on
/// for queue pairs they bring up themselves.
#include "providers/soft/softverbs/cm/engine.hpp"

using softverbs::guarded;
using softverbs::Identifier;

extern "C" {

int rdma_set_local_ece(rdma_cm_id* handle, ibv_ece* ece) {
    return guarded([&] {
        if (!handle || handle->qp || !ece || ece->vendor_id == 0 || ece->comp_mask != 0)
            return EINVAL;
        Identifier& id = Identifier::of(handle);
        support::MutexLock lock(id.engine->mutex);
        id.local_ece = *ece;
        return 0;
    });
}

int rdma_get_remote_ece(rdma_cm_id* handle, ibv_ece* ece) {
    return guarded([&] {
        if (!handle || handle->qp || !ece) return EINVAL;
        Identifier& id = Identifier::of(handle);
        support::MutexLock lock(id.engine->mutex);
        *ece = {id.remote.ece_vendor, id.remote.ece_options, 0};
        return 0;
    });
}

}  // extern "C"
