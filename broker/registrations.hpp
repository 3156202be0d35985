// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The registrations of one adapter instance that was opened with the broker: their virtual
/// contexts, their revocation, and the events for the consumer.
///
/// Lock order: ProcessState::open_mutex, Client::serving, a Registration's mutex, then an IA's
/// mutex, connection_lock and the locks of the objects; the locks of this class, of the client and
/// of the broker come last. A thread that already holds connection_lock or an object's lock
/// (because it turns a completion into an event) only updates counts.
#pragma once

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_reg_extensions.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>

#include "broker/broker.hpp"
#include "broker/mode.hpp"
#include "broker/registration.hpp"
#include "broker/use_records.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/transfer/decoration.hpp"
#include "dapl/verbs/device_extensions.hpp"
#include "support/base/page_allocator.hpp"

namespace dapl {
class Evd;
}  // namespace dapl

namespace dapl::memory {

class Brackets;
class Client;
struct PendingCreate;
struct PendingReturn;

/// Privileges that peers have, or may get through a memory window.
inline constexpr unsigned kRemotePrivileges = DAT_MEM_PRIV_REMOTE_READ_FLAG |
                                              DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
                                              unsigned{DAT_IB_MEM_PRIV_REMOTE_ATOMIC};

/// The arguments of dat_lmr_create, checked as far as possible without an entry.
struct Asked {
    Pz* pz;
    Memory memory;
    DAT_LMR_PARAM parameters;
    Class kind;
};

/// Says how long a call waits for an entry.
struct Wait {
    Time until;  ///< 0: does not wait
    /// The state of the caller: with PTHREAD_CANCEL_ENABLE waiting is a cancellation point.
    int cancel_state = PTHREAD_CANCEL_DISABLE;
    /// Keeps trying after Refusal::kImpossible: what is in use now counts as refused, but may be
    /// idle soon.
    bool insists = false;
};

// The TransferUse of a transfer: the address of a Registration, or kUseRecord and the number of a
// use record, shifted by kUseRecordShift. With either, kUseHolds for Use::kHold.
inline constexpr TransferUse kUseRecord = 1, kUseHolds = 2;
inline constexpr int kUseRecordShift = 2;
inline TransferUse transfer_use(const Registration& used, Use use) {
    return reinterpret_cast<TransferUse>(&used) | (use == Use::kHold ? kUseHolds : 0);
}
inline TransferUse transfer_use(UseNumber number, Use use) {
    return number << kUseRecordShift | kUseRecord | (use == Use::kHold ? kUseHolds : 0);
}

/// @return the code of a call that got no entry.
DAT_RETURN code_of(Refusal why);

class Registrations final : public Decoration {
  public:
    /// @param patience how long a plain call may wait for an entry, in ns. Throws std::bad_alloc.
    Registrations(Ia& owner, Client& membership, Mode opened, Time patience);
    ~Registrations();
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;

    Ia& ia;
    Client& client;
    const Mode mode;
    const Time patience;
    const verbs::DeviceExtensions device;
    UseRecords records;
    const std::unique_ptr<Brackets> brackets;
    Registrations* next_member = nullptr;  ///< of the client, whose `serving` guards it

    // -- the data path: no lock, unless something is gone or announced

    /// @return the registration that a context of the consumer names, or nullptr.
    Registration* find(DAT_LMR_CONTEXT context) const {
        const std::uint32_t index = context & kContextIndexMask;
        Registration* chunk = chunks_[index / kPerChunk].load(std::memory_order_acquire);
        if (!chunk || context == 0) return nullptr;
        Registration& found = chunk[index % kPerChunk];
        return found.context.load(std::memory_order_acquire) == context ? &found : nullptr;
    }
    /// Begins a use for a transfer of `length` bytes. Waits while a registration that comes back is
    /// registered again. @param key out: the device's key. @return DAT_SUCCESS; else the code that
    /// the post returns, and no use has begun.
    DAT_RETURN begin_use(Registration& used, Use use, DAT_VLEN length, std::uint32_t& key) {
        if (used.begin(use) == Standing::kStanding) [[likely]] {
            used.count_use();
            key = used.key.load(std::memory_order_relaxed);
            return DAT_SUCCESS;
        }
        return begin_slowly(used, use, length, key);
    }
    void end_use(Registration& used, Use use) {
        if (used.end(use) && used.goes_when_idle.load(std::memory_order_seq_cst)) idle_.add(used);
    }
    void end(UseNumber number, Use use) {
        records.end(number, [this, use](Registration& used) { end_use(used, use); });
    }
    /// Deregisters what was to go as soon as it is idle. Called with no lock held.
    void settle() override {
        if (!idle_.is_empty()) [[unlikely]]
            let_idle_go();
    }

