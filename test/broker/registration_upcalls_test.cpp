// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How entries are taken back: announcement, answers, deadline, and the reaper, which works ahead.
#include <algorithm>

#include "test/broker/registration_fixture.hpp"

namespace registration {
namespace {

/// An owner that holds all entries of a table, and a waiter.
struct Pair {
    explicit Pair(std::uint64_t entries, Time grace, Class kind = Class::kRdma)
        : owner(place.join(terms(entries, "lru", grace))),
          waiter(place.join(terms(entries, "lru", grace))) {
        for (std::uint64_t i = 0; i < entries; ++i) {
            slots.push_back(take(*owner, kind));
            // Marks it as used; the first one is the one used longest ago.
            owner->use(slots.back()).last_use = now();
            owner->use(slots.back()).use_count = 1;
        }
    }
    /// @return the only pending upcall of the owner.
    Upcall told() {
        const std::vector<Upcall> upcalls = all(*owner);
        if (upcalls.size() != 1)
            throw std::runtime_error(std::to_string(upcalls.size()) + " upcalls");
        return upcalls[0];
    }
    SlotState state(size_t i) { return owner->use(slots[i]).state; }

    Place place;
    std::unique_ptr<Broker> owner, waiter;
    std::vector<SlotId> slots;
};

constexpr Time kLong = 600 * kSecond;

TEST(RegistrationUpcalls, AnRdmaBufferIsAnnouncedWithItsDeadline) {
    Pair pair(2, kLong);
    const Time before = now();
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    const Upcall upcall = pair.told();
    EXPECT_EQ(upcall.kind, Upcall::Kind::kAnnounced);
    EXPECT_EQ(upcall.slot, pair.slots[0]) << "the one used longest ago";
    EXPECT_GE(upcall.deadline, before + kLong);
    EXPECT_LE(upcall.deadline, now() + kLong);
    EXPECT_EQ(pair.state(0), SlotState::kAnnounced);
    EXPECT_EQ(pair.state(1), SlotState::kActive);
    EXPECT_EQ(pair.owner->status().entries, 2u) << "it counts until it is released";
    pair.waiter->work();
    EXPECT_TRUE(all(*pair.owner).empty()) << "one is enough for one who waits";
}

TEST(RegistrationUpcalls, AnAcceptedOneGoesToWhoWaits) {
    Pair pair(1, kLong);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    const SlotId slot = pair.told().slot;
    EXPECT_TRUE(pair.owner->accept(slot));
    EXPECT_FALSE(pair.owner->accept(slot));
    EXPECT_EQ(pair.state(0), SlotState::kReleased);
    pair.waiter->work();
    EXPECT_TRUE(all(*pair.waiter).empty()) << "it is still registered";
    pair.owner->release(slot);
    pair.waiter->work();
    const auto upcalls = all(*pair.waiter);
    ASSERT_EQ(upcalls.size(), 1u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kGranted);
    EXPECT_EQ(pair.owner->status().processes[0].released, 1u);
}

TEST(RegistrationUpcalls, AnotherAtLeastAsLargeMayGoInItsPlace) {
    Place place;
    auto owner = place.join(terms(3, "lru", kLong)), waiter = place.join(terms(3, "lru", kLong));
    const SlotId victim = take(*owner, Class::kRdma, 1000),
                 smaller = take(*owner, Class::kRdma, 999),
                 other = take(*owner, Class::kRdma, 1000);
    for (const SlotId slot : {victim, smaller, other}) owner->use(slot).use_count = 1;
    owner->use(victim).last_use = 1;
    owner->use(smaller).last_use = owner->use(other).last_use = now();
    ASSERT_TRUE(waiter->queue({}));
    waiter->work();
    const std::vector<Upcall> first = all(*owner);
    ASSERT_EQ(first.size(), 1u);
    ASSERT_EQ(first[0].slot, victim);
    EXPECT_FALSE(owner->offer(victim, smaller));
    EXPECT_FALSE(owner->offer(victim, victim));
    EXPECT_FALSE(owner->offer(smaller, other)) << "not announced";
    EXPECT_FALSE(waiter->offer(victim, other)) << "not its own";
    EXPECT_TRUE(owner->offer(victim, other));
    EXPECT_EQ(owner->use(victim).state, SlotState::kActive);
    const std::vector<Upcall> second = all(*owner);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].kind, Upcall::Kind::kAnnounced);
    EXPECT_EQ(second[0].slot, other);
    EXPECT_EQ(second[0].deadline, first[0].deadline) << "offers win no time";
}

