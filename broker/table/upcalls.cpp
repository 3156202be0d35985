// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Upcalls from the table to a process, and how its agent thread sleeps until one comes.
#include <algorithm>

#include "broker/table/futex.hpp"
#include "broker/table/state.hpp"

namespace dapl::memory {
namespace {

/// Longest sleep, in ns, while a ticket of this process is queued: another process may die after it
/// has granted it and before it wakes us. Whatever else may be lost so is found by whom it
/// concerns, since threads that wait look themselves.
constexpr Time kLongestSleep = 500'000'000;

constexpr std::uint32_t kKinds = 1 + static_cast<std::uint32_t>(Upcall::Kind::kPressure);

/// @return the upcall of a slot; nothing if the state of the slot no longer fits it.
std::optional<Upcall> of_slot(const Table& table, std::uint32_t index, Upcall::Kind kind) {
    const SlotState wanted =
        kind == Upcall::Kind::kAnnounced ? SlotState::kAnnounced : SlotState::kRevoked;
    if (table.state(index) != wanted) return std::nullopt;
    return Upcall{.kind = kind,
                  .slot = {index, table.slots[index].generation},
                  .deadline = table.uses[index].deadline.load(std::memory_order_relaxed)};
}

/// Returns the upcall of a ticket and frees the ticket, since its owner knows now.
std::optional<Upcall> of_ticket(const Table& table, std::uint32_t index, Upcall::Kind kind) {
    TicketRow& row = table.tickets[index];
    const Ticket ticket{index, row.generation};
    Upcall upcall{.kind = kind, .slot = {}, .ticket = ticket};
    if (kind == Upcall::Kind::kGranted) {
        if (row.slot.index >= table.slot_count) return std::nullopt;
        upcall.slot = row.slot;
        table.slots[row.slot.index].ticket = kNone;
    } else {
        upcall.why = row.why;
    }
    free_ticket(table, index);
    return upcall;
}

std::optional<Upcall> fetch(State& state, std::uint32_t node) REQUIRES(state.lock) {
    const Table& table = state.table;
    if (table.upcalls[node].pending - 1 >= kKinds) {  // overwritten
        table.upcalls_of(state.process).remove(node);
        table.upcalls[node].pending = 0;
        return std::nullopt;
    }
    const auto kind = static_cast<Upcall::Kind>(table.upcalls[node].pending - 1);
    drop_upcall(table, state.process, node);
    if (node < table.node_of_ticket(0)) return of_slot(table, node, kind);
    if (node < table.node_of_process(0)) return of_ticket(table, node - table.slot_count, kind);
    return Upcall{.kind = Upcall::Kind::kPressure, .window = state.row().window};
}

}  // namespace

std::optional<Upcall> Broker::next() {
    State& state = *state_;
    if (!state.is_here()) return std::nullopt;
    // Read before the list: a ring after this ends the next sleep() at once.
    state.heard = state.row().doorbell.load(std::memory_order_acquire);
    if (!state.lock.acquire()) return std::nullopt;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    state.has_tickets = state.row().tickets != 0;
    for (std::uint32_t node; (node = state.table.upcalls_of(state.process).first()) != kNone;)
        if (auto upcall = fetch(state, node)) return upcall;
    return std::nullopt;
}

std::optional<Upcall> Broker::next_of_slots() {
    State& state = *state_;
    if (!state.is_here() || !state.lock.acquire()) return std::nullopt;
    const TableGuard guard(state.lock, TableGuard::kTaken);
    for (;;) {
        std::uint32_t found = kNone;
        state.table.upcalls_of(state.process).each([&](std::uint32_t node) {
            if (found == kNone && node < state.table.node_of_ticket(0)) found = node;
        });
        if (found == kNone) return std::nullopt;
        if (auto upcall = fetch(state, found)) return upcall;
    }
}

void Broker::set_service(ServeSlots serve, void* context) {
    state_->serve_context = context;
    state_->serve = serve;
}

void Broker::sleep(Time deadline) {
    State& state = *state_;
    if (!state.is_here() || state.is_woken.exchange(false)) return;
    if (state.has_tickets) deadline = std::min(deadline, now() + kLongestSleep);
    futex_wait(state.row().doorbell, state.heard, deadline);
}

void wake_agent(State& state) {
    if (!state.is_here()) return;
    // It may have looked at everything but not at the doorbell.
    state.is_woken = true;
    ring_at_once(state.row().doorbell);
}

void Broker::wake() {
    wake_agent(*state_);
}

}  // namespace dapl::memory
