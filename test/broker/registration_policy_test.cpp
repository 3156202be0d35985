// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What each policy chooses, and policies that are loaded from shared objects.
#include <algorithm>
#include <functional>
#include <set>

#include "broker/table/policy.hpp"
#include "test/broker/registration_fixture.hpp"

namespace registration {
namespace {

using Slots = std::vector<DAT_REG_POLICY_SLOT>;
using Processes = std::vector<DAT_REG_POLICY_PROCESS>;

DAT_REG_POLICY_SLOT slot(std::uint32_t number, std::uint64_t last_use, std::uint64_t use_count = 1,
                         std::uint32_t process = 0, std::uint32_t busy = 0) {
    return {number, process, 100, last_use, use_count, busy, use_count != 0, 0};
}

/// @return the numbers of the slots that a policy takes back, in its order.
std::vector<std::uint32_t> chosen(const Policy& policy, Slots& slots, std::uint64_t entries,
                                  const Processes& processes = {}, std::uint32_t beneficiary = ~0u,
                                  std::uint64_t bytes = 0, std::uint64_t now = 1000) {
    const DAT_REG_POLICY_TABLE table{now, 100, 0, slots.size(), 0, processes.size(), 10};
    std::vector<std::uint32_t> victims(slots.size());
    victims.resize(policy.functions().choose(policy.state(), &table, beneficiary, processes.data(),
                                             static_cast<std::uint32_t>(processes.size()),
                                             slots.data(), static_cast<std::uint32_t>(slots.size()),
                                             entries, bytes, victims.data()));
    for (std::uint32_t& victim : victims) victim = slots.at(victim).slot;
    return victims;
}
std::vector<std::uint32_t> chosen(const char* policy, Slots slots, std::uint64_t entries,
                                  const Processes& processes = {}, std::uint32_t beneficiary = ~0u,
                                  std::uint64_t bytes = 0) {
    return chosen(*Policy::load(policy), slots, entries, processes, beneficiary, bytes);
}

using Numbers = std::vector<std::uint32_t>;

TEST(RegistrationPolicy, NoneTakesNothingBackAndAdmitsEverybody) {
    const auto policy = Policy::load("none");
    EXPECT_EQ(policy->functions().choose, nullptr);
    EXPECT_EQ(policy->functions().admit, nullptr);
}

TEST(RegistrationPolicy, LruTakesWhatWasUsedLongestAgo) {
    EXPECT_EQ(chosen("lru", {slot(1, 30), slot(2, 10), slot(3, 20)}, 2), (Numbers{2, 3}));
}

TEST(RegistrationPolicy, LruTakesWhatIsBusyLast) {
    EXPECT_EQ(chosen("lru", {slot(1, 30), slot(2, 10, 1, 0, 1), slot(3, 20)}, 3),
              (Numbers{3, 1, 2}));
}

TEST(RegistrationPolicy, LfuTakesWhatWasUsedLeastOften) {
    EXPECT_EQ(chosen("lfu", {slot(1, 1, 9), slot(2, 2, 5), slot(3, 3, 7)}, 2), (Numbers{2, 3}));
}

TEST(RegistrationPolicy, ClockPassesOnceWhatWasUsedSinceItsLastRound) {
    const auto policy = Policy::load("clock");
    Slots slots{slot(1, 10), slot(2, 10), slot(3, 10)};
    EXPECT_EQ(chosen(*policy, slots, 1), Numbers{1}) << "all are new: one round, then the first";
    Slots left{slots[1], slots[2], slot(4, 20)};
    left[0].use_count = 2;
    EXPECT_EQ(chosen(*policy, left, 1), Numbers{3}) << "2 was used since, 4 is new";
}

TEST(RegistrationPolicy, ClockTakesWhatIsBusyWhenNothingElseIsLeft) {
    EXPECT_EQ(chosen("clock", {slot(1, 10, 1, 0, 1), slot(2, 10)}, 2), (Numbers{2, 1}));
}

TEST(RegistrationPolicy, RandomTakesAnything) {
    const auto policy = Policy::load("random");
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 1000; ++i) {
        Slots slots{slot(1, 1), slot(2, 2), slot(3, 3)};
        seen.insert(chosen(*policy, slots, 1).at(0));
    }
    EXPECT_EQ(seen.size(), 3u);
}

TEST(RegistrationPolicy, WithoutStatisticsEachChoosesAtRandom) {
    for (const char* name : {"lru", "lfu", "clock", "weighted-fair-lru"}) {
        const auto policy = Policy::load(name);
        std::set<std::uint32_t> seen;
        for (int i = 0; i < 1000; ++i) {
            Slots slots{slot(1, 10, 0), slot(2, 10, 0), slot(3, 10, 0)};
            seen.insert(chosen(*policy, slots, 1, {{0, 1, 3, 300, 0, 0}}).at(0));
        }
        EXPECT_EQ(seen.size(), 3u) << name;
    }
}

TEST(RegistrationPolicy, EachTakesAsManyBytesAsAreNeeded) {
    for (const char* name : {"lru", "lfu", "clock", "random", "weighted-fair-lru"})
        EXPECT_EQ(chosen(name, {slot(1, 1), slot(2, 2), slot(3, 3), slot(4, 4)}, 1,
                         {{0, 1, 4, 400, 0, 0}}, ~0u, 250)
                      .size(),
                  3u)
            << name << ": of 100 bytes each";
}

TEST(RegistrationPolicy, EachTakesAllWhenThatIsNotEnoughAndNoneTwice) {
    for (const char* name : {"lru", "lfu", "clock", "random", "weighted-fair-lru"}) {
        const Numbers all = chosen(name, {slot(1, 1), slot(2, 2, 0), slot(3, 3, 1, 0, 1)}, 9,
                                   {{0, 1, 3, 300, 0, 0}});
        EXPECT_EQ(std::set<std::uint32_t>(all.begin(), all.end()).size(), 3u) << name;
        EXPECT_EQ(all.size(), 3u) << name;
    }
}

TEST(RegistrationPolicy, WeightedFairTakesFromWhoIsFurthestAboveItsShare) {
    // Process 0 has three entries with share 3, 1 has two with share 1, and 2 waits.
    const Processes processes{{0, 3, 3, 0, 0, 0}, {1, 1, 2, 0, 0, 0}, {2, 1, 0, 0, 1, 0}};
    const Slots slots{slot(1, 1, 1, 0), slot(2, 2, 1, 0), slot(3, 3, 1, 0), slot(4, 9, 1, 1),
                      slot(5, 8, 1, 1)};
    EXPECT_EQ(chosen("weighted-fair-lru", slots, 1, processes, 2), Numbers{5});
    EXPECT_EQ(chosen("weighted-fair-lru", slots, 1, processes), Numbers{5}) << "ahead, for nobody";
}

TEST(RegistrationPolicy, WeightedFairStopsWhereAllHaveTheirShare) {
    // Process 0 holds all six; 1 gets three of them, and from then on gives up its own.
    const Processes processes{{0, 1, 6, 0, 0, 0}, {1, 1, 0, 0, 6, 0}};
    Slots slots;
    for (std::uint32_t i = 0; i < 6; ++i) slots.push_back(slot(i, i + 1, 1, 0));
    EXPECT_EQ(chosen("weighted-fair-lru", slots, 3, processes, 1), (Numbers{0, 1, 2}));
    const Processes fair{{0, 1, 3, 0, 0, 0}, {1, 1, 3, 0, 1, 0}};
    const Slots half{slot(3, 4, 1, 0), slot(4, 5, 1, 0), slot(5, 6, 1, 0),
                     slot(6, 7, 1, 1), slot(7, 8, 1, 1), slot(8, 9, 1, 1)};
    EXPECT_EQ(chosen("weighted-fair-lru", half, 1, fair, 1), Numbers{6}) << "its own";
}

TEST(RegistrationPolicy, WeightedFairLendsOutWhatNobodyUses) {
    // Process 0 has its share and has not used two of its three for long; 1 wants more than its
    // own.
    constexpr std::uint64_t kNow = kSecond;
    const Processes processes{{0, 1, 3, 0, 0, 0}, {1, 1, 3, 0, 9, 0}};
    Slots slots{slot(1, 200, 1, 0), slot(2, 100, 1, 0), slot(3, kNow - 1000, 1, 0),
                slot(4, 50, 1, 1),  slot(5, 60, 1, 1),  slot(6, 70, 1, 1)};
    const auto policy = Policy::load("weighted-fair-lru");
    const auto victims = [&](std::uint64_t entries, std::uint32_t beneficiary) {
        return chosen(*policy, slots, entries, processes, beneficiary, 0, kNow);
    };
    EXPECT_EQ(victims(2, 1), (Numbers{2, 1})) << "the one idle for longest first";
    EXPECT_EQ(victims(3, 1), (Numbers{2, 1, 4})) << "then its own, since the other works with its";
    slots[0].busy = 1;
    EXPECT_EQ(victims(2, 1), (Numbers{2, 4})) << "what is busy is not idle";
    // The borrower gives back what it was lent, since it is furthest above its share then.
    const Processes after{{0, 1, 1, 0, 2, 0}, {1, 1, 5, 0, 0, 0}};
    const Slots lent{slot(3, kNow - 1000, 1, 0), slot(4, kNow - 1, 1, 1), slot(5, kNow - 2, 1, 1),
                     slot(6, kNow - 3, 1, 1),    slot(1, kNow - 4, 1, 1), slot(2, kNow - 5, 1, 1)};
    EXPECT_EQ(chosen("weighted-fair-lru", lent, 2, after, 0), (Numbers{2, 1}));
}

TEST(RegistrationPolicy, WeightedFairServesOneWhoHasNothingToGive) {
    const Processes processes{{0, 1, 1, 0, 0, 0}, {1, 1, 0, 0, 1, 0}};
    EXPECT_EQ(chosen("weighted-fair-lru", {slot(1, 1, 1, 0)}, 1, processes, 1), Numbers{1});
}

TEST(RegistrationPolicy, StaticQuotaLimitsEachProcessWhateverIsFree) {
    Place place;
    auto one = place.join(terms(8, "static-quota")), two = place.join(terms(8, "static-quota"), 2);
    for (int i = 0; i < 2; ++i) take(*one);
    EXPECT_EQ(one->try_take({}).error(), Refusal::kQuota) << "a quarter for a share of one";
    EXPECT_EQ(one->queue({}).error(), Refusal::kQuota) << "it does not wait either";
    EXPECT_EQ(one->take({}, later()).error(), Refusal::kQuota);
    for (int i = 0; i < 4; ++i) take(*two);
    EXPECT_EQ(two->try_take({}).error(), Refusal::kQuota);
    EXPECT_EQ(one->status().entries, 6u);
}

TEST(RegistrationPolicy, StaticQuotaIsAskedAgainWhenAWaitersTurnComes) {
    Place place;
    const Terms quota = terms(4, "static-quota");
    auto holder = place.join(quota, 4), waiter = place.join(quota);
    std::vector<SlotId> slots;
    for (int i = 0; i < 3; ++i) slots.push_back(take(*holder));
    auto pinned = place.join(quota);
    take(*pinned);
    ASSERT_TRUE(waiter->queue({}));
    ASSERT_TRUE(waiter->queue({}));
    holder->release(slots[0]);
    holder->work();
    const std::vector<Upcall> upcalls = all(*waiter);
    ASSERT_EQ(upcalls.size(), 2u);
    EXPECT_EQ(upcalls[0].kind, Upcall::Kind::kGranted);
    EXPECT_EQ(upcalls[1].kind, Upcall::Kind::kRefused);
    EXPECT_EQ(upcalls[1].why, Refusal::kQuota);
}

TEST(RegistrationPolicy, WeightedFairConvergesToTheShares) {
    Place place;
    const Terms fair = terms(12, "weighted-fair-lru");
    auto greedy = place.join(fair), newcomer = place.join(fair, 2);
    for (int i = 0; i < 12; ++i) take(*greedy);
    std::uint64_t got = 0;
    for (int i = 0; i < 30; ++i) {
        ASSERT_TRUE(newcomer->queue({}));
        // As agents do: gives up the requested entries and keeps the granted ones.
        const bool served = eventually([&] {
            newcomer->work();
            bool mine = false;
            for (Broker* member : {greedy.get(), newcomer.get()})
                for (const Upcall& upcall : all(*member)) {
                    if (upcall.kind == Upcall::Kind::kGranted) mine = true;
                    if (upcall.kind == Upcall::Kind::kRevoke) member->release(upcall.slot);
                    if (upcall.kind == Upcall::Kind::kAnnounced && member->accept(upcall.slot))
                        member->release(upcall.slot);
                }
            return mine;
        });
        ASSERT_TRUE(served);
        got = std::max(got, newcomer->status().processes[1].entries);
    }
    EXPECT_EQ(newcomer->status().processes[0].entries, 4u);
    EXPECT_EQ(newcomer->status().processes[1].entries, 8u);
    EXPECT_EQ(got, 8u);
}

std::string object(const std::string& name) {
    const char* build = getenv("TOP_BUILDDIR");
    return std::string(build ? build : ".") + "/test/broker/.libs/" + name + ".so";
}

/// Makes entries that their owner keeps: pins, refuses to give back, or has posted.
using Keep = std::function<void(Broker& owner, std::vector<SlotId>& slots)>;

void expect_share_of_newcomer(const std::string& policy, Class kind, const Keep& keep) {
    constexpr int kEntries = 64, kWanted = 16;
    Place place;
    const Terms shared = terms(kEntries, policy, kMillisecond);
    auto owner = place.join(shared), newcomer = place.join(shared);
    std::vector<SlotId> slots;
    for (int i = 0; i < kEntries; ++i) slots.push_back(take(*owner, kind));
    for (int i = 0; i < kWanted; ++i) ASSERT_TRUE(newcomer->queue({})) << policy;
    int granted = 0;
    const auto take_upcalls = [&] {
        for (const Upcall& upcall : all(*newcomer)) {
            if (upcall.kind == Upcall::Kind::kRevoke) newcomer->release(upcall.slot);
            if (upcall.kind != Upcall::Kind::kGranted) continue;
            ++granted;
            newcomer->use(upcall.slot).use_count = 1000;
            newcomer->use(upcall.slot).last_use = now();
        }
    };
    EXPECT_TRUE(eventually([&] {
        newcomer->work();
        keep(*owner, slots);
        take_upcalls();
        return granted == kWanted;
    })) << policy
        << ": " << granted;
    EXPECT_GE(owner->status().processes[0].entries, std::uint64_t{kEntries / 2}) << policy;
}

/// Deregisters what is revoked, and refuses everything else.
void refuse_all(Broker& owner, std::vector<SlotId>&) {
    for (const Upcall& upcall : all(owner))
        if (upcall.kind == Upcall::Kind::kRevoke)
            owner.release(upcall.slot);
        else if (upcall.kind == Upcall::Kind::kAnnounced)
            owner.refuse(upcall.slot, kNever);
}

TEST(RegistrationPolicy, NoneThatTakesBackLetsAnybodyKeepMoreThanItsShare) {
    for (const char* policy : {"lru", "lfu", "clock", "random", "weighted-fair-lru"}) {
        expect_share_of_newcomer(policy, Class::kPinned, refuse_all);
        expect_share_of_newcomer(policy, Class::kRdma, refuse_all);
        expect_share_of_newcomer(policy, Class::kMessaging,
                                 [](Broker& owner, std::vector<SlotId>& slots) {
                                     for (const SlotId slot : slots) owner.use(slot).busy = 1;
                                     refuse_all(owner, slots);
                                 });
    }
}

TEST(RegistrationPolicy, ASharedObjectAddsOne) {
    Place place;
    const Terms largest = terms(4, object("registration_policy_example"));
    auto owner = place.join(largest), waiter = place.join(largest);
    take(*owner, Class::kRdma, 10);
    const SlotId large = take(*owner, Class::kRdma, 30);
    EXPECT_EQ(owner->try_take({}).error(), Refusal::kQuota) << "half of the entries";
    auto other = place.join(largest);
    take(*other, Class::kRdma, 20);
    take(*other, Class::kRdma, 20);
    ASSERT_TRUE(waiter->queue({}));
    EXPECT_TRUE(eventually([&] {
        waiter->work();
        return owner->use(large).state != SlotState::kActive;
    }));
}

void expect_refused(const std::string& policy, const std::string& why) {
    std::unique_ptr<Policy> loaded;
    const std::string told = test::captured_stderr([&] { loaded = Policy::load(policy); });
    EXPECT_FALSE(loaded);
    EXPECT_NE(told.find("DAT113"), std::string::npos) << told;
    EXPECT_NE(told.find(why), std::string::npos) << told;
}

TEST(RegistrationPolicy, OneThatCannotBeHadIsToldWithItsReason) {
    expect_refused("lruu", "there is no policy of that name");
    expect_refused("lruu", "none, static-quota, random, lru, lfu, clock, weighted-fair-lru");
    expect_refused("/nonexistent/policy.so", "cannot open shared object file");
    expect_refused(object("registration_policy_old"), "its version is 99, not 1");
    expect_refused(object("registration_policy_empty"), "returned no policy");
    expect_refused("libc.so.6/", "");
    expect_refused(object("registration_no_policy"), "it does not export dat_reg_policy()");
}

TEST(RegistrationPolicy, ATableWhosePolicyCannotBeHadHereUsesTheDefault) {
    Place place;
    const std::string told = test::captured_stderr([&] {
        auto owner = place.join(terms(1, "/nonexistent/policy.so")),
             waiter = place.join(terms(1, "/nonexistent/policy.so"));
        owner->use(take(*owner)).use_count = 1;
        EXPECT_TRUE(waiter->queue({}));
        waiter->work();
        EXPECT_EQ(all(*owner).size(), 1u);
    });
    EXPECT_NE(told.find("DAT113"), std::string::npos) << told;
}

TEST(RegistrationPolicy, ChangesForTheWholeTable) {
    Place place;
    auto one = place.join(terms(4, "none")), two = place.join(terms(4, "none"));
    take(*one);
    take(*one);
    const std::string told =
        test::captured_stderr([&] { EXPECT_FALSE(two->set_policy("nonsense")); });
    EXPECT_NE(told.find("DAT113"), std::string::npos);
    EXPECT_EQ(one->status().policy, "none");
    EXPECT_TRUE(two->set_policy("static-quota"));
    EXPECT_EQ(one->status().policy, "static-quota");
    EXPECT_EQ(one->try_take({}).error(), Refusal::kQuota);
}

}  // namespace
}  // namespace registration
