// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the object that an asynchronous event is about.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

/// Both are nullptr for the events of ports and devices, which name no object.
struct EventObject {
    const void* object = nullptr;
    ibv_context* context = nullptr;
};

inline EventObject object_of(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR:
            return {event.element.cq, event.element.cq->context};
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return {event.element.qp, event.element.qp->context};
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            return {event.element.srq, event.element.srq->context};
        case IBV_EVENT_WQ_FATAL:
            return {event.element.wq, event.element.wq->context};
        default:
            return {};
    }
}

}  // namespace softverbs