TEST(RegistrationUpcalls, ARefusedOneStaysAndAnotherIsAskedFor) {
    Pair pair(2, kLong);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    ASSERT_EQ(pair.told().slot, pair.slots[0]);
    EXPECT_FALSE(pair.owner->refuse(pair.slots[1], kNever)) << "not announced";
    EXPECT_TRUE(pair.owner->refuse(pair.slots[0], now() + kLong));
    EXPECT_EQ(pair.state(0), SlotState::kActive);
    pair.waiter->work();
    EXPECT_EQ(pair.told().slot, pair.slots[1]);
}

TEST(RegistrationUpcalls, OneWhoWaitsIsToldAtOnceWhenAllIsRefused) {
    Pair pair(1, kLong);
    auto ticket = pair.waiter->queue({});
    ASSERT_TRUE(ticket);
    pair.waiter->work();
    EXPECT_TRUE(pair.owner->refuse(pair.told().slot, now() + kLong));
    pair.waiter->work();
    const std::vector<Upcall> upcalls = all(*pair.waiter);
    ASSERT_EQ(upcalls.size(), 1u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kRefused);
    EXPECT_EQ(upcalls[0].why, Refusal::kImpossible);
    EXPECT_EQ(pair.waiter->queue({}).error(), Refusal::kImpossible);
}

TEST(RegistrationUpcalls, ARefusalEndsWhenItSaysSo) {
    Pair pair(1, kLong);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    EXPECT_TRUE(pair.owner->refuse(pair.told().slot, now() + 1));
    EXPECT_TRUE(eventually([&] { return pair.waiter->queue({}).has_value(); }));
    pair.waiter->work();
    EXPECT_EQ(pair.told().slot, pair.slots[0]) << "asked for again";
}

TEST(RegistrationUpcalls, OneRefusedForEverIsPinned) {
    Pair pair(4, kLong);
    ASSERT_TRUE(pair.waiter->queue({}));
    for (int i = 0; i < 2; ++i) {
        pair.waiter->work();
        EXPECT_TRUE(pair.owner->refuse(pair.told().slot, kNever)) << "within its share";
    }
    pair.waiter->work();
    EXPECT_TRUE(all(*pair.waiter).empty()) << "the others are asked for";
    EXPECT_EQ(pair.state(0), SlotState::kActive);
    EXPECT_EQ(pair.state(1), SlotState::kActive);
    EXPECT_EQ(pair.state(2), SlotState::kAnnounced);
}

TEST(RegistrationUpcalls, ARefusalBeyondTheShareDelaysOnceAndPreventsNothing) {
    constexpr Time kShort = 20 * kMillisecond;
    Pair pair(2, kShort);
    ASSERT_TRUE(pair.waiter->queue({}));
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    std::vector<Upcall> upcalls = all(*pair.owner);
    ASSERT_EQ(upcalls.size(), 2u);
    EXPECT_TRUE(pair.owner->refuse(upcalls[0].slot, kNever)) << "its share";
    EXPECT_TRUE(pair.owner->refuse(upcalls[1].slot, kNever)) << "for one grace period";
    const auto asked_again = [&] {
        pair.waiter->work();
        upcalls = all(*pair.owner);
        return !upcalls.empty();
    };
    ASSERT_TRUE(eventually(asked_again));
    ASSERT_EQ(upcalls.size(), 1u) << "the share is not asked for";
    if (upcalls[0].kind == Upcall::Kind::kAnnounced) {
        EXPECT_FALSE(pair.owner->refuse(upcalls[0].slot, now() + kLong));
        EXPECT_FALSE(pair.owner->refuse(upcalls[0].slot, kNever));
    }
    EXPECT_TRUE(eventually([&] {
        pair.waiter->work();
        return pair.owner->use(upcalls[0].slot).state == SlotState::kRevoked;
    }));
}

TEST(RegistrationUpcalls, AtTheDeadlineItIsRevokedWhateverItsOwnerWouldLike) {
    Pair pair(1, kMillisecond);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    ASSERT_EQ(pair.told().kind, Upcall::Kind::kAnnounced);
    EXPECT_TRUE(eventually([&] {
        pair.waiter->work();
        return pair.state(0) == SlotState::kRevoked;
    }));
    const Upcall upcall = pair.told();
    EXPECT_EQ(upcall.kind, Upcall::Kind::kRevoke);
    EXPECT_FALSE(pair.owner->accept(upcall.slot));
    EXPECT_FALSE(pair.owner->refuse(upcall.slot, kNever));
    EXPECT_EQ(pair.owner->status().entries, 1u) << "it counts until it is deregistered";
    EXPECT_TRUE(all(*pair.waiter).empty());
    pair.owner->release(upcall.slot);
    pair.waiter->work();
    EXPECT_EQ(all(*pair.waiter).at(0).kind, Upcall::Kind::kGranted);
    EXPECT_EQ(pair.owner->status().revoked, 1u);
}

