// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The states of an EP in which rows put their calls. Each function gives an EP of this side in the
/// state; all but unconnected() and disconnected() fork a peer and so come first in a row.
#pragma once

#include "test/api/conformance/rig.hpp"

namespace conformance {

DAT_EP_HANDLE unconnected(Rig& r);
/// An RSP waits with it.
DAT_EP_HANDLE reserved(Rig& r);
/// The RSP has a request.
DAT_EP_HANDLE passive_pending(Rig& r);
/// Made by a provider-flag PSP for a request.
DAT_EP_HANDLE tentative(Rig& r);
/// Connecting to a peer that does not answer.
DAT_EP_HANDLE active_pending(Rig& r);
DAT_EP_HANDLE connected(Rig& r);
/// After a refusal.
DAT_EP_HANDLE disconnected(Rig& r);

/// An RSP on kQualifier.
DAT_RSP_HANDLE reserve(Rig& r, DAT_EP_HANDLE ep);

/// A software event for an EVD.
inline DAT_RETURN post(DAT_EVD_HANDLE to) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    return dat_evd_post_se(to, &event);
}

}  // namespace conformance
