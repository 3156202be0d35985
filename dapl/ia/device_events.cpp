// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ia/device_events.hpp"

#include <fcntl.h>

#include <memory>
#include <new>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "support/log/log.hpp"

namespace dapl {

void DeviceEvents::join(Ia& ia, ProcessState& process) {
    DeviceEvents* events = process.first_events;
    while (events && events->device_ != ia.context()) events = events->next_;
    if (!events) {
        std::unique_ptr<DeviceEvents> made(new DeviceEvents(ia.context()));
        events = made.get();
        const int descriptor = ia.context()->async_fd;
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
        if (!process.service->watch(descriptor, *events)) throw ToldLimit();
        made->next_ = process.first_events;
        process.first_events = made.release();
    }
    support::MutexLock lock(events->mutex_);
    ia.events = events;
    ia.next_on_device = events->first_ia_;
    events->first_ia_ = &ia;
}

void DeviceEvents::leave(Ia& ia, ProcessState& process) {
    DeviceEvents* events = ia.events;
    if (!events) return;
    {
        support::MutexLock lock(events->mutex_);
        Ia** link = &events->first_ia_;
        while (*link != &ia) link = &(*link)->next_on_device;
        *link = ia.next_on_device;
        if (events->first_ia_) return;
    }
    process.service->unwatch(ia.context()->async_fd, *events);
    DeviceEvents** link = &process.first_events;
    while (*link != events) link = &(*link)->next_;
    *link = events->next_;
    delete events;
}

void DeviceEvents::serve() {
    ibv_async_event event;
    if (ibv_get_async_event(device_, &event) != 0) return;
    try {
        dispatch(event);
    } catch (const std::bad_alloc& failure) {
        support::report<support::kEventLost>(failure.what());
    }
    ibv_ack_async_event(&event);
}

/// The destruction of a queue pair or completion queue waits until its events are acknowledged, so
/// the object that an event points at still exists.
void DeviceEvents::dispatch(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR: {
            auto* evd = static_cast<Evd*>(event.element.cq->cq_context);
            if (!evd) break;
            evd->ia.counters.count(DCNT_IA_ASYNC_CQ_ERROR);
            post_async_event(evd->ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd->handle());
            break;
        }
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR: {
            Ep& ep = *static_cast<Ep*>(event.element.qp->qp_context);
            ep.ia.counters.count(DCNT_IA_ASYNC_QP_ERROR);
            {
                support::MutexLock lock(connection_lock);
                queue_pair_failed(ep, event.event_type);
            }
            post_async_event(ep.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep.handle());
            break;
        }
        case IBV_EVENT_QP_LAST_WQE_REACHED: {
            Ep& ep = *static_cast<Ep*>(event.element.qp->qp_context);
            if (ep.shared) ep.shared->last_reached(event.element.qp);
            break;
        }
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            static_cast<Srq*>(event.element.srq->srq_context)->low_watermark_reached();
            break;
        case IBV_EVENT_SRQ_ERR:
            static_cast<Srq*>(event.element.srq->srq_context)->failed();
            break;
        case IBV_EVENT_DEVICE_FATAL:
            tell_all(DAT_IA_CATASTROPHIC_ERROR);
            break;
        case IBV_EVENT_PORT_ERR:
        case IBV_EVENT_LID_CHANGE:
        case IBV_EVENT_PKEY_CHANGE:
        case IBV_EVENT_SM_CHANGE:
            tell_all(DAT_IA_OTHER_ERROR);
            break;
        default:  // no error, or none that a consumer can act on
            break;
    }
}

void DeviceEvents::tell_all(DAT_IA_ASYNC_ERROR_REASON reason) {
    support::MutexLock lock(mutex_);
    for (Ia* ia = first_ia_; ia; ia = ia->next_on_device) {
        ia->counters.count(DCNT_IA_ASYNC_ERROR);
        post_async_event(*ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, consumer_handle(*ia), reason);
    }
}

}  // namespace dapl
