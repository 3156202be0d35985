// SPDX-License-Identifier: BSD-2-Clause
#include "test/bench/registration/entries.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace registration {

TableDirectory::TableDirectory() {
    char name[] = "/dev/shm/registration-XXXXXX";
    if (!mkdtemp(name)) throw std::runtime_error("no directory in /dev/shm");
    path_ = name;
}

TableDirectory::~TableDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::optional<dapl::memory::TableStatus> TableDirectory::look() const {
    for (const std::string& adapter : dapl::memory::tables(path_))
        if (auto table = dapl::memory::look(path_, adapter)) return std::move(*table);
    return std::nullopt;
}

Entries::Entries(const std::string& directory, const Terms& terms, Ledger& ledger, int regions,
                 Manners manners)
    : ledger_(ledger), manners_(std::move(manners)), regions_(static_cast<std::size_t>(regions)) {
    auto broker = Broker::join(directory, kAdapter, terms, {manners_.share});
    if (!broker) throw std::runtime_error("the table cannot be joined: " + broker.error().cause);
    broker_ = std::move(*broker);
    agent_ = std::thread([this] { serve(); });
}

Entries::~Entries() {
    ending_ = true;
    broker_->wake();
    agent_.join();
    for (const auto& [slot, region] : by_slot_) ledger_.leave(slot, getpid());
}

void Entries::serve() {
    while (!ending_) {
        while (const auto upcall = broker_->next()) carry_out(*upcall);
        broker_->sleep(broker_->work());
    }
}

void Entries::carry_out(const Upcall& upcall) {
    switch (upcall.kind) {
        case Upcall::Kind::kAnnounced:
            return announced(upcall);
        case Upcall::Kind::kRevoke:
            return revoked(upcall);
        case Upcall::Kind::kGranted:
        case Upcall::Kind::kRefused:
            return answered(upcall);
        case Upcall::Kind::kPressure:
            ++pressed_;
    }
}

int Entries::region_of(SlotId slot) const {
    const auto found = by_slot_.find(slot.index);
    const bool known =
        found != by_slot_.end() && regions_[static_cast<std::size_t>(found->second)].slot == slot;
    return known ? found->second : -1;
}

/// Handles an announcement, unless the manners say otherwise: gives up an idle entry at once; one
/// in use goes when the use ends or at the deadline.
void Entries::announced(const Upcall& upcall) {
    if (!manners_.answers) return;
    if (manners_.answer_delay) {
        const Time delay = manners_.answer_delay();
        const timespec pause{static_cast<time_t>(delay / kSecond),
                             static_cast<long>(delay % kSecond)};
        nanosleep(&pause, nullptr);
    }
    const int other = manners_.alternative ? manners_.alternative() : -1;
    const std::lock_guard guard(mutex_);
    const int region = region_of(upcall.slot);
    if (region < 0) return;
    Region& mine = regions_[static_cast<std::size_t>(region)];
    if (other >= 0 && other != region && !mine.offered) {
        Region& instead = regions_[static_cast<std::size_t>(other)];
        if (instead.slot && broker_->offer(upcall.slot, instead.slot)) {
            instead.offered = true;
            return;
        }
    }
    const Time until = manners_.refusal ? manners_.refusal() : 0;
    if (until != 0 && broker_->refuse(upcall.slot, until)) return;
    if (mine.uses == 0 && broker_->accept(upcall.slot)) drop(region);
}

void Entries::revoked(const Upcall& upcall) {
    const std::lock_guard guard(mutex_);
    const int region = region_of(upcall.slot);
    if (region < 0) return;
    if (regions_[static_cast<std::size_t>(region)].uses != 0) ++failed_uses_;
    drop(region);
}

void Entries::answered(const Upcall& upcall) {
    std::function<void(std::optional<Refusal>)> done;
    {
        const std::lock_guard guard(mutex_);
        const auto found = requests_.find(upcall.ticket.index);
        if (found == requests_.end()) return;
        done = std::move(found->second.done);
        if (upcall.kind == Upcall::Kind::kGranted) hold(found->second.region, upcall.slot);
        requests_.erase(found);
    }
    if (upcall.kind == Upcall::Kind::kGranted) {
        ++ledger_.granted;
        done(std::nullopt);
    } else {
        ++ledger_.refused;
        done(upcall.why);
    }
}

