// SPDX-License-Identifier: BSD-2-Clause
#include "broker/client.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "broker/adapter_name.hpp"
#include "broker/directory.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/process_state.hpp"
#include "support/base/limits.hpp"
#include "support/settings/settings.hpp"
#include "support/thread/start_thread.hpp"

namespace dapl::memory {
namespace {

using support::MutexLock;
using support::Setting;

/// Interval between two attempts to release registrations that were still in use.
constexpr Time kNextLook = 1000000;
constexpr Time kPerMillisecond = 1000000;

/// Ends the registration of an owner that does not do so itself, because it is stopped or hangs.
bool end_registration(void* by_device, std::int32_t pid, std::uint32_t key) {
    return reinterpret_cast<decltype(verbs::DeviceExtensions::end_registration)>(by_device)(pid,
                                                                                            key);
}

/// @return for whom a request was queued; nullptr if that has closed.
Registrations*& whose(Pending& pending) {
    return std::visit([](auto& one) -> Registrations*& { return one.of; }, pending);
}

/// Counts a creation as a user of its PZ, or no longer.
void count_user(const Pending& pending, int by) {
    if (const auto* create = std::get_if<PendingCreate>(&pending)) create->asked.pz->users += by;
}

}  // namespace

Client::Client(std::string adapter, std::unique_ptr<Broker> broker)
    : adapter_(std::move(adapter)),
      broker_(std::move(broker)),
      owners_(static_cast<Owner*>(std::calloc(broker_->slot_count(), sizeof(Owner))), &std::free) {
    if (!owners_) throw std::bad_alloc();
    const int error = support::start_thread(thread_, run, this);
    if (error == 0) return;
    support::report_limit(error, "the thread of the registration broker");
    throw ToldLimit();
}

Client::~Client() {
    stopping_.store(true);
    broker_->wake();
    pthread_join(thread_, nullptr);
}

DAT_RETURN Client::join(Ia& ia, Mode mode, ProcessState& process) {
    const std::string name = ia.provider.info.ia_name;
    ibv_device* const device = ia.context()->device;
    const std::string adapter =
        adapter_name(ibv_get_device_name(device), ibv_get_device_guid(device));
    Client* client = process.first_client;
    while (client && client->adapter_ != adapter) client = client->next_;
    if (!client) {
        const auto share =
            static_cast<std::uint32_t>(support::setting_integer(Setting::kRegistrationShare, name));
        auto broker =
            Broker::join(directory_path(geteuid()), adapter,
                         terms_of(name, static_cast<std::uint64_t>(ia.device_attributes.max_mr)),
                         Member{share, support::setting_text(Setting::kRegdSocket)});
        if (!broker) return broker.error().code;
        const auto by_device =
            verbs::extensions_for(ia.context(), ia.provider.library.device).end_registration;
        if (by_device)
            (*broker)->set_enforcement(end_registration, reinterpret_cast<void*>(by_device));
        client = new Client(adapter, std::move(*broker));
        client->broker_->set_collection(
            [](void* self) { static_cast<Client*>(self)->enter_all_uses(); }, client);
        client->broker_->set_service(serve_slots, client);
        client->next_ = process.first_client;
        process.first_client = client;
    }
    ++client->users_;
    try {
        const auto patience =
            static_cast<Time>(support::setting_integer(Setting::kRegistrationWait, name));
        auto* const registrations =
            new Registrations(ia, *client, mode, patience * kPerMillisecond);
        ia.decoration = registrations;
        MutexLock served(client->serving);
        registrations->next_member = client->members_;
        client->members_ = registrations;
        return DAT_SUCCESS;
    } catch (const std::bad_alloc&) {
        // Once it has its Registrations, the close of the adapter instance dismisses the client.
        if (!ia.decoration) dismiss(*client, process);
        throw;
    }
}

/// Drops one user of a client, and deletes the client with the last one.
void Client::dismiss(Client& client, ProcessState& process) {
    if (--client.users_ > 0) return;
    Client** link = &process.first_client;
    while (*link != &client) link = &(*link)->next_;
    *link = client.next_;
    delete &client;
}

void Client::leave(Ia& ia, ProcessState& process) {
    const Registrations* const leaving = registrations_of(ia);
    Client& client = leaving->client;
    ia.decoration = nullptr;
    delete leaving;
    dismiss(client, process);
}

void Client::bind(SlotId slot, Registrations& of, Registration& registration) {
    MutexLock lock(lock_);
    owners_[slot.index] = {&of, &registration, slot};
    owners_end_ = std::max(owners_end_, slot.index + 1);
}

void Client::unbind(SlotId slot) {
    MutexLock lock(lock_);
    owners_[slot.index] = {};
}

void Client::watch(Registration& registration) {
    watched_.add(registration);
    broker_->wake();
}

/// Holds the lock across the broker's queue(): the answer may arrive before that returns, and
/// answer() must find the ticket.
tl::expected<Ticket, Refusal> Client::queue(const Wanted& wanted, const Pending& pending) {
    PendingMap made;
    made.emplace(0, std::make_pair(Ticket{}, pending));
    PendingMap::node_type node = made.extract(made.begin()), former;
    MutexLock lock(lock_);
    auto ticket = broker_->queue(wanted);
    if (!ticket) return ticket;
    count_user(pending, 1);
    former = pending_.extract(ticket->index);
    node.key() = ticket->index;
    node.mapped().first = *ticket;
    pending_.insert(std::move(node));
    return ticket;
}

DAT_RETURN Client::cancel(const Ticket& ticket, const Registrations& of) {
    PendingMap::node_type node;
    MutexLock lock(lock_);
    const auto found = pending_.find(ticket.index);
    if (found == pending_.end() || !(found->second.first == ticket))
        return error(DAT_INVALID_STATE);
    const auto* const create = std::get_if<PendingCreate>(&found->second.second);
    if (!create || create->of != &of) return bad_argument(2);
    if (!broker_->cancel(ticket)) return error(DAT_INVALID_STATE);
    count_user(*create, -1);
    node = pending_.extract(found);
    return DAT_SUCCESS;
}

void Client::forget(Registrations& closing) {
    MutexLock served(serving);
    Registrations** link = &members_;
    while (*link != &closing) link = &(*link)->next_member;
    *link = closing.next_member;
    watched_.take_all([&](Registration& one) {
        if (one.of != &closing) watched_.add(one);
    });
    PendingMap cancelled;
    MutexLock lock(lock_);
    for (auto next = pending_.begin(); next != pending_.end();) {
        const auto one = next++;
        auto& [ticket, pending] = one->second;
        if (whose(pending) != &closing) continue;
        // A ticket that has already been granted stays without an owner: answer() releases its
        // entry.
        count_user(pending, -1);
        whose(pending) = nullptr;
        if (broker_->cancel(ticket)) cancelled.insert(pending_.extract(one));
    }
}

void* Client::run(void* self) {
    static_cast<Client*>(self)->loop();
    return nullptr;
}

void Client::loop() {
    while (!stopping_.load()) try {
            bool watches;
            {
                MutexLock lock(serving);
                if (missed_.exchange(false)) watch_all();
                while (const auto upcall = broker_->next()) carry_out(*upcall);
                bring_back();
                watches = serve_watched();
            }
            const Time due = broker_->work();
            broker_->sleep(watches ? std::min(due, now() + kNextLook) : due);
        } catch (const std::bad_alloc&) {
            missed_ = true;  // until there is memory again
            broker_->sleep(now() + kNextLook);
        }
}

bool Client::serve_slots(void* self) {
    auto& client = *static_cast<Client*>(self);
    bool any = false;
    const DAT_RETURN code = uncancelled([&](int) {
        any = client.serve_slots();
        return kSuccess;
    });
    if (code == DAT_SUCCESS) return any;
    client.missed_ = true;
    client.broker_->wake();
    return any;
}

/// Waits for no mutex: the caller may have that of a registration, which it renews.
bool Client::serve_slots() {
    if (!serving.try_lock()) return false;
    MutexLock served(serving, MutexLock::kTaken);
    bool any = false;
    for (; const auto upcall = broker_->next_of_slots(); any = true) carry_out(*upcall);
    if (!watched_.is_empty()) broker_->wake();
    return any;
}

void Client::watch_all() {
    MutexLock lock(lock_);
    for (std::uint32_t slot = 0; slot < owners_end_; ++slot)
        if (owners_[slot].registration) watched_.add(*owners_[slot].registration);
}

void Client::carry_out(const Upcall& upcall) {
    switch (upcall.kind) {
        case Upcall::Kind::kAnnounced:
        case Upcall::Kind::kRevoke: {
            // If the registration is still being made, its maker checks the slot afterwards.
            Owner owner{};
            if (owner_of(upcall.slot, owner) && !owner.of->serve(*owner.registration, owner.slot))
                watched_.add(*owner.registration);
            return;
        }
        case Upcall::Kind::kGranted:
        case Upcall::Kind::kRefused:
            return answer(upcall);
        case Upcall::Kind::kPressure:
            return press(upcall.window);
    }
}

bool Client::owner_of(SlotId slot, Owner& owner) {
    MutexLock lock(lock_);
    owner = owners_[slot.index];
    return owner.slot == slot;
}

void Client::answer(const Upcall& upcall) {
    PendingMap::node_type node;
    const bool granted = upcall.kind == Upcall::Kind::kGranted;
    {
        MutexLock lock(lock_);
        const auto found = pending_.find(upcall.ticket.index);
        if (found == pending_.end() || !(found->second.first == upcall.ticket)) {
            if (granted) broker_->release(upcall.slot);
            return;
        }
        node = pending_.extract(found);
    }
    auto& [ticket, pending] = node.mapped();
    Registrations* const of = whose(pending);
    if (!of) {
        if (granted) broker_->release(upcall.slot);
        return;
    }
    if (const auto* back = std::get_if<PendingReturn>(&pending)) {
        of->answered(*back, granted ? upcall.slot : SlotId{});
        return;
    }
    const auto& create = std::get<PendingCreate>(pending);
    if (granted)
        of->granted(create, ticket, upcall.slot);
    else
        of->refused(create, ticket, upcall.why);
    count_user(pending, -1);
}

void Client::press(std::uint64_t window) {
    for (Registrations* one = members_; one; one = one->next_member) one->pressed(window);
}

void Client::bring_back() {
    for (Registrations* one = members_; one; one = one->next_member) one->bring_back();
}

void Client::enter_uses(Registration& registration) {
    MutexLock lock(lock_);
    registration.enter_uses_of_peers();
}

void Client::enter_all_uses() {
    MutexLock lock(lock_);
    for (std::uint32_t slot = 0; slot < owners_end_; ++slot)
        if (owners_[slot].registration) owners_[slot].registration->enter_uses_of_peers();
}

bool Client::serve_watched() {
    watched_.take_all([this](Registration& one) {
        if (!one.of->serve(one)) watched_.add(one);
    });
    return !watched_.is_empty();
}

}  // namespace dapl::memory
