// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/merging.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/traced.hpp"

namespace dapl {
namespace {

/// Queues start larger than asked for, so that a consumer who asked for too little or wants more
/// later seldom needs to resize the device's queue. Beyond kGenerousQueues in an adapter instance,
/// where this would cost noticeable memory, queues get the length asked for.
constexpr DAT_COUNT kSmallestQueue = 4096;
constexpr int kGenerousQueues = 256;

struct DeviceQueue {
    std::shared_ptr<SharedChannel> channel;
    verbs::CompletionQueue queue;
};

/// @return an empty queue, with errno, when the device refuses.
DeviceQueue make_device_queue(Ia& ia, DAT_COUNT length) {
    DeviceQueue made{channel_for(ia), {}};
    if (!made.channel) return made;
    const DAT_COUNT smallest = ia.queues < kGenerousQueues ? kSmallestQueue : length;
    const DAT_COUNT generous = std::min(std::max(length, smallest), ia.device_attributes.max_cqe);
    for (const DAT_COUNT entries : {generous, length}) {
        made.queue.reset(ibv_create_cq(ia.context(), entries, nullptr, made.channel->native(), 0));
        if (made.queue) break;
    }
    return made;
}

DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_COUNT length, DAT_CNO_HANDLE cno_handle,
                  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (length <= 0) return bad_argument(2);
    if (length > ia->device_attributes.max_cqe)
        return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
    Cno* cno = from_handle<Cno>(cno_handle);
    if (cno_handle && !cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    if (!streams_merge(flags)) return bad_argument(4);
    if (!handle) return bad_argument(5);
    const support::Result<Evd*> evd = make_evd(*ia, length, cno, flags);
    if (!evd) return code_of(evd);
    *handle = (*evd)->handle();
    ia->counters.count(DCNT_IA_EVD_CREATE);
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_EVD_HANDLE handle) {
    Evd* evd = from_handle<Evd>(handle);
    if (!evd) return error(DAT_INVALID_HANDLE);
    if (evd->users > 0) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
    evd->ia.counters.count(DCNT_IA_EVD_FREE);
    destroy_evd(*evd);
    return DAT_SUCCESS;
}

/// Calls `body` with the EVD. @return its code, or DAT_INVALID_HANDLE.
template <class Body>
DAT_RETURN with_evd(DAT_EVD_HANDLE handle, const Body& body) {
    Evd* evd = from_handle<Evd>(handle);
    return evd ? body(*evd) : error(DAT_INVALID_HANDLE);
}

}  // namespace

support::Result<Evd*> make_evd(Ia& ia, DAT_COUNT length, Cno* cno, DAT_EVD_FLAGS flags) {
    DeviceQueue device;
    if (wants_completions(flags)) {
        device = make_device_queue(ia, length);
        if (!device.queue) return refused_by_device(ia, errno, "a completion queue");
    }
    ibv_cq* queue = device.queue.get();
    Evd* evd = make<Evd>(&ia.provider.table, ia, flags, length, std::move(device.channel),
                         std::move(device.queue));
    if (queue) queue->cq_context = evd;
    if (queue) ++ia.queues;
    {
        support::MutexLock lock(ia.mutex);
        ia.evds.add(*evd);
    }
    const bool all_completions = (flags & ~(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)) == 0;
    if (!all_completions && !evd->reserve_events()) {
        destroy_evd(*evd);
        return support::failure(out_of_memory(), "no memory for events");
    }
    const DAT_RETURN attached =
        cno ? or_out_of_memory([&] { return evd->modify_cno(cno); }) : kSuccess;
    if (attached == DAT_SUCCESS) return evd;
    destroy_evd(*evd);
    return support::failure(attached, "the service thread cannot watch the completion channel");
}

void destroy_evd(Evd& evd) {
    revoke(evd);
    evd.shut_down();
    {
        support::MutexLock lock(evd.ia.mutex);
        evd.ia.evds.remove(evd);
    }
    if (evd.completion_queue()) --evd.ia.queues;
    destroy(evd);
}

namespace entry {

DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT length, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                      DAT_EVD_HANDLE* evd) {
    return uncancelled([=](int) { return create(ia, length, cno, flags, evd); });
}

DAT_RETURN evd_free(DAT_EVD_HANDLE evd) {
    return uncancelled([=](int) { return free(evd); });
}

DAT_RETURN evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM* parameters) {
    return with_evd(handle, [=](Evd& evd) {
        if (!parameters) return bad_argument(3);
        evd.query(*parameters);
        return kSuccess;
    });
}

DAT_RETURN evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle) {
    return uncancelled([=](int) {
        return with_evd(handle, [=](Evd& evd) {
            Cno* cno = from_handle<Cno>(cno_handle);
            if (cno_handle && !cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
            return evd.modify_cno(cno);
        });
    });
}

DAT_RETURN evd_enable(DAT_EVD_HANDLE handle) {
    return uncancelled(
        [=](int) { return with_evd(handle, [](Evd& evd) { return evd.set_enabled(true); }); });
}

DAT_RETURN evd_disable(DAT_EVD_HANDLE handle) {
    return uncancelled(
        [=](int) { return with_evd(handle, [](Evd& evd) { return evd.set_enabled(false); }); });
}

DAT_RETURN evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                    DAT_EVENT* event, DAT_COUNT* more) {
    return uncancelled([=](int old_cancel_state) {
        return with_evd(handle, [=](Evd& evd) {
            if (!event) return bad_argument(4);
            if (!more) return bad_argument(5);
            const std::uint64_t id = evd.id();  // the EVD may be freed as soon as wait() is done
            const DAT_RETURN code = evd.wait(timeout, threshold, old_cancel_state, event, more);
            if (code == DAT_SUCCESS && support::data_path_traced()) trace_taken(id, *event);
            return code;
        });
    });
}

DAT_RETURN evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT length) {
    Evd* evd = from_handle<Evd>(handle);
    if (!evd) return bad_handle(DAT_INVALID_HANDLE1);
    return uncancelled([=](int) { return evd->resize(length); });
}

DAT_RETURN evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT* event) {
    return with_evd(handle, [=](Evd& evd) {
        if (!evd.takes(DAT_EVD_SOFTWARE_FLAG)) return bad_argument(1);
        if (!event || event->event_number != DAT_SOFTWARE_EVENT) return bad_argument(2);
        return evd.post_software_event(event->event_data.software_event_data.pointer);
    });
}

DAT_RETURN evd_set_unwaitable(DAT_EVD_HANDLE handle) {
    return with_evd(handle, [](Evd& evd) {
        evd.set_waitable(false);
        return kSuccess;
    });
}

DAT_RETURN evd_clear_unwaitable(DAT_EVD_HANDLE handle) {
    return with_evd(handle, [](Evd& evd) {
        evd.set_waitable(true);
        return kSuccess;
    });
}

}  // namespace entry
}  // namespace dapl
