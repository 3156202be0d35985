// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Binds RMRs to parts of LMRs.
#pragma once

#include "dapl/base/dat.hpp"
#include "dapl/transfer/slot_ring.hpp"

namespace dapl {

class Ep;
class Lmr;
class Rmr;

/// A bind to be posted. Lives on the stack of the call that posts it.
struct BindRequest {
    Rmr& rmr;
    Ep& ep;
    Lmr* lmr;  ///< nullptr: unbind
    const DAT_LMR_TRIPLET& triplet;
    DAT_MEM_PRIV_FLAGS privileges;
    DAT_VA_TYPE va_type;
    DAT_RMR_COOKIE cookie;
    DAT_COMPLETION_FLAGS flags;
    TransferUse* use = nullptr;  ///< set by a decorator
};

/// Checks the EP's state, and range, PZ and privileges of the region. @return the code of
/// dat_rmr_bind.
DAT_RETURN check_bind(const BindRequest& request);

/// Posts a bind that check_bind() has passed.
/// @param context out: the RMR's new context; may be nullptr.
DAT_RETURN post_bind(const BindRequest& request, DAT_RMR_CONTEXT* context);

/// Does what dat_rmr_bind does. @param use nullptr without a decorator.
DAT_RETURN bind_rmr(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET* triplet,
                    DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
                    DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT* context,
                    TransferUse* use);

}  // namespace dapl