TEST(RegistrationUpcalls, AnAnnouncementThatWasNotFetchedBecomesTheRevocation) {
    Pair pair(1, 0);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    pair.waiter->work();
    EXPECT_EQ(pair.told().kind, Upcall::Kind::kRevoke);
}

/// @return how many slots of a pair are in this state.
std::size_t count(Pair& pair, SlotState state) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < pair.slots.size(); ++i) found += pair.state(i) == state;
    return found;
}

TEST(RegistrationUpcalls, PinnedOnesWithinTheShareAreNeverAskedFor) {
    Place place;
    auto owner = place.join(terms(2)), waiter = place.join(terms(2));
    const SlotId pinned = take(*owner, Class::kPinned), other = take(*owner);
    ASSERT_TRUE(waiter->queue({}));
    ASSERT_TRUE(waiter->queue({}));
    for (int i = 0; i < 5; ++i) waiter->work();
    EXPECT_EQ(owner->use(pinned).state, SlotState::kActive);
    EXPECT_EQ(owner->use(other).state, SlotState::kRevoked);
}

TEST(RegistrationUpcalls, PinnedOnesBeyondTheShareAreAskedForWithNotice) {
    Pair pair(8, kMillisecond, Class::kPinned);
    std::vector<Ticket> tickets;
    for (int i = 0; i < 6; ++i) {
        const auto ticket = pair.waiter->queue({});
        ASSERT_TRUE(ticket);
        tickets.push_back(*ticket);
    }
    EXPECT_TRUE(eventually([&] {
        pair.waiter->work();
        return count(pair, SlotState::kActive) < 8;
    }));
    EXPECT_EQ(count(pair, SlotState::kActive), 4u) << "the owner keeps its half";
    EXPECT_EQ(pair.state(0), SlotState::kAnnounced) << "used longest ago";
    EXPECT_EQ(pair.state(7), SlotState::kActive) << "used last";
    for (const Upcall& upcall : all(*pair.owner)) {
        EXPECT_EQ(upcall.kind, Upcall::Kind::kAnnounced);
        ASSERT_TRUE(pair.owner->accept(upcall.slot));
        pair.owner->release(upcall.slot);
    }
    for (int i = 0; i < 5; ++i) pair.waiter->work();
    EXPECT_EQ(all(*pair.waiter).size(), 4u);
    EXPECT_EQ(pair.owner->status().processes[0].entries, 4u);
    EXPECT_TRUE(pair.waiter->cancel(tickets.back())) << "it waits, for what may yet be released";
}

TEST(RegistrationUpcalls, TheShareThatIsKeptIsOfBytesToo) {
    Place place;
    Terms limited = terms(100);
    limited.bytes = 8000;
    auto owner = place.join(limited), waiter = place.join(limited);
    std::vector<SlotId> slots;
    for (int i = 0; i < 8; ++i) slots.push_back(take(*owner, Class::kPinned, 1000));
    ASSERT_TRUE(waiter->queue({Class::kRdma, 4000}));
    EXPECT_EQ(waiter->queue({Class::kRdma, 4001}).error(), Refusal::kImpossible);
    waiter->work();
    const auto leaves = [&](SlotId slot) { return owner->use(slot).state != SlotState::kActive; };
    EXPECT_EQ(std::count_if(slots.begin(), slots.end(), leaves), 4);
}

TEST(RegistrationUpcalls, WhatPeersKnowIsKeptWithinTheShareAndElseTheLastChoice) {
    Pair pair(4, kLong, Class::kPeers);
    pair.owner->release(pair.slots[0]);
    const SlotId other = take(*pair.owner, Class::kRdma);
    pair.owner->use(other).last_use = now();  // later than all the others
    pair.owner->use(other).use_count = 1;
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    EXPECT_EQ(pair.owner->use(other).state, SlotState::kAnnounced);
    EXPECT_EQ(count(pair, SlotState::kActive), 3u) << "those that peers know";
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.waiter->queue({}));
    for (int i = 0; i < 5; ++i) pair.waiter->work();
    EXPECT_EQ(count(pair, SlotState::kActive), 2u) << "the share of the owner";
}

