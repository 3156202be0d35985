// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Gives a process an entry: on the spot, by a ticket, or after waiting for one.
#include <pthread.h>

#include <algorithm>

#include "broker/table/fault_points.hpp"
#include "broker/table/futex.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// Interval at which a waiting thread checks that somebody makes the decisions, in ns.
constexpr Time kLook = 5'000'000;

bool leader_is_dead(const State& state) REQUIRES(state.lock) {
    const Lease& lease = state.table.header->lease;
    if (!state.table.is_live(lease.process)) return true;
    const ProcessRow& holder = state.table.processes[lease.process];
    return holder.generation != lease.generation || !is_alive({holder.pid, holder.start});
}

/// Has somebody work ahead when the last free entry above the low watermark is gone: the holder of
/// the lease, or this process's agent thread if there is no live holder.
void call_the_reaper(State& state) REQUIRES(state.lock) {
    const Header& header = *state.table.header;
    const std::uint64_t free = state.table.capacity_entries - header.sums.entries;
    if (header.low == 0 || free + 1 != header.low) return;
    if (leader_is_dead(state))
        ring(state, state.process);
    else
        ring_leader(state);
}

/// Takes the lease for a thread that is about to wait, if this process has as many entries as the
/// holder: what is taken back is then likely its own, and it needs no other process for that.
/// This process's agent thread serves the others. dat_regd keeps its lease, and a table that
/// it limits keeps its holder, since it deals with one.
void lead_meanwhile(State& state) REQUIRES(state.lock) {
    const Table& table = state.table;
    const Header& header = *table.header;
    if (is_leader(state) || !table.is_live(header.lease.process)) return;
    const ProcessRow& holder = table.processes[header.lease.process];
    const bool is_limited =
        header.limit_entries != regd::kUnlimited || header.limit_bytes != regd::kUnlimited;
    if (holder.share == 0 || is_limited || state.row().sums.entries < holder.sums.entries) return;
    take_lease(state, now());
    if (is_busy(state)) ring(state, state.process);
}

SlotId take_now(State& state, const Wanted& wanted) REQUIRES(state.lock) {
    const SlotId slot = take_slot(state.table, state.process, wanted, kNone);
    state.row().served = ++state.table.header->sequence;
    ++state.row().granted;
    ++state.table.header->counts.granted;
    call_the_reaper(state);
    return slot;
}

/// The ticket of a thread that blocks. However the wait ends, the ticket leaves the queue.
class Wait {
  public:
    Wait(State& state, const Ticket& ticket) : state_(state), ticket_(ticket) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    /// Runs also if the thread is cancelled.
    ~Wait() {
        if (!over_) forget();
    }
    std::optional<tl::expected<SlotId, Refusal>> look(bool withdraw) {
        if (!state_.lock.acquire()) return tl::unexpected(Refusal::kBroken);
        const TableGuard guard(state_.lock, TableGuard::kTaken);
        auto result = outcome(state_, ticket_, withdraw);
        over_ = result.has_value();
        if (has_work_for_agent()) ring(state_, state_.process);
        return result;
    }
    void sleep(Time deadline) {
        const auto waiting = static_cast<std::uint32_t>(TicketState::kWaiting);
        pthread_testcancel();
        futex_wait(sleeping_place(state_.table.tickets[ticket_.index]), waiting,
                   std::min(deadline, now() + kLook));
        pthread_testcancel();
    }

  private:
    /// Whether there is something that this thread has not done in the agent's place.
    bool has_work_for_agent() const REQUIRES(state_.lock) {
        if (state_.table.upcalls_of(state_.process).first() != kNone) return true;
        return over_ && is_leader(state_) && is_busy(state_);
    }
    void forget() {
        if (auto result = look(true); result && *result && over_) {
            if (!state_.lock.acquire()) return;
            const TableGuard guard(state_.lock, TableGuard::kTaken);
            free_slot(state_.table, (*result)->index);
            ring_leader(state_);
        }
        if (over_) return;
        const support::MutexLock guard(state_.orphans_mutex);
        state_.orphans.push_back(ticket_);
    }

    State& state_;
    const Ticket ticket_;
    bool over_ = false;
};

}  // namespace

tl::expected<SlotId, Refusal> Broker::try_take(const Wanted& wanted) {
    State& state = *state_;
    load_policy(state);
    for (bool again : {true, false}) {
        if (!state.is_here() || !state.lock.acquire()) return tl::unexpected(Refusal::kBroken);
        {
            const TableGuard guard(state.lock, TableGuard::kTaken);
            end_refusals(state, now());
            if (auto why = objection(state, state.process, wanted)) return tl::unexpected(*why);
            if (state.table.header->sums.waiting_entries == 0 &&
                has_room(state.table, wanted.bytes))
                return take_now(state, wanted);
        }
        if (again) reclaim_dead(state);
    }
    return tl::unexpected(Refusal::kTimedOut);
}

tl::expected<Ticket, Refusal> Broker::queue(const Wanted& wanted) {
    State& state = *state_;
    load_policy(state);
    if (!state.is_here() || !state.lock.acquire()) return tl::unexpected(Refusal::kBroken);
    const TableGuard guard(state.lock, TableGuard::kTaken);
    end_refusals(state, now());
    auto ticket = add_ticket(state, wanted, false);
    if (ticket) ring(state, state.process);  // it must not sleep for ever from now on
    return ticket;
}

tl::expected<SlotId, Refusal> Broker::take(const Wanted& wanted, Time deadline) {
    State& state = *state_;
    auto slot = try_take(wanted);
    if (slot || slot.error() != Refusal::kTimedOut || now() >= deadline) return slot;
    tl::expected<Ticket, Refusal> ticket = tl::unexpected(Refusal::kBroken);
    const bool in_place = state.serve && !may_get_daemon(state);
    if (!state.lock.acquire()) return tl::unexpected(Refusal::kBroken);
    {
        const TableGuard guard(state.lock, TableGuard::kTaken);
        if (in_place) lead_meanwhile(state);
        const InPlaceOfAgent here(in_place);
        ticket = add_ticket(state, wanted, true);
    }
    if (!ticket) return tl::unexpected(ticket.error());
    for (Wait wait(state, *ticket);;) {
        Time next = kNever;
        const auto work_alone = [&] {
            const InPlaceOfAgent here(in_place);
            next = work();
            return state.serve && state.serve(state.serve_context);
        };
        while (work_alone() && now() < deadline) continue;
        if (auto result = wait.look(now() >= deadline)) return *result;
        wait.sleep(std::min(deadline, next));
    }
}

bool Broker::cancel(const Ticket& ticket) {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return false;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    if (ticket.index >= kTickets) return false;
    const TicketRow& row = state.table.tickets[ticket.index];
    if (row.generation != ticket.generation || row.process != state.process ||
        row.state.load(std::memory_order_relaxed) != TicketState::kWaiting)
        return false;
    free_ticket(state.table, ticket.index);
    ring_leader(state);
    return true;
}

std::uint32_t Broker::slot_count() const {
    return state_->table.slot_count;
}

SlotUse& Broker::use(SlotId slot) {
    const Table& table = state_->table;
    return table.uses[slot.index < table.slot_count ? slot.index : 0];
}

}  // namespace dapl::memory