    // -- for the core

    DAT_RETURN post(const Request& request, bool is_receive,
                    DAT_RETURN (*post)(const void* what, const Request& request),
                    const void* what) override;
    void end_use(TransferUse use) override {
        const Use kind = use & kUseHolds ? Use::kHold : Use::kRequest;
        if (use & kUseRecord) [[unlikely]]
            return end(use >> kUseRecordShift, kind);
        end_use(*reinterpret_cast<Registration*>(use & ~kUseHolds), kind);
    }
    FailedTransfer take_completion(const ibv_wc& completion, DAT_EVENT& event) override;

    // -- the control path

    /// Takes an entry and registers.
    DAT_RETURN create(Asked asked, const Wait& wait, DAT_LMR_HANDLE* lmr);
    DAT_RETURN free(DAT_LMR_HANDLE lmr);
    /// @return the registration of an LMR of this adapter instance.
    Registration* of(const Lmr& lmr) const { return find(lmr.parameters.lmr_context); }
    /// @return the registration whose LMR has this rmr_context as the consumer knows it, or
    /// nullptr.
    Registration* of_remote_context(DAT_RMR_CONTEXT context) EXCLUDES(lock_);
    /// Renews a registration that has gone. @return DAT_SUCCESS also if it has not gone.
    DAT_RETURN restore(Registration& gone, const Wait& wait);
    /// Notes that a peer waits for a registration that is away. Takes no lock.
    void want(Registration& away);

    // Calls of the consumer (dat_reg_extensions.h).
    DAT_RETURN accept(Registration& announced);
    DAT_RETURN offer(Registration& announced, Registration& other);
    DAT_RETURN refuse(Registration& announced, DAT_UINT64 microseconds);
    DAT_RETURN begin_explicit_use(Registration& used, DAT_UINT64 microseconds);
    DAT_RETURN end_explicit_use(Registration& used);
    DAT_RETURN touch(Registration& used);
    void query(Registration& asked, DAT_REG_LMR_STATUS& status);
    void attach(Evd* evd) EXCLUDES(evd_lock_);
    DAT_RETURN create_later(const Asked& asked, DAT_PVOID cookie, DAT_REG_TICKET* ticket);
    DAT_RETURN cancel(DAT_REG_TICKET ticket);

    // Called by the client's thread, with Client::serving held.
    /// Does what the state of the slot demands. @param slot none: whatever it has. @return whether
    /// it is finished; else it has to be called again.
    bool serve(Registration& registration, SlotId slot = {});
    void granted(const PendingCreate& pending, const Ticket& ticket, SlotId slot);
    void refused(const PendingCreate& pending, const Ticket& ticket, Refusal why);
    void pressed(std::uint64_t window);
    /// Brings back what peers wait for, or queues for entries.
    void bring_back();
    /// Brings a registration back that has waited for an entry.
    /// @param slot none: it has been refused.
    void answered(const PendingReturn& pending, SlotId slot);

    /// Ends all service by the client's thread. Called before the adapter instance frees its LMRs.
    void close();
    /// Releases all entries. Called after the LMRs have been freed.
    void release_all();

  private:
    static constexpr std::uint32_t kPerChunk = 256;
    static constexpr std::uint64_t kNoWindow = ~std::uint64_t{0};
    static constexpr std::uint32_t kChunks = (kContextIndexMask + 1) / kPerChunk;

