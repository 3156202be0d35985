// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The consumer's calls (dat2/dat_reg_extensions.h): answers to announcements, explicit uses,
/// queries and creations with a ticket; and the events that it gets.
#include <cstring>
#include <new>

#include "broker/client.hpp"
#include "broker/registrations.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl::memory {
namespace {

using support::MutexLock;

constexpr Time kPerMicrosecond = 1000;

Time after(DAT_UINT64 microseconds) {
    const Time present = now();
    return microseconds > (kNever - present - 1) / kPerMicrosecond
               ? kNever
               : present + microseconds * kPerMicrosecond;
}

DAT_REG_TICKET number_of(const Ticket& ticket) {
    return DAT_REG_TICKET{ticket.generation} << 32 | ticket.index;
}
Ticket ticket_of(DAT_REG_TICKET number) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
}

}  // namespace

DAT_RETURN Registrations::accept(Registration& announced) {
    const RegistrationLock lock(announced);
    if (announced.standing.load(std::memory_order_relaxed) != Standing::kAnnounced)
        return error(DAT_INVALID_STATE);
    return let_go(announced) ? kSuccess : error(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
}

DAT_RETURN Registrations::offer(Registration& announced, Registration& other) {
    SlotId offered;
    {
        const RegistrationLock lock(other);
        const bool stands = other.standing.load(std::memory_order_relaxed) == Standing::kStanding;
        if (stands && !is_pinned(other.kind)) offered = other.slot;
    }
    {
        const RegistrationLock lock(announced);
        if (announced.standing.load(std::memory_order_relaxed) != Standing::kAnnounced)
            return error(DAT_INVALID_STATE);
        if (!offered) return bad_argument(2);
        if (!client.broker().offer(announced.slot, offered)) {
            const SlotUse& use = client.broker().use(announced.slot);
            return use.state.load() == SlotState::kAnnounced ? bad_argument(2)
                                                             : error(DAT_INVALID_STATE);
        }
        stay(announced);
    }
    client.watch(other);
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::refuse(Registration& announced, DAT_UINT64 microseconds) {
    const RegistrationLock lock(announced);
    if (announced.standing.load(std::memory_order_relaxed) != Standing::kAnnounced ||
        !client.broker().refuse(announced.slot, after(microseconds)))
        return error(DAT_INVALID_STATE);
    stay(announced);
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::begin_explicit_use(Registration& used, DAT_UINT64 microseconds) {
    const RegistrationLock lock(used);
    const Standing standing = used.begin(Use::kHold);
    const bool fits = standing == Standing::kStanding ||
                      (standing == Standing::kAnnounced &&
                       after(microseconds) <= used.deadline.load(std::memory_order_relaxed));
    if (!fits) {
        end_use(used, Use::kHold);
        return error(DAT_INVALID_STATE, standing == Standing::kAnnounced
                                            ? DAT_INVALID_STATE_LMR_IN_USE
                                            : DAT_INVALID_STATE_LMR_FREE);
    }
    used.count_use();
    ++used.explicit_uses;
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::end_explicit_use(Registration& used) {
    {
        const RegistrationLock lock(used);
        if (used.explicit_uses == 0) return error(DAT_INVALID_STATE);
        --used.explicit_uses;
    }
    end_use(used, Use::kHold);
    settle();
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::touch(Registration& used) {
    const RegistrationLock lock(used);
    if (used.standing.load(std::memory_order_relaxed) == Standing::kGone)
        return error(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
    used.count_use();
    return DAT_SUCCESS;
}

void Registrations::query(Registration& asked, DAT_REG_LMR_STATUS& status) {
    const RegistrationLock lock(asked);
    const Standing standing = asked.standing.load(std::memory_order_relaxed);
    std::memset(&status, 0, sizeof status);
    status.state = standing == Standing::kStanding    ? DAT_REG_STATE_ACTIVE
                   : standing == Standing::kAnnounced ? DAT_REG_STATE_ANNOUNCED
                                                      : DAT_REG_STATE_GONE;
    status.reg_class =
        is_pinned(asked.kind) ? DAT_REG_CLASS_PINNED : static_cast<DAT_REG_CLASS>(asked.kind);
    const Time deadline = asked.deadline.load(std::memory_order_relaxed);
    const Time present = now();
    if (standing == Standing::kAnnounced && deadline > present)
        status.remaining = (deadline - present) / kPerMicrosecond;
    client.enter_uses(asked);
    if (asked.slot) status.use_count = client.broker().use(asked.slot).use_count.load();
    status.busy = asked.uses();
}

void Registrations::attach(Evd* evd) {
    if (evd) ++evd->users;
    MutexLock lock(evd_lock_);
    if (Evd* before = evd_.exchange(evd)) --before->users;
}

void Registrations::tell(DAT_REG_EVENT_NUMBER number, const DAT_REG_EVENT_DATA& data) {
    DAT_EVENT event;
    static_assert(sizeof data <= sizeof event.event_extension_data);
    std::memset(&event, 0, sizeof event);
    event.event_number = static_cast<DAT_EVENT_NUMBER>(number);
    std::memcpy(event.event_extension_data, &data, sizeof data);
    MutexLock lock(evd_lock_);
    Evd* evd = evd_.load();
    if (!evd) return;
    event.evd_handle = evd->handle();
    evd->post_event(event);
}

DAT_RETURN Registrations::create_later(const Asked& asked, DAT_PVOID cookie,
                                       DAT_REG_TICKET* ticket) {
    if (!has_handler()) return error(DAT_INVALID_STATE);
    const auto queued =
        client.queue({asked.kind, asked.memory.length}, PendingCreate{this, asked, cookie});
    if (!queued) return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
    *ticket = number_of(*queued);
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::cancel(DAT_REG_TICKET ticket) {
    return client.cancel(ticket_of(ticket), *this);
}

void Registrations::granted(const PendingCreate& pending, const Ticket& ticket, SlotId slot) {
    DAT_REG_EVENT_DATA data{};
    data.ticket = number_of(ticket);
    data.cookie = pending.cookie;
    data.reason =
        or_out_of_memory([&] { return create_with(pending.asked, slot, &data.lmr_handle); });
    if (data.reason != DAT_SUCCESS) return tell(DAT_REG_REFUSED_EVENT, data);
    const DAT_LMR_PARAM& made = object_of<Lmr>(data.lmr_handle).parameters;
    data.lmr_context = made.lmr_context;
    data.rmr_context = made.rmr_context;
    tell(DAT_REG_GRANTED_EVENT, data);
}

void Registrations::refused(const PendingCreate& pending, const Ticket& ticket, Refusal why) {
    DAT_REG_EVENT_DATA data{};
    data.ticket = number_of(ticket);
    data.cookie = pending.cookie;
    data.reason = code_of(why);
    tell(DAT_REG_REFUSED_EVENT, data);
}

}  // namespace dapl::memory
