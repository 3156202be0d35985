// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a decorator of the provider's functions (the registration broker) keeps of transfers that
/// are on their way: the core tells it of what no function of DAT sees. Without a decorator all
/// pointers to these are nullptr.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "dapl/base/dat.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

/// A transfer whose completion the consumer has taken.
struct FailedTransfer {
    DAT_EP_HANDLE ep = nullptr;  ///< NULL: it has not failed, or was flushed
    ibv_wc_status status = IBV_WC_SUCCESS;
    std::uint32_t operation = 0;
};

/// Of one side of an EP: something beside each slot (slot_ring.hpp).
class SlotShadow {
  public:
    struct Storage {
        virtual ~Storage() = default;
    };

    SlotShadow() = default;
    SlotShadow(const SlotShadow&) = delete;
    SlotShadow& operator=(const SlotShadow&) = delete;
    virtual ~SlotShadow() = default;

    /// What reset() needs. @param limit as for SlotRing::storage(). Throws std::bad_alloc.
    virtual std::unique_ptr<Storage> storage(std::uint32_t limit) const = 0;
    /// The slots are being emptied. @param storage has the one before afterwards.
    virtual void reset(std::uint32_t limit, std::unique_ptr<Storage>& storage) REQUIRES(lock) = 0;
    /// No event will come of the transfers that are left. No lock is held that posts take.
    virtual void end_all() EXCLUDES(lock) = 0;

    /// Comes before that of the side.
    support::SpinLock lock;
};

/// Of an adapter instance.
class Decoration {
  public:
    /// For one side of a new EP. Throws std::bad_alloc.
    virtual std::unique_ptr<SlotShadow> make_shadow() = 0;
    /// In place of take_completion() (dapl/evd/completion.hpp), around which it stands.
    virtual FailedTransfer take_completion(const ibv_wc& completion, DAT_EVENT& event) = 0;
    /// For whoever has waited for completions, when the EVD's lock is dropped.
    virtual void settle() = 0;

  protected:
    ~Decoration() = default;
};

}  // namespace dapl
