// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A registration as its owner's data path sees it. The consumer names it by a virtual context,
/// which stays the same when the device's key changes.
///
/// A use first increments `busy` and then reads `standing`; a revocation first changes `standing`
/// and then reads `busy`. So at least one of the two sees the other, without a lock.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "broker/broker.hpp"
#include "dapl/base/dat.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {
class Lmr;
}
namespace verbs {
struct RegionUses;
}

namespace dapl::memory {

class Registrations;
struct Registration;

/// A context holds a 20-bit index and, above it, a 12-bit generation, which is never 0.
inline constexpr int kContextIndexBits = 20;
inline constexpr std::uint32_t kContextIndexMask = (1U << kContextIndexBits) - 1;

enum class Standing : std::uint32_t {
    kFree,
    kStanding,
    kAnnounced,  ///< on the device until the deadline
    kGone        ///< off the device, or about to go: no use may begin
};

/// The demand of a use on its registration. The value is its addend in Registration::busy.
inline constexpr int kHoldShift = 32;
enum class Use : std::uint64_t {
    kRequest = 1,  ///< a request in a send queue: it may wait while the registration is away
    kHold = (std::uint64_t{1} << kHoldShift) + 1  ///< the registration has to stay
};

/// Place of a registration in a RegistrationList.
struct Listing {
    std::atomic<bool> taken{false};
    Registration* next = nullptr;
};

struct Registration {
    // For the data path, without a lock.
    std::atomic<DAT_LMR_CONTEXT> context{0};  ///< 0: belongs to no LMR
    std::atomic<Standing> standing{Standing::kFree};
    /// Uses begun and not ended, also those of earlier LMRs: all of them, and, shifted by
    /// kHoldShift, those of Use::kHold.
    std::atomic<std::uint64_t> busy{0};
    std::atomic<std::uint32_t> key{0};    ///< the device's lkey
    std::atomic<SlotUse*> use{nullptr};   ///< the slot's line, which other processes read
    std::atomic<Time> deadline{kNever};   ///< of the announcement
    std::atomic<bool> comes_back{false};  ///< registered again at the next post that names it
    std::atomic<bool> goes_when_idle{false};
    Listing idle;  ///< to be released

    // Uses by peers, if the device counts them.
    std::atomic<const verbs::RegionUses*> counted{nullptr};
    std::atomic<std::uint32_t> entered{0};  ///< how much of the count the slot's line has

    Listing watched;  ///< by the agent thread, which has something to do with it

    // While it is away (verbs::DeviceExtensions::suspend_region).
    Listing wanted;                      ///< by peers that wait for it
    std::atomic<bool> is_coming{false};  ///< a ticket of it is in the queue

    // Guarded by the mutex, which comes before an IA's mutex and the locks of the objects.
    support::Mutex mutex;
    Lmr* lmr GUARDED_BY(mutex) = nullptr;
    SlotId slot GUARDED_BY(mutex);
    Class kind GUARDED_BY(mutex) = Class::kRdma;
    DAT_RMR_CONTEXT remote_context GUARDED_BY(mutex) = 0;  ///< as the consumer knows it
    std::uint32_t explicit_uses GUARDED_BY(mutex) = 0;     ///< by dat_reg_lmr_begin_use()
    bool peers GUARDED_BY(mutex) = false;                  ///< peers have rights to it
    bool is_away GUARDED_BY(mutex) = false;   ///< gone, and comes back under the same key
    Time wanted_since GUARDED_BY(mutex) = 0;  ///< is away, and peers wait for it; 0: they do not
    std::uint32_t generation = 0;             ///< of the context; written by allocate() only
    std::uint32_t index = 0;                  ///< its own; constant
    Registrations* of = nullptr;              ///< constant

