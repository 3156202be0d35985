// SPDX-License-Identifier: BSD-2-Clause
// A program whose malloc() and free() free an LMR while the broker's client takes that LMR away, or
// renews it: a registration cache that returns memory to the system does so.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <functional>
#include <thread>
#include <utility>

#include "test/api/registration_side.hpp"
#include "test/support/registration_cache.hpp"

#if defined(HAS_REGISTRATION_CACHE)
#include "test/support/malloc_hooks.hpp"

namespace {

using namespace test;

/// The thread's next malloc() or free() calls this first.
[[gnu::tls_model("initial-exec")]] thread_local const std::function<void()>* next_time = nullptr;

void come_in() {
    if (const auto* what = std::exchange(next_time, nullptr)) (*what)();
}

}  // namespace

namespace test::hooks {
void before_allocation() {
    come_in();
}
void before_free() {
    come_in();
}
void before_end() {}
}  // namespace test::hooks

namespace {

/// @return the result of call(), in whose first allocation or release of memory `inside` is called.
template <class Call>
DAT_RETURN with(const std::function<void()>& inside, Call call) {
    next_time = &inside;
    const DAT_RETURN code = call();
    EXPECT_EQ(std::exchange(next_time, nullptr), nullptr) << "nothing was allocated or freed";
    return code;
}

/// @return whether the handle no longer names an LMR.
bool is_free(DAT_LMR_HANDLE lmr) {
    DAT_LMR_PARAM parameters{};
    const DAT_RETURN code = dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &parameters);
    return DAT_GET_TYPE(code) == DAT_INVALID_HANDLE;
}

TEST(RegistrationReentry, AnLmrIsFreedWhileTheSameThreadGivesItUp) {
    const RegistrationTable table(1, kNoHurry);
    RegistrationSide side;
    Region given(side), wanted(side);
    succeed(given.create(0), "the only entry");
    ask(side, wanted);
    side.upcall(DAT_REG_ANNOUNCED_EVENT);
    DAT_RETURN freed = DAT_INTERNAL_ERROR;
    const std::function<void()> free_it = [&] { freed = dat_lmr_free(given.lmr); };
    EXPECT_EQ(with(free_it, [&] { return dat_reg_lmr_accept(given.lmr); }), DAT_SUCCESS);
    EXPECT_EQ(freed, DAT_SUCCESS);
    EXPECT_TRUE(is_free(given.lmr));
    given.lmr = DAT_HANDLE_NULL;
    side.upcall(DAT_REG_REVOKED_EVENT);
    wanted.lmr = side.upcall(DAT_REG_GRANTED_EVENT).lmr_handle;
    EXPECT_EQ(statistics(side).own_entries, 1u);
}

TEST(RegistrationReentry, AnLmrIsFreedWhileTheSameThreadRenewsIt) {
    const RegistrationTable table(1, kNoHurry);
    Side side;
    Region gone(side), other(side);
    succeed(gone.create(0), "the only entry");
    succeed(other.create(kMicroseconds), "takes it");
    other.free();
    DAT_RETURN freed = DAT_INTERNAL_ERROR;
    const std::function<void()> free_it = [&] { freed = dat_lmr_free(gone.lmr); };
    EXPECT_EQ(
        with(free_it, [&] { return dat_reg_lmr_renew(gone.lmr, kMicroseconds, nullptr, nullptr); }),
        DAT_SUCCESS);
    EXPECT_EQ(freed, DAT_SUCCESS);
    EXPECT_TRUE(is_free(gone.lmr));
    gone.lmr = DAT_HANDLE_NULL;
    EXPECT_EQ(statistics(side).own_entries, 0u);
}

TEST(RegistrationReentry, TwoThreadsThatGiveLmrsUpFreeEachOthers) {
    const RegistrationTable table(2, kNoHurry);
    RegistrationSide side;
    std::array<Region, 2> given{Region(side), Region(side)}, wanted{Region(side), Region(side)};
    for (Region& region : given) succeed(region.create(0), "an entry");
    for (Region& region : wanted) ask(side, region);
    for (int i = 0; i < 2; ++i) side.upcall(DAT_REG_ANNOUNCED_EVENT);
    std::barrier both(2);
    const auto give = [&](const Region& mine, const Region& other) {
        DAT_RETURN freed = DAT_INTERNAL_ERROR;
        const std::function<void()> free_other = [&] {
            both.arrive_and_wait();
            freed = dat_lmr_free(other.lmr);
            both.arrive_and_wait();
        };
        EXPECT_EQ(with(free_other, [&] { return dat_reg_lmr_accept(mine.lmr); }), DAT_SUCCESS);
        EXPECT_EQ(freed, DAT_SUCCESS);
    };
    std::thread second([&] { give(given[1], given[0]); });
    give(given[0], given[1]);
    second.join();
    for (Region& region : given) {
        EXPECT_TRUE(is_free(region.lmr));
        region.lmr = DAT_HANDLE_NULL;
    }
    // Each is revoked before its entry is granted to another one.
    int revoked = 0, granted = 0;
    while (granted < 2) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        succeed(dat_evd_wait(side.upcalls, kMicroseconds, 1, &event, &more), "dat_evd_wait");
        const DAT_REG_EVENT_DATA& data = *dat_reg_event_data(&event);
        if (event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_REG_REVOKED_EVENT)) {
            ++revoked;
            continue;
        }
        ASSERT_EQ(event.event_number, static_cast<DAT_EVENT_NUMBER>(DAT_REG_GRANTED_EVENT));
        static_cast<Region*>(data.cookie)->lmr = data.lmr_handle;
        ++granted;
        EXPECT_GE(revoked, granted);
    }
    EXPECT_EQ(revoked, 2);
    EXPECT_EQ(statistics(side).own_entries, 2u);
}

}  // namespace
#else
TEST(RegistrationReentry, NeedsAnAllocatorOfTheProgramsOwn) {
    GTEST_SKIP() << "the sanitizer's malloc() is the program's";
}
#endif
