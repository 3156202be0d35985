// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Processes that wait for an entry: the order in which they are served, and other ends of a wait.

#include "test/broker/registration_fixture.hpp"

namespace registration {
namespace {

Ticket queued(Broker& broker, std::uint64_t bytes = 4096, Class kind = Class::kRdma) {
    auto ticket = broker.queue({kind, bytes});
    if (!ticket) throw std::runtime_error("no ticket: " + std::to_string(int(ticket.error())));
    return *ticket;
}

/// @return the tickets that the upcalls of a process report as granted.
std::vector<Ticket> granted(Broker& broker) {
    std::vector<Ticket> tickets;
    for (const Upcall& upcall : all(broker))
        if (upcall.kind == Upcall::Kind::kGranted) tickets.push_back(upcall.ticket);
    return tickets;
}

TEST(RegistrationQueue, AWaiterIsGrantedWhatAnotherReleases) {
    Place place;
    auto one = place.join(terms(1, "none")), two = place.join(terms(1, "none"));
    const SlotId slot = take(*one);
    const Ticket ticket = queued(*two);
    EXPECT_EQ(one->status().waiting, 1u);
    one->work();
    EXPECT_FALSE(two->next());
    one->release(slot);
    one->work();
    const auto upcall = two->next();
    ASSERT_TRUE(upcall);
    EXPECT_EQ(upcall->kind, Upcall::Kind::kGranted);
    EXPECT_EQ(upcall->ticket, ticket);
    EXPECT_TRUE(upcall->slot);
    two->release(upcall->slot);
    EXPECT_EQ(one->status().entries, 0u);
}

TEST(RegistrationQueue, NobodyPassesThoseWhoWait) {
    Place place;
    auto one = place.join(terms(2, "none")), two = place.join(terms(2, "none"));
    const SlotId first = take(*one);
    take(*one);
    queued(*two);
    one->release(first);
    EXPECT_EQ(one->try_take({}).error(), Refusal::kTimedOut) << "the free one is the waiter's";
    two->work();
    EXPECT_EQ(granted(*two).size(), 1u);
}

TEST(RegistrationQueue, TheProcessServedLongestAgoIsNextAndItsOldestRequestFirst) {
    Place place;
    auto holder = place.join(terms(6, "none"));
    std::vector<SlotId> slots;
    for (int i = 0; i < 6; ++i) slots.push_back(take(*holder));
    auto a = place.join(terms(6)), b = place.join(terms(6));
    const Ticket a1 = queued(*a), a2 = queued(*a), a3 = queued(*a);
    const Ticket b1 = queued(*b), b2 = queued(*b);
    std::vector<Ticket> order;
    for (const SlotId slot : slots) {
        holder->release(slot);
        holder->work();
        for (Broker* member : {a.get(), b.get()})
            for (const Ticket& ticket : granted(*member)) order.push_back(ticket);
    }
    EXPECT_EQ(order, (std::vector<Ticket>{a1, b1, a2, b2, a3}));
}

TEST(RegistrationQueue, ALargeRequestIsNotStarvedBySmallOnes) {
    Place place;
    Terms limited = terms(100, "none");
    limited.bytes = 1000;
    auto holder = place.join(limited), large = place.join(limited), small = place.join(limited);
    std::vector<SlotId> slots;
    for (int i = 0; i < 10; ++i) slots.push_back(take(*holder, Class::kRdma, 100));
    queued(*large, 600);
    queued(*small, 100);
    for (int i = 0; i < 5; ++i) {
        holder->release(slots[static_cast<size_t>(i)]);
        holder->work();
        EXPECT_TRUE(granted(*small).empty()) << "it would fit, but it is not its turn";
        EXPECT_EQ(small->try_take({Class::kRdma, 1}).error(), Refusal::kTimedOut);
    }
    holder->release(slots[5]);
    holder->work();
    EXPECT_EQ(granted(*large).size(), 1u);
    EXPECT_TRUE(granted(*small).empty());
    holder->release(slots[6]);
    holder->work();
    EXPECT_EQ(granted(*small).size(), 1u);
}

TEST(RegistrationQueue, ACancelledRequestIsForgottenAndTheNextServed) {
    Place place;
    Terms limited = terms(10, "none");
    limited.bytes = 1000;
    auto holder = place.join(limited), large = place.join(limited), small = place.join(limited);
    take(*holder, Class::kRdma, 500);
    const Ticket first = queued(*large, 600);
    queued(*small, 100);
    holder->work();
    EXPECT_TRUE(granted(*small).empty());
    EXPECT_TRUE(large->cancel(first));
    EXPECT_FALSE(large->cancel(first));
    holder->work();
    EXPECT_EQ(granted(*small).size(), 1u);
    EXPECT_TRUE(all(*large).empty());
    EXPECT_EQ(holder->status().waiting, 0u);
}

TEST(RegistrationQueue, ARequestThatWasGrantedCannotBeCancelled) {
    Place place;
    auto holder = place.join(terms(1, "none")), waiter = place.join(terms(1, "none"));
    const SlotId slot = take(*holder);
    const Ticket ticket = queued(*waiter);
    holder->release(slot);
    holder->work();
    EXPECT_FALSE(waiter->cancel(ticket)) << "its upcall is on the way";
    EXPECT_EQ(granted(*waiter).size(), 1u);
    EXPECT_FALSE(waiter->cancel(ticket));
}

TEST(RegistrationQueue, OneWhoWaitsForWhatIsPinnedIsToldSoAtOnce) {
    Place place;
    auto holder = place.join(terms(2, "none")), waiter = place.join(terms(2, "none"));
    take(*holder, Class::kPinned);
    take(*holder, Class::kPinned);
    EXPECT_EQ(waiter->queue({}).error(), Refusal::kImpossible);
    EXPECT_EQ(waiter->take({}, later()).error(), Refusal::kImpossible);
}

TEST(RegistrationQueue, OneWhoWaitsIsToldWhenItBecomesImpossible) {
    Place place;
    Terms limited = terms(10, "none");
    limited.bytes = 1000;
    auto holder = place.join(limited), pins = place.join(limited), large = place.join(limited),
         small = place.join(limited);
    const SlotId slot = take(*holder, Class::kRdma, 1000);
    queued(*pins, 500, Class::kPinned);
    const Ticket ticket = queued(*large, 600);
    queued(*small, 100);
    holder->work();
    EXPECT_TRUE(all(*large).empty());
    holder->release(slot);
    holder->work();
    EXPECT_EQ(granted(*pins).size(), 1u);
    const std::vector<Upcall> told = all(*large);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, Upcall::Kind::kRefused);
    EXPECT_EQ(told[0].ticket, ticket);
    EXPECT_EQ(told[0].why, Refusal::kImpossible);
    EXPECT_EQ(granted(*small).size(), 1u);
}

TEST(RegistrationQueue, ARequestLargerThanTheTableIsImpossible) {
    Place place;
    Terms limited = terms(10);
    limited.bytes = 1000;
    auto broker = place.join(limited);
    EXPECT_EQ(broker->queue({Class::kRdma, 1001}).error(), Refusal::kImpossible);
    EXPECT_EQ(broker->take({Class::kRdma, ~std::uint64_t{0}}, later()).error(),
              Refusal::kImpossible);
}

TEST(RegistrationQueue, AWaitEndsAtItsDeadline) {
    Place place;
    auto holder = place.join(terms(1, "none")), waiter = place.join(terms(1, "none"));
    take(*holder);
    EXPECT_EQ(waiter->take({}, now()).error(), Refusal::kTimedOut);
    EXPECT_EQ(waiter->take({}, now() + 30 * kMillisecond).error(), Refusal::kTimedOut);
    EXPECT_EQ(waiter->status().waiting, 0u);
}

TEST(RegistrationQueue, AThreadThatWaitsGetsTheEntryWithoutAnyOtherThreadOfItsProcess) {
    Place place;
    auto holder = place.join(terms(1, "none")), waiter = place.join(terms(1, "none"));
    const SlotId slot = take(*holder);
    tl::expected<SlotId, Refusal> got = tl::unexpected(Refusal::kBroken);
    test::Thread thread([&] { got = waiter->take({}, later()); });
    EXPECT_TRUE(eventually([&] { return holder->status().waiting == 1; }));
    holder->release(slot);
    thread.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(waiter->status().entries, 1u);
}

TEST(RegistrationQueue, ACancelledThreadLeavesTheQueue) {
    Place place;
    auto holder = place.join(terms(1, "none")), waiter = place.join(terms(1, "none"));
    take(*holder);
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void* broker) -> void* {
                      (void)static_cast<Broker*>(broker)->take({}, kNever);
                      return nullptr;
                  },
                  waiter.get()),
              0);
    EXPECT_TRUE(eventually([&] { return holder->status().waiting == 1; }));
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_EQ(holder->status().waiting, 0u);
}

