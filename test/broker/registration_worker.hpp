// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that uses a table in every possible way, at random, with an agent thread that answers
/// the table's upcalls, also at random.
#pragma once

#include <algorithm>
#include <mutex>
#include <random>

#include "test/broker/registration_checker.hpp"

namespace registration {

class Worker {
  public:
    Worker(const Place& place, const Terms& terms, Checker& checker)
        : checker_(checker),
          all_bytes_(terms.bytes),
          dice_(static_cast<unsigned>(getpid())),
          answers_(static_cast<unsigned>(getpid()) + 1),
          broker_(place.join(terms)),
          agent_([this] { serve(); }) {
        broker_->set_enforcement(enforce, &checker);
    }
    ~Worker() { leave(); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void run(int operations) {
        for (int i = 0; i < operations; ++i) {
            one();
            if (i % 256 == 255) checker_.count(256);
        }
        checker_.count(static_cast<std::uint64_t>(operations % 256));
    }

    void lead() { broker_->lead(); }

    /// Gives everything back and leaves the table.
    void leave() {
        if (!broker_) return;
        cancel_all();
        end_agent();
        // The agent has ended, so no more entries arrive.
        for (SlotId slot; (slot = any(true)).generation != 0;) give(slot);
        broker_.reset();
    }
    /// Leaves the table while it holds entries; for a process that dies in the middle of that.
    void leave_with_all() {
        end_agent();
        broker_.reset();
    }

  private:
    /// Number of entries from which take() takes no more; all processes together want more than
    /// there are.
    static constexpr size_t kKept = 12;
    static constexpr size_t kTickets = 4;

    static bool enforce(void* checker, std::int32_t pid, std::uint32_t key) {
        // The key is the slot's number and generation, as a device's key distinguishes reuses.
        static_cast<Checker*>(checker)->gone({key & 63, key >> 6}, pid);
        return true;
    }

    unsigned below(unsigned sides) { return static_cast<unsigned>(dice_() % sides); }

    void end_agent() {
        stop_ = true;
        broker_->wake();
        agent_.join();
    }

    void one() {
        switch (below(10)) {
            case 0:
                return wait();
            case 1:
            case 2:
                return take();
            case 3:
                return queue();
            case 4:
                return cancel();
            case 5:
            case 6:
                if (const SlotId slot = any(true); slot) give(slot);
                return;
            default:
                return touch();
        }
    }

    void wait() {
        const auto slot = broker_->take(wanted(), later());
        if (slot) return keep(*slot);
        if (slot.error() != Refusal::kImpossible)
            checker_.fault("a waiter was not served: %d", static_cast<int>(slot.error()));
    }
    void take() {
        if (count() >= kKept) return;
        if (const auto slot = broker_->try_take(wanted())) keep(*slot);
    }
    void queue() {
        const std::lock_guard guard(mutex_);
        if (tickets_.size() >= kTickets) return;
        if (const auto ticket = broker_->queue(wanted())) tickets_.push_back(*ticket);
    }
    void cancel() {
        const std::lock_guard guard(mutex_);
        if (tickets_.empty() || !broker_->cancel(tickets_.back())) return;
        tickets_.pop_back();
    }
    void touch() {
        const std::lock_guard guard(mutex_);
        if (held_.empty()) return;
        SlotUse& use = broker_->use(held_[below(static_cast<unsigned>(held_.size()))]);
        use.busy.fetch_add(1);
        use.last_use.store(now());
        use.use_count.fetch_add(1);
        use.busy.fetch_sub(1);
    }
    /// Mostly one byte; at times as many as the table has.
    Wanted wanted() {
        const Class kind = below(4) == 0 ? Class::kMessaging : Class::kRdma;
        return {kind, below(200) == 0 ? all_bytes_ : 1};
    }

    size_t count() {
        const std::lock_guard guard(mutex_);
        return held_.size();
    }
    void keep(SlotId slot) {
        checker_.got(slot);
        broker_->describe(slot, {.key = slot.generation << 6 | slot.index});
        const std::lock_guard guard(mutex_);
        held_.push_back(slot);
        const auto due = std::find(due_.begin(), due_.end(), slot);
        if (due == due_.end()) return;
        due_.erase(due);
        held_.pop_back();
        give(slot);
    }
    /// @return one of the held entries, or none. @param out whether to hand it over to the caller.
    SlotId any(bool out) {
        const std::lock_guard guard(mutex_);
        if (held_.empty()) return {};
        const size_t place = below(static_cast<unsigned>(held_.size()));
        const SlotId slot = held_[place];
        if (out) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
        return slot;
    }
    bool remove(SlotId slot) {
        const auto place = std::find(held_.begin(), held_.end(), slot);
        if (place == held_.end()) return false;
        held_.erase(place);
        return true;
    }
    void give(SlotId slot) {
        checker_.gone(slot, getpid());
        broker_->release(slot);
    }
    void cancel_all() {
        const bool ended = eventually([this] {
            const std::lock_guard guard(mutex_);
            std::erase_if(tickets_, [&](const Ticket& ticket) { return broker_->cancel(ticket); });
            return tickets_.empty();
        });
        if (!ended) checker_.fault("a ticket neither ends nor can be cancelled%s", "");
    }

    void serve() {
        while (!stop_) {
            while (const auto upcall = broker_->next()) carry_out(*upcall);
            broker_->sleep(broker_->work());
        }
    }
    void carry_out(const Upcall& upcall) {
        switch (upcall.kind) {
            case Upcall::Kind::kGranted:
                forget(upcall.ticket);
                return keep(upcall.slot);
            case Upcall::Kind::kRefused:
                return forget(upcall.ticket);
            case Upcall::Kind::kAnnounced:
                return answer(upcall.slot);
            case Upcall::Kind::kRevoke:
                return revoked(upcall.slot);
            case Upcall::Kind::kPressure:
                return;
        }
    }
    void forget(const Ticket& ticket) {
        const std::lock_guard guard(mutex_);
        std::erase(tickets_, ticket);
    }
    void revoked(SlotId slot) {
        {
            const std::lock_guard guard(mutex_);
            if (!remove(slot)) {
                // A thread of this process is about to keep it, or to release it.
                if (due_.size() > 64) due_.erase(due_.begin());
                return due_.push_back(slot);
            }
        }
        give(slot);
    }
    void answer(SlotId slot) {
        const std::lock_guard guard(mutex_);
        const unsigned answer = static_cast<unsigned>(answers_() % 10);
        if (answer < 6) {
            if (!remove(slot)) return;
            broker_->accept(slot);
            give(slot);
        } else if (answer < 8) {
            if (!held_.empty()) broker_->offer(slot, held_[answers_() % held_.size()]);
        } else if (answer == 8) {
            broker_->refuse(slot, now() + kMillisecond / 10);
        }
    }

    Checker& checker_;
    const std::uint64_t all_bytes_;
    std::minstd_rand dice_, answers_;
    std::mutex mutex_;
    std::vector<SlotId> held_, due_;
    std::vector<Ticket> tickets_;
    std::atomic<bool> stop_{false};
    std::unique_ptr<Broker> broker_;
    test::Thread agent_;
};

}  // namespace registration
