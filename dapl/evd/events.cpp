// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/events.hpp"

#include <dat2/dat_opendat.h>

#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl {
namespace {

DAT_EVENT blank(DAT_EVENT_NUMBER number) {
    DAT_EVENT event;
    std::memset(&event, 0, sizeof event);
    event.event_number = number;
    return event;
}

/// @param object the one that the event is about; an IA has no handle here.
DAT_EVENT blank(DAT_EVENT_NUMBER number, std::uint64_t object) {
    DAT_EVENT event = blank(number);
    event.event_extension_data[DAT_OPENDAT_EVENT_OBJECT_ID] = object;
    return event;
}

void extend(DAT_EVENT& event, DAT_IB_EVENT_NUMBER number,
            const DAT_IB_EXTENSION_EVENT_DATA& extension) {
    static_assert(sizeof extension <= sizeof event.event_extension_data);
    event.event_number = static_cast<DAT_EVENT_NUMBER>(number);
    std::memcpy(event.event_extension_data, &extension, sizeof extension);
}

/// Called from any thread, with any locks held but an EVD's.
void post_async(Ia& ia, const DAT_EVENT& event) {
    Evd* evd;
    {
        support::SpinLockGuard lock(ia.async_lock);
        evd = ia.async_evd;
        if (evd) ++evd->users;
    }
    if (!evd) return;
    evd->post_event(event);
    --evd->users;
}

}  // namespace

Evd* async_evd_of(Ia& ia) {
    support::SpinLockGuard lock(ia.async_lock);
    return ia.async_evd;
}

void set_async_evd(Ia& ia, Evd* evd) {
    if (evd) ++evd->users;
    Evd* old;
    {
        support::SpinLockGuard lock(ia.async_lock);
        old = ia.async_evd;
        ia.async_evd = evd;
    }
    if (old) --old->users;
}

void post_connection_event(Evd& evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep,
                           DAT_COUNT private_data_size, DAT_PVOID private_data) {
    DAT_EVENT event = blank(number, id_of(ep));
    event.event_data.connect_event_data = {ep, private_data_size, private_data};
    evd.counters.count(DCNT_EVD_CONN_CALLBACK);
    evd.post_event(event);
}

void post_datagram_event(Evd& evd, DAT_IB_EVENT_NUMBER number, DAT_EP_HANDLE ep,
                         DAT_COUNT private_data_size, DAT_PVOID private_data,
                         const DAT_IB_EXTENSION_EVENT_DATA& extension) {
    DAT_EVENT event = blank({});
    event.event_data.connect_event_data = {ep, private_data_size, private_data};
    extend(event, number, extension);
    evd.counters.count(DCNT_EVD_CONN_CALLBACK);
    evd.post_event(event);
}

bool post_connection_request(Evd& evd, DAT_HANDLE service_point, DAT_IA_ADDRESS_PTR local_address,
                             DAT_CONN_QUAL conn_qual, DAT_CR_HANDLE cr, bool is_datagram) {
    DAT_EVENT event = blank(DAT_CONNECTION_REQUEST_EVENT, id_of(cr));
    if (is_datagram) {
        DAT_IB_EXTENSION_EVENT_DATA extension;
        std::memset(&extension, 0, sizeof extension);
        extension.type = DAT_IB_UD_CONNECT_REQUEST;
        extend(event, DAT_IB_UD_CONNECTION_REQUEST_EVENT, extension);
    }
    DAT_CR_ARRIVAL_EVENT_DATA& arrival = event.event_data.cr_arrival_event_data;
    arrival.sp_handle.psp_handle = service_point;
    arrival.local_ia_address_ptr = local_address;
    arrival.conn_qual = conn_qual;
    arrival.cr_handle = cr;
    arrival.truncate_flag = DAT_FALSE;
    return evd.post_event(event);
}

void post_async_event(Ia& ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, DAT_COUNT reason) {
    const std::uint64_t id = id_of(handle);
    DAT_EVENT event = blank(number, id ? id : ia.id());
    event.event_data.asynch_error_event_data = {handle, reason};
    post_async(ia, event);
}

}  // namespace dapl
