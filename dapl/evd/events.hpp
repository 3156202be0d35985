// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Functions that post the events that are not completions, one for each kind. All may be called
/// from any thread, without an EVD's lock held; none blocks.
#pragma once

#include "dapl/base/dat.hpp"

#include <dat2/dat_ib_extensions.h>

namespace dapl {

class Evd;
class Ia;

/// @param private_data valid until the EP is reset, freed or connected again.
void post_connection_event(Evd& evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep,
                           DAT_COUNT private_data_size, DAT_PVOID private_data);
/// @param service_point handle of the PSP, RSP or CSP. @param conn_qual its qualifier.
/// @return false when the event could not be queued: the consumer will not know of the request.
[[nodiscard]] bool post_connection_request(Evd& evd, DAT_HANDLE service_point,
                                           DAT_IA_ADDRESS_PTR local_address,
                                           DAT_CONN_QUAL conn_qual, DAT_CR_HANDLE cr,
                                           bool is_datagram);
/// Posts the outcome of an exchange of a datagram endpoint.
/// @param private_data valid until the EP is reset or freed, or dat_ib_ud_cm_free.
void post_datagram_event(Evd& evd, DAT_IB_EVENT_NUMBER number, DAT_EP_HANDLE ep,
                         DAT_COUNT private_data_size, DAT_PVOID private_data,
                         const DAT_IB_EXTENSION_EVENT_DATA& extension);
/// @return the EVD of async events; nullptr once it has been freed.
Evd* async_evd_of(Ia& ia);
void set_async_evd(Ia& ia, Evd* evd);
/// Posts to the async EVD of the adapter instance. @param handle what the event is about; an IA is
/// named by the consumer's integer (consumer_handle()). @param reason DAT_*_ASYNC_ERROR_REASON of
/// the object's kind.
void post_async_event(Ia& ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, DAT_COUNT reason = 0);

}  // namespace dapl
