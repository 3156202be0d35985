// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// EPs in each state, for rows that call functions in that state. Each function returns an EP of
/// this side; all but unconnected(), reserved() and disconnected() fork a peer and so must come
/// first in a row.
#pragma once

#include "test/api/conformance/rig.hpp"

namespace conformance {

DAT_EP_HANDLE unconnected(Rig& r);
/// An RSP listens with it.
DAT_EP_HANDLE reserved(Rig& r);
/// The RSP has received a request.
DAT_EP_HANDLE passive_pending(Rig& r);
/// Created for a request by a PSP with DAT_PSP_PROVIDER_FLAG.
DAT_EP_HANDLE tentative(Rig& r);
/// Connecting to a listener that does not answer.
DAT_EP_HANDLE active_pending(Rig& r);
DAT_EP_HANDLE connected(Rig& r);
/// After a connection attempt that was rejected because nobody listens.
DAT_EP_HANDLE disconnected(Rig& r);

/// Creates an RSP on kQualifier.
DAT_RSP_HANDLE reserve(Rig& r, DAT_EP_HANDLE ep);

/// Posts a software event.
inline DAT_RETURN post(DAT_EVD_HANDLE to) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    return dat_evd_post_se(to, &event);
}

}  // namespace conformance
