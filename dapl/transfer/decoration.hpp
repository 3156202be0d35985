// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Hooks by which a decorator of the provider's functions (the registration broker) follows posted
/// transfers: the core reports to it what no DAT function sees. Without a decorator all pointers to
/// these are nullptr.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "dapl/base/dat.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

/// A failed transfer whose completion was consumed.
struct FailedTransfer {
    DAT_EP_HANDLE ep = nullptr;  ///< NULL: it did not fail, or was flushed
    ibv_wc_status status = IBV_WC_SUCCESS;
    std::uint32_t operation = 0;
};

/// The decorator's data for each slot (slot_ring.hpp) of one side of an EP.
class SlotShadow {
  public:
    struct Storage {
        virtual ~Storage() = default;
    };

    SlotShadow() = default;
    SlotShadow(const SlotShadow&) = delete;
    SlotShadow& operator=(const SlotShadow&) = delete;
    virtual ~SlotShadow() = default;

    /// Allocates what reset() installs. @param limit as for SlotRing::storage(). Throws
    /// std::bad_alloc.
    virtual std::unique_ptr<Storage> storage(std::uint32_t limit) const = 0;
    /// Installs empty storage, when the slots are emptied. @param storage storage(limit);
    /// afterwards the previous one.
    virtual void reset(std::uint32_t limit, std::unique_ptr<Storage>& storage) REQUIRES(lock) = 0;
    /// Ends the entries of the transfers that are left, which will make no event. Called with no
    /// lock held that posts take.
    virtual void end_all() EXCLUDES(lock) = 0;

    /// Lock order: before the side's lock.
    support::SpinLock lock;
};

/// The hooks of one adapter instance.
class Decoration {
  public:
    /// Makes the shadow for one side of a new EP. Throws std::bad_alloc.
    virtual std::unique_ptr<SlotShadow> make_shadow() = 0;
    /// Called in place of take_completion() (dapl/evd/completion.hpp), which it wraps.
    virtual FailedTransfer take_completion(const ibv_wc& completion, DAT_EVENT& event) = 0;
    /// Does the work that consumed completions left over. Called at the end of Evd::wait(), after
    /// the EVD's lock is dropped.
    virtual void settle() = 0;

  protected:
    ~Decoration() = default;
};

}  // namespace dapl
