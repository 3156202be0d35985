// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// This process's membership in an adapter's table, shared by the adapter instances that are open
/// on the device, and its one agent thread, which carries out what the table asks of the process.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <variant>

#include "broker/broker.hpp"
#include "broker/registrations.hpp"
#include "dapl/base/process_state.hpp"
#include "support/thread/mutex.hpp"

namespace dapl::memory {

/// A registration whose ticket has not been granted yet.
struct PendingCreate {
    Registrations* of;
    Asked asked;
    DAT_PVOID cookie;
};
/// A registration that is away, and whose ticket has not been granted yet.
struct PendingReturn {
    Registrations* of;
    Registration* away;
    DAT_LMR_CONTEXT context;  ///< tells it from a later registration in the same place
};
using Pending = std::variant<PendingCreate, PendingReturn>;

class Client {
  public:
    /// Gives the adapter instance its Registrations. Reports failures to the user. @return a code
    /// for dat_ia_open.
    static DAT_RETURN join(Ia& ia, Mode mode, ProcessState& process) REQUIRES(process.open_mutex);
    /// Deletes the Registrations, after Registrations::release_all().
    static void leave(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex);

    Broker& broker() { return *broker_; }

    /// Makes the registration the owner of the slot: upcalls for the slot go to it from now on.
    /// Afterwards the caller checks the state of the slot, for upcalls that came earlier.
    void bind(SlotId slot, Registrations& of, Registration& registration) EXCLUDES(lock_);
    void unbind(SlotId slot) EXCLUDES(lock_);
    /// Has the agent thread call Registrations::serve() until nothing is left to do.
    void watch(Registration& registration);

    /// Queues a request and keeps it until the answer. @return as Broker::queue().
    tl::expected<Ticket, Refusal> queue(const Wanted& wanted, const Pending& pending)
        EXCLUDES(lock_);
    /// Cancels a request. @return as dat_reg_ticket_cancel().
    DAT_RETURN cancel(const Ticket& ticket, const Registrations& of) EXCLUDES(lock_);

    /// Enter what peers have done with a registration, or with all, into the lines of their slots.
    void enter_uses(Registration& registration) EXCLUDES(lock_);
    void enter_all_uses() EXCLUDES(lock_);

    /// Removes all references to an adapter instance that closes. On return, the agent thread does
    /// nothing more for it.
    void forget(Registrations& closing) EXCLUDES(serving, lock_);

    /// Held while the agent thread, or a thread that waits for an entry, carries out upcalls.
    support::Mutex serving;

  private:
    Client(std::string adapter, std::unique_ptr<Broker> broker);
    ~Client();
    struct Owner {
        Registrations* of;
        Registration* registration;
        SlotId slot;
    };
    static void dismiss(Client& client, ProcessState& process) REQUIRES(process.open_mutex);
    static void* run(void* self);
    void loop();
    void carry_out(const Upcall& upcall) REQUIRES(serving) EXCLUDES(lock_);
    bool owner_of(SlotId slot, Owner& owner) EXCLUDES(lock_);
    void answer(const Upcall& upcall) REQUIRES(serving) EXCLUDES(lock_);
    void press(std::uint64_t window) REQUIRES(serving) EXCLUDES(lock_);
    void bring_back() REQUIRES(serving) EXCLUDES(lock_);
    /// For Broker::set_service(). @param self a Client.
    static bool serve_slots(void* self);
    bool serve_slots() EXCLUDES(serving, lock_);
    void watch_all() REQUIRES(serving) EXCLUDES(lock_);
    bool serve_watched() REQUIRES(serving);

    const std::string adapter_;
    const std::unique_ptr<Broker> broker_;
    int users_ = 0;           ///< guarded by ProcessState::open_mutex
    Client* next_ = nullptr;  ///< guarded likewise
    pthread_t thread_;
    std::atomic<bool> stopping_{false};
    /// Upcalls may have been lost, so the agent thread has to check all registrations.
    std::atomic<bool> missed_{false};

    RegistrationList<&Registration::watched> watched_;
    Registrations* members_ GUARDED_BY(serving) = nullptr;  ///< first; Registrations::next_member

    /// Comes after all others except the broker's own. Nothing is allocated or freed under it.
    support::Mutex lock_;
    /// By slot index. Pages of it that no slot has used yet are not there.
    std::unique_ptr<Owner[], decltype(&std::free)> owners_ GUARDED_BY(lock_);
    std::uint32_t owners_end_ GUARDED_BY(lock_) = 0;  ///< no owner has this index, or a greater one
    using PendingMap = std::map<std::uint32_t, std::pair<Ticket, Pending>>;  ///< by ticket index
    PendingMap pending_ GUARDED_BY(lock_);
};

}  // namespace dapl::memory