void Entries::hold(int region, SlotId slot) {
    ledger_.enter(slot.index, getpid());
    if (manners_.named) broker_->describe(slot, {.key = slot.index + 1});
    Region& mine = regions_[static_cast<std::size_t>(region)];
    mine = {slot, 1, false};
    by_slot_[slot.index] = region;
    note_use(mine);
}

void Entries::note_use(const Region& region) {
    SlotUse& use = broker_->use(region.slot);
    use.busy.fetch_add(1, std::memory_order_relaxed);
    if (!manners_.tells_use) return;
    use.last_use.store(now(), std::memory_order_relaxed);
    use.use_count.fetch_add(1, std::memory_order_relaxed);
}

/// Releases the entry of a region, which has been given up or revoked.
void Entries::drop(int region) {
    Region& mine = regions_[static_cast<std::size_t>(region)];
    const SlotId slot = mine.slot;
    by_slot_.erase(slot.index);
    mine.slot = {};
    ++lost_;
    if (on_loss) on_loss(region);
    ledger_.leave(slot.index, getpid());
    broker_->release(slot);
}

bool Entries::begin_use(int region) {
    const std::lock_guard guard(mutex_);
    Region& mine = regions_[static_cast<std::size_t>(region)];
    if (!mine.slot || broker_->use(mine.slot).state.load() != SlotState::kActive) return false;
    ++mine.uses;
    note_use(mine);
    return true;
}

void Entries::end_use(int region) {
    const std::lock_guard guard(mutex_);
    Region& mine = regions_[static_cast<std::size_t>(region)];
    --mine.uses;
    if (!mine.slot) return;  // revoked during the use
    SlotUse& use = broker_->use(mine.slot);
    use.busy.fetch_sub(1, std::memory_order_relaxed);
    if (mine.uses != 0 || !manners_.answers) return;
    const SlotState state = use.state.load();
    // This includes an entry that was revoked before hold() recorded it.
    if (state == SlotState::kRevoked ||
        (state == SlotState::kAnnounced && broker_->accept(mine.slot)))
        drop(region);
}

std::optional<Refusal> Entries::acquire(int region, Time deadline) {
    ++ledger_.asked;
    const auto slot = broker_->take({manners_.kind, manners_.region_bytes}, deadline);
    if (!slot) {
        ++ledger_.refused;
        return slot.error();
    }
    ++ledger_.granted;
    const std::lock_guard guard(mutex_);
    hold(region, *slot);
    return std::nullopt;
}

std::optional<Refusal> Entries::request(int region,
                                        std::function<void(std::optional<Refusal>)> done) {
    const std::lock_guard guard(mutex_);
    ++ledger_.asked;
    const auto ticket = broker_->queue({manners_.kind, manners_.region_bytes});
    if (!ticket) {
        ++ledger_.refused;
        return ticket.error();
    }
    requests_[ticket->index] = {region, std::move(done)};
    return std::nullopt;
}

bool Entries::give_back(int region) {
    const std::lock_guard guard(mutex_);
    Region& mine = regions_[static_cast<std::size_t>(region)];
    if (!mine.slot || mine.uses != 0) return false;
    const SlotId slot = mine.slot;
    by_slot_.erase(slot.index);
    mine.slot = {};
    ledger_.leave(slot.index, getpid());
    broker_->release(slot);
    return true;
}

void Entries::pretend(int region) {
    const std::lock_guard guard(mutex_);
    const SlotId slot = regions_[static_cast<std::size_t>(region)].slot;
    if (!slot) return;
    SlotUse& use = broker_->use(slot);
    use.last_use.store(now(), std::memory_order_relaxed);
    use.use_count.fetch_add(1000, std::memory_order_relaxed);
    use.busy.store(1, std::memory_order_relaxed);
}

bool Entries::stands(int region) {
    const std::lock_guard guard(mutex_);
    const SlotId slot = regions_[static_cast<std::size_t>(region)].slot;
    return slot && broker_->use(slot).state.load() == SlotState::kActive;
}

bool Entries::has(int region) {
    const std::lock_guard guard(mutex_);
    return static_cast<bool>(regions_[static_cast<std::size_t>(region)].slot);
}

}  // namespace registration