/// What the owner's device counts is entered before a victim is chosen.
struct Counting {
    explicit Counting(Pair& counted) : pair(counted) {
        for (const SlotId slot : pair.slots)
            pair.owner->describe(slot, {.key = {}, .counted = true});
        pair.owner->set_collection([](void* self) { static_cast<Counting*>(self)->enter(); }, this);
    }
    void enter() {
        ++calls;
        pair.owner->use(pair.slots[0]).last_use = now();
    }
    Pair& pair;
    int calls = 0;
};

TEST(RegistrationUpcalls, WhatTheDeviceHasCountedIsAwaitedBeforeAVictimIsChosen) {
    Pair pair(2, kLong);
    Counting counting(pair);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->lead();
    pair.waiter->work();
    EXPECT_EQ(count(pair, SlotState::kActive), 2u) << "nothing is decided yet";
    EXPECT_EQ(counting.calls, 0);
    pair.owner->work();
    EXPECT_EQ(counting.calls, 1);
    pair.waiter->work();
    EXPECT_EQ(pair.state(0), SlotState::kActive) << "it was used while nobody saw it";
    EXPECT_EQ(pair.state(1), SlotState::kAnnounced);
}

TEST(RegistrationUpcalls, AProcessThatDoesNotAnswerIsNotAwaitedForLong) {
    Pair pair(2, kLong);
    const Counting counting(pair);
    pair.waiter->lead();
    for (std::size_t taken = 1; taken <= 2; ++taken) {
        ASSERT_TRUE(pair.waiter->queue({}));
        const auto leaves = [&] {
            pair.waiter->work();
            return count(pair, SlotState::kAnnounced) == taken;
        };
        EXPECT_TRUE(eventually(leaves));
    }
    EXPECT_EQ(counting.calls, 0);
}

TEST(RegistrationUpcalls, ALeaderCountsItsOwnAtOnce) {
    Pair pair(2, kLong);
    const Counting counting(pair);
    pair.owner->lead();
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.owner->work();
    EXPECT_EQ(counting.calls, 1);
    EXPECT_EQ(pair.state(1), SlotState::kAnnounced);
}

TEST(RegistrationUpcalls, AMessagingBufferGoesAtOnceAndFlowControlIsTold) {
    Pair pair(3, kLong, Class::kMessaging);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    EXPECT_EQ(pair.state(0), SlotState::kRevoked) << "no notice";
    const std::vector<Upcall> upcalls = all(*pair.owner);
    ASSERT_EQ(upcalls.size(), 2u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kPressure);
    EXPECT_EQ(upcalls[0].window, 2u) << "of three";
    EXPECT_EQ(upcalls[1].kind, Upcall::Kind::kRevoke);
    EXPECT_EQ(upcalls[1].slot, pair.slots[0]);
}

TEST(RegistrationUpcalls, APostedMessagingBufferStaysWithinTheShare) {
    Pair pair(2, kLong, Class::kMessaging);
    pair.owner->use(pair.slots[0]).busy = 1;
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    EXPECT_EQ(pair.state(0), SlotState::kActive);
    EXPECT_EQ(pair.state(1), SlotState::kRevoked);
}

TEST(RegistrationUpcalls, PostedMessagingBuffersBeyondTheShareGoAtTheDeadline) {
    Pair pair(8, kMillisecond, Class::kMessaging);
    for (const SlotId slot : pair.slots) pair.owner->use(slot).busy = 1;
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(pair.waiter->queue({}));
    EXPECT_TRUE(eventually([&] {
        pair.waiter->work();
        return count(pair, SlotState::kActive) < 8;
    }));
    EXPECT_EQ(count(pair, SlotState::kActive), 4u);
    EXPECT_EQ(count(pair, SlotState::kRevoked), 4u);
    const std::vector<Upcall> upcalls = all(*pair.owner);
    ASSERT_EQ(upcalls.size(), 5u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kPressure) << "first of all";
    EXPECT_EQ(upcalls[0].window, 4u);
    for (std::size_t i = 1; i < upcalls.size(); ++i) EXPECT_NE(upcalls[i].deadline, kNever);
}

TEST(RegistrationUpcalls, WhatIsRegisteredHasAGracePeriodForItsFirstUse) {
    Place place;
    auto owner = place.join(terms(1, "lru", kLong)), waiter = place.join(terms(1, "lru", kLong));
    const SlotId slot = take(*owner);
    ASSERT_TRUE(waiter->queue({}));
    waiter->work();
    EXPECT_EQ(owner->use(slot).state, SlotState::kActive);
    owner->use(slot).use_count = 1;
    waiter->work();
    EXPECT_EQ(owner->use(slot).state, SlotState::kAnnounced);
}