TEST(RegistrationQueue, NoProcessFillsItAlone) {
    Place place;
    auto greedy = place.join(terms(1, "none")), other = place.join(terms(1, "none"));
    take(*greedy);
    auto ticket = greedy->queue({});
    for (int i = 0; i < 100000 && ticket; ++i) ticket = greedy->queue({});
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error(), Refusal::kNoSlots);
    EXPECT_TRUE(other->queue({}));
}

TEST(RegistrationQueue, ThreadsOfManyMembersShareFewEntriesWithoutLosingOne) {
    Place place;
    constexpr int kMembers = 4, kRounds = 200;
    const Terms few = terms(2, "none");
    std::vector<std::unique_ptr<Broker>> members;
    for (int i = 0; i < kMembers; ++i) members.push_back(place.join(few));
    std::atomic<int> held{0}, most{0}, served{0};
    std::vector<test::Thread> threads;
    for (auto& member : members)
        threads.emplace_back([&] {
            for (int i = 0; i < kRounds; ++i) {
                const auto slot = member->take({}, later());
                if (!slot) return;
                const int together = ++held;
                for (int seen = most;
                     seen < together && !most.compare_exchange_weak(seen, together);) {
                }
                --held;
                ++served;
                member->release(*slot);
            }
        });
    for (test::Thread& thread : threads) thread.join();
    EXPECT_EQ(served, kMembers * kRounds);
    EXPECT_LE(most, 2);
    EXPECT_EQ(members[0]->status().entries, 0u);
}

TEST(RegistrationQueue, SleepEndsWhenThereIsSomethingToDo) {
    Place place;
    auto holder = place.join(terms(1, "none")), waiter = place.join(terms(1, "none"));
    const SlotId slot = take(*holder);
    queued(*waiter);
    std::atomic<bool> stop{false};
    std::vector<Ticket> tickets;
    test::Thread agent([&] {
        while (!stop && tickets.empty()) {
            for (const Ticket& ticket : granted(*waiter)) tickets.push_back(ticket);
            // With its ticket it has nothing more to wait for, and would sleep without end.
            if (tickets.empty()) waiter->sleep(waiter->work());
        }
    });
    holder->release(slot);
    agent.join();
    EXPECT_EQ(tickets.size(), 1u);
    test::Thread sleeper([&] {
        while (!stop) waiter->sleep(kNever);
    });
    stop = true;
    waiter->wake();
    sleeper.join();
}

}  // namespace
}  // namespace registration
