// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Hooks by which a decorator of the provider's functions (the registration broker) follows posted
/// transfers: the core reports to it what no DAT function sees. Without a decorator all pointers to
/// these are nullptr.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "dapl/base/dat.hpp"
#include "dapl/transfer/slot_ring.hpp"

namespace dapl {

struct Request;

/// A failed transfer whose completion was consumed.
struct FailedTransfer {
    DAT_EP_HANDLE ep = nullptr;  ///< NULL: it did not fail, or was flushed
    ibv_wc_status status = IBV_WC_SUCCESS;
    std::uint32_t operation = 0;
};

/// The hooks of one adapter instance.
class Decoration {
  public:
    /// Posts a transfer of which only the core knows (decorated.hpp in dapl/ep): translates its
    /// segments and records what it uses (Request::use).
    /// @param post posts it in the core. @param what its first argument.
    virtual DAT_RETURN post(const Request& request, bool is_receive,
                            DAT_RETURN (*post)(const void* what, const Request& request),
                            const void* what) = 0;
    /// Ends a use that is left in a slot whose transfer makes no event any more. Called with no
    /// lock held that posts take.
    virtual void end_use(TransferUse use) = 0;
    /// Called in place of take_completion() (dapl/evd/completion.hpp), which it wraps.
    virtual FailedTransfer take_completion(const ibv_wc& completion, DAT_EVENT& event) = 0;
    /// Does the work that consumed completions left over. Called at the end of Evd::wait(), after
    /// the EVD's lock is dropped.
    virtual void settle() = 0;

  protected:
    ~Decoration() = default;
};

}  // namespace dapl