TEST(RegistrationUpcalls, TheReaperWorksAheadBetweenTheWatermarks) {
    Place place;
    Terms watched = terms(10, "lru", kLong);
    watched.low = 2;
    watched.high = 4;
    auto owner = place.join(watched);
    std::vector<SlotId> slots;
    const auto take_one = [&] {
        slots.push_back(take(*owner));
        owner->use(slots.back()).last_use = now();
        owner->use(slots.back()).use_count = 1;
        owner->work();
    };
    for (int i = 0; i < 8; ++i) take_one();
    EXPECT_TRUE(all(*owner).empty()) << "two are free";
    take_one();
    const std::vector<Upcall> upcalls = all(*owner);
    ASSERT_EQ(upcalls.size(), 3u) << "up to four, of which one is free";
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(upcalls[i].slot, slots[i]);
        owner->accept(slots[i]);
        owner->release(slots[i]);
    }
    owner->work();
    EXPECT_TRUE(all(*owner).empty());
    EXPECT_EQ(owner->status().entries, 6u);
}

TEST(RegistrationUpcalls, TheReaperIsCalledWhenTheLastEntryAboveTheLowWatermarkGoes) {
    Place place;
    Terms watched = terms(4, "lru", kLong);
    watched.low = watched.high = 2;
    auto leader = place.join(watched), other = place.join(watched);
    leader->work();
    leader->next();  // from here on it hears the doorbell
    for (int i = 0; i < 3; ++i) {
        const SlotId slot = take(*other);
        other->use(slot).use_count = 1;
    }
    leader->sleep(kNever);
    leader->work();
    EXPECT_EQ(all(*other).size(), 1u);
}

TEST(RegistrationUpcalls, WhatTheDeviceHasEndedIsNoEntryAnyMore) {
    Pair pair(1, 0);
    pair.owner->describe(pair.slots[0], {.key = 4711});
    struct Ended {
        std::int32_t pid = 0;
        std::uint32_t key = 0;
        bool really = false;
    } ended;
    pair.waiter->set_enforcement(
        [](void* context, std::int32_t pid, std::uint32_t key) {
            auto& it = *static_cast<Ended*>(context);
            it.pid = pid;
            it.key = key;
            return it.really;
        },
        &ended);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    pair.waiter->work();
    EXPECT_EQ(ended.pid, getpid());
    EXPECT_EQ(ended.key, 4711u);
    EXPECT_TRUE(all(*pair.waiter).empty()) << "the device could not end it: it counts";
    ended.really = true;
    pair.waiter->work();
    const std::vector<Upcall> upcalls = all(*pair.waiter);
    ASSERT_EQ(upcalls.size(), 1u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kGranted);
    EXPECT_NE(upcalls[0].slot.index, pair.slots[0].index) << "its owner does not know yet";
    EXPECT_EQ(pair.owner->status().entries, 1u);
    pair.owner->release(pair.slots[0]);
    EXPECT_EQ(pair.owner->status().entries, 1u);
    EXPECT_EQ(pair.owner->status().slots.size(), 1u);
}

TEST(RegistrationUpcalls, ASlotThatWasReleasedHasNothingMoreToTell) {
    Pair pair(1, kLong);
    ASSERT_TRUE(pair.waiter->queue({}));
    pair.waiter->work();
    pair.owner->release(pair.slots[0]);
    EXPECT_TRUE(all(*pair.owner).empty());
}

TEST(RegistrationUpcalls, WhoOnlyLeadsTakesTheLeaseFromWhoeverHasIt) {
    Place place;
    auto member = place.join(terms(2));
    member->work();
    auto leader = place.join(terms(2), 0);
    leader->lead();
    member->work();
    const TableStatus status = member->status();
    ASSERT_EQ(status.processes.size(), 2u);
    EXPECT_FALSE(status.processes[0].holds_lease);
    EXPECT_TRUE(status.processes[1].holds_lease);
}

TEST(RegistrationUpcalls, ALeaseWhoseHolderDoesNothingPassesOn) {
    Pair pair(1, kLong);
    pair.owner->work();  // and never again
    ASSERT_TRUE(pair.waiter->queue({}));
    EXPECT_TRUE(eventually([&] {
        pair.waiter->work();
        return pair.waiter->status().processes[1].holds_lease;
    }));
    EXPECT_EQ(pair.told().kind, Upcall::Kind::kAnnounced);
}

}  // namespace
}  // namespace registration