    Registration* allocate() EXCLUDES(lock_);
    Registration* take_place(std::unique_ptr<Registration[]>& chunk) EXCLUDES(lock_);
    Registration* place_for(SlotId slot) EXCLUDES(lock_);
    void give_back(Registration& unused) EXCLUDES(lock_);
    Registration* at(std::uint32_t index) const {
        return &chunks_[index / kPerChunk].load(std::memory_order_acquire)[index % kPerChunk];
    }
    DAT_RETURN begin_slowly(Registration& used, Use use, DAT_VLEN length, std::uint32_t& key);
    tl::expected<SlotId, DAT_RETURN> take(const Wanted& wanted, bool counts, const Wait& wait);
    DAT_RETURN create_with(const Asked& asked, SlotId slot, DAT_LMR_HANDLE* lmr);
    void stand(Registration& made, SlotId slot, const ibv_mr& region) REQUIRES(made.mutex);
    void count_uses(Registration& made, ibv_mr& region) REQUIRES(made.mutex);
    DAT_RETURN reinstate(Registration& gone, SlotId slot) REQUIRES(gone.mutex);
    bool resume(Registration& away) REQUIRES(away.mutex);
    void give_up(Registration& away) REQUIRES(away.mutex);
    bool can_be_away() const;
    bool is_per_io(const Registration& one) const REQUIRES(one.mutex) {
        return mode == Mode::kPerIo && one.comes_back && !one.peers;
    }
    void request_return(Registration& away) REQUIRES(away.mutex);
    void catch_up(Registration& made, SlotId slot);
    void stay(Registration& kept) REQUIRES(kept.mutex);
    bool deregister(Registration& gone) REQUIRES(gone.mutex);
    bool go_away(Registration& gone) REQUIRES(gone.mutex);
    bool take_away(Registration& gone) REQUIRES(gone.mutex);
    bool let_go(Registration& idle) REQUIRES(idle.mutex);
    bool leave_requests_waiting(Registration& used) REQUIRES(used.mutex);
    bool end_posted(Registration& posted) REQUIRES(posted.mutex);
    void give_entry_back(Registration& gone) REQUIRES(gone.mutex);
    bool serve_announced(Registration& announced) REQUIRES(announced.mutex);
    bool serve_revoked(Registration& revoked) REQUIRES(revoked.mutex);
    void tell(DAT_REG_EVENT_NUMBER number, const DAT_REG_EVENT_DATA& data) EXCLUDES(evd_lock_);
    void tell_revoked(Registration& gone) REQUIRES(gone.mutex);
    bool has_handler() const { return evd_.load(std::memory_order_acquire) != nullptr; }
    void let_idle_go();
    /// @return whether others wait for entries. What only our own calls wait for is no pressure.
    bool do_others_wait() const;
    bool is_window_full() const;
    void make_room_for_others();
    void narrow(std::uint64_t window);
    void widen();

    std::array<std::atomic<Registration*>, kChunks> chunks_{};
    RegistrationList<&Registration::idle> idle_;
    RegistrationList<&Registration::wanted> wanted_;
    /// kPerIo: how many registrations transfers may have at once, and how many they have.
    std::atomic<std::uint64_t> window_;
    std::atomic<std::uint64_t> in_window_{0};
    std::atomic<Time> pressed_at_{0};
    std::atomic<std::uint64_t> waiting_{0};  ///< calls that wait for an entry
    support::SpinLock lock_;                 ///< nothing is allocated or freed under it
    std::uint32_t made_ GUARDED_BY(lock_) = 0;
    support::PageVector<std::uint32_t> free_ GUARDED_BY(lock_);
    support::Mutex evd_lock_;
    std::atomic<Evd*> evd_{nullptr};  ///< changed with evd_lock_ held; counted in Evd::users
};

/// @return nullptr if the adapter instance was opened without the broker.
inline Registrations* registrations_of(const Ia& ia) {
    return static_cast<Registrations*>(ia.decoration);
}

}  // namespace dapl::memory
