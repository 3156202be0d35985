// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks and defaults for the parts and attributes that a consumer asks for.
#pragma once

#include "dapl/ep/ep.hpp"

namespace dapl {

/// Looks up handles, any of which may be NULL. @return the objects, or the code of dat_ep_create
/// for a handle that is bad or whose object cannot serve.
support::Result<EpParts> find_parts(const Ia& ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd);

/// Returns the attributes of an EP with these parts if the consumer gives none.
DAT_EP_ATTR default_attributes(const Ia& ia, const EpParts& parts,
                               DAT_SERVICE_TYPE service = DAT_SERVICE_TYPE_RC);

/// Checks and completes an EP's attributes.
/// @param asked nullptr for the defaults; zero sizes, RDMA read counts and max_request_iov mean the
/// defaults too.
/// @param with_srq whether the EP receives from an SRQ; max_{recv,request}_{dtos,iov} must not be 0
/// then.
/// @return the EP's attributes, or the code of dat_ep_create for what it cannot have.
support::Result<DAT_EP_ATTR> settle_attributes(const Ia& ia, const EpParts& parts,
                                               const DAT_EP_ATTR* asked, bool with_srq = false);

}  // namespace dapl
