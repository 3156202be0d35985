// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a consumer may ask of an endpoint.
#pragma once

#include "dapl/ep/ep.hpp"

namespace dapl {

/// @return the objects behind the handles, of which any may be NULL; or the code of dat_ep_create
/// for one that is bad or cannot serve.
support::Result<EpParts> find_parts(const Ia& ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd);

/// What an EP of these parts has when its consumer asks for nothing.
DAT_EP_ATTR default_attributes(const Ia& ia, const EpParts& parts,
                               DAT_SERVICE_TYPE service = DAT_SERVICE_TYPE_RC);

/// @param asked nullptr for the defaults; zero sizes and RDMA read counts mean the defaults too.
/// @param with_srq whether the EP takes its receives from an SRQ, where nothing may be zero.
/// @return what the EP has, or the code of dat_ep_create for what it cannot have.
support::Result<DAT_EP_ATTR> settle_attributes(const Ia& ia, const EpParts& parts,
                                               const DAT_EP_ATTR* asked, bool with_srq = false);

}  // namespace dapl