    // Approximate. Used by eviction policies and for display only, never for correctness.
    void show_busy(std::uint32_t count) {
        if (SlotUse* seen = use.load(std::memory_order_relaxed))
            seen->busy.store(count, std::memory_order_relaxed);
    }
    void count_use() {
        SlotUse* seen = use.load(std::memory_order_relaxed);
        if (!seen) return;
        timespec coarse;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
        constexpr Time kNanoseconds = 1000000000;
        seen->last_use.store(
            static_cast<Time>(coarse.tv_sec) * kNanoseconds + static_cast<Time>(coarse.tv_nsec),
            std::memory_order_relaxed);
        seen->use_count.store(seen->use_count.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
    }
    /// Enters what peers have done since the last call. Calls exclude each other.
    void enter_uses_of_peers();
    /// Begins a use, which the caller has to end whatever this returns. @return the registration's
    /// standing.
    Standing begin(Use use) {
        const auto more = static_cast<std::uint64_t>(use);
        show_busy(static_cast<std::uint32_t>(busy.fetch_add(more, std::memory_order_seq_cst) + 1));
        return standing.load(std::memory_order_seq_cst);
    }
    /// Ends a use. @return whether it was the last one.
    bool end(Use use) {
        const auto less = static_cast<std::uint64_t>(use);
        const std::uint64_t left = busy.fetch_sub(less, std::memory_order_seq_cst) - less;
        show_busy(static_cast<std::uint32_t>(left));
        return left == 0;
    }
    std::uint32_t uses() const {
        return static_cast<std::uint32_t>(busy.load(std::memory_order_seq_cst));
    }
    bool is_held() const { return busy.load(std::memory_order_seq_cst) >> kHoldShift != 0; }

    /// To be freed by the next thread that gives the mutex back.
    std::atomic<Lmr*> freed{nullptr};
};

/// Holds a registration's mutex. Where malloc() and free() deregister memory, a thread that
/// registers or deregisters under the mutex may come to Registrations::free() again, for this LMR
/// or for one that another such thread holds. Rather than waiting there, it leaves the LMR to
/// whoever holds it.
class SCOPED_CAPABILITY RegistrationLock {
  public:
    explicit RegistrationLock(Registration& held) ACQUIRE(held.mutex);
    /// For a mutex that try_lock() has taken.
    enum Taken { kTaken };
    RegistrationLock(Registration& held, Taken) REQUIRES(held.mutex);
    /// Frees what was left to the holder.
    ~RegistrationLock() RELEASE();
    RegistrationLock(const RegistrationLock&) = delete;
    RegistrationLock& operator=(const RegistrationLock&) = delete;

    /// Takes the mutex. @return false if it is taken and the thread, which holds another one or
    /// this one, must not wait for it.
    static bool try_take(Registration& held) TRY_ACQUIRE(true, held.mutex);
    /// Has the holder of the mutex free the LMR; this thread, if there is none any more.
    static void leave_to_holder(Registration& held, Lmr& lmr) EXCLUDES(held.mutex);

  private:
    [[gnu::tls_model("initial-exec")]] static thread_local int held_here_;  ///< number of locks
    Registration& held_;
};

/// A list to which any thread adds without a lock, and whose taker takes all.
template <Listing Registration::*place>
class RegistrationList {
  public:
    bool is_empty() const { return first_.load(std::memory_order_relaxed) == nullptr; }
    /// @return false if it is in the list already.
    bool add(Registration& one) {
        Listing& listing = one.*place;
        if (listing.taken.exchange(true, std::memory_order_acq_rel)) return false;
        Registration* first = first_.load(std::memory_order_relaxed);
        do {
            listing.next = first;
        } while (!first_.compare_exchange_weak(first, &one, std::memory_order_release,
                                               std::memory_order_relaxed));
        return true;
    }
    /// Calls visit(Registration&) for each, which may add it again.
    template <class Visit>
    void take_all(const Visit& visit) {
        Registration* next = first_.exchange(nullptr, std::memory_order_acquire);
        while (Registration* one = next) {
            next = (one->*place).next;
            (one->*place).taken.store(false, std::memory_order_release);
            visit(*one);
        }
    }

  private:
    std::atomic<Registration*> first_{nullptr};
};

}  // namespace dapl::memory
