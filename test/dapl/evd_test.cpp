// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event dispatchers and notification objects: codes, thresholds, wake-ups, cancellation.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "test/dapl/core_fixture.hpp"
#include "test/support/process.hpp"
#include "test/support/sanitizer.hpp"

namespace test {
namespace {

constexpr DAT_TIMEOUT kForever = DAT_TIMEOUT_INFINITE;

class EvdTest : public CoreTest {
  protected:
    DAT_RETURN wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold = 1) {
        return entry::evd_wait(evd, timeout, threshold, &event, &more);
    }
    std::uintptr_t value() {
        return reinterpret_cast<std::uintptr_t>(event.event_data.software_event_data.pointer);
    }
    /// @return whether a thread waits on this EVD, so that no other may consume an event.
    bool has_waiter(DAT_EVD_HANDLE evd) {
        DAT_EVENT unused;
        return entry::evd_dequeue(evd, &unused) == 0x80070000u;
    }
    /// Starts a thread that waits; returns once it is in the wait.
    Thread waiter(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold = 1) {
        Thread thread([=, this] { result = wait(evd, timeout, threshold); });
        EXPECT_TRUE(eventually([&] { return has_waiter(evd); }));
        return thread;
    }

    DAT_EVENT event{};
    DAT_COUNT more = -1;
    std::atomic<DAT_RETURN> result{1};
};

TEST_F(EvdTest, ArgumentsAreCheckedInTheReferencesOrder) {
    DAT_EVD_HANDLE made;
    const auto create = [&](DAT_COUNT length, DAT_HANDLE cno, unsigned flags) {
        return entry::evd_create(open.ia, length, cno, static_cast<DAT_EVD_FLAGS>(flags), &made);
    };
    EXPECT_EQ(entry::evd_create(pz, 8, nullptr, DAT_EVD_DTO_FLAG, &made), 0x8005000Bu);
    EXPECT_EQ(create(0, nullptr, 0x20), 0x80060026u);
    EXPECT_EQ(create(-1, nullptr, 0x1), 0x80060026u);
    EXPECT_EQ(create(70000, nullptr, 0x1), 0x80030005u);
    EXPECT_EQ(create(8, pz, 0x1), 0x80050013u);
    for (const unsigned refused : {0x60u, 0x100u, 0x101u, 0x1F0u, 0x71u, 0x300u})
        EXPECT_EQ(create(8, nullptr, refused), 0x80060028u) << std::hex << refused;
    for (const unsigned accepted : {0u, 2u, 0x400u, 0x11u, 0xB1u, 0xD1u, 0x221u}) {
        EXPECT_EQ(create(8, nullptr, accepted), DAT_SUCCESS) << std::hex << accepted;
        EXPECT_EQ(entry::evd_free(made), DAT_SUCCESS);
    }
    EXPECT_EQ(wait(pz, 0), 0x80050000u);
    EXPECT_EQ(entry::evd_resize(pz, 1), 0x8005001Bu);
    EXPECT_EQ(entry::evd_wait(connect_evd, 0, 1, nullptr, &more), 0x80060028u);
    EXPECT_EQ(entry::evd_wait(connect_evd, 0, 1, &event, nullptr), 0x80060029u);
    EXPECT_EQ(wait(connect_evd, 0, 0), 0x80060027u);
    EXPECT_EQ(wait(connect_evd, 0, 9), 0x80060027u);
    EXPECT_EQ(entry::evd_dequeue(connect_evd, nullptr), 0x80060026u);
    EXPECT_EQ(entry::evd_query(connect_evd, DAT_EVD_FIELD_ALL, nullptr), 0x80060027u);
    EXPECT_EQ(post(connect_evd, 1), 0x80060025u);
    EXPECT_EQ(entry::evd_post_se(recv_evd, nullptr), 0x80060026u);
}

TEST_F(EvdTest, EmptyAndTimedOutHaveTheirClassBitOnlyWhereTheReferenceSetsIt) {
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG);
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    const DAT_EVD_HANDLE noticed = evd(DAT_EVD_DTO_FLAG, 8, cno);
    EXPECT_EQ(entry::evd_dequeue(request_evd, &event), 0x000D0000u);
    EXPECT_EQ(entry::evd_dequeue(noticed, &event), 0x000D0000u);
    EXPECT_EQ(entry::evd_dequeue(software, &event), 0x800D0000u);
    EXPECT_EQ(wait(request_evd, 100), 0x000F0000u);
    EXPECT_EQ(wait(noticed, 100), 0x800F0000u);
    EXPECT_EQ(wait(software, 100), 0x800F0000u);
    EXPECT_EQ(wait(evd(0x200), 100), 0x800F0000u);
    EXPECT_EQ(more, 0);
}

TEST_F(EvdTest, QueuesAreAtLeastAsLongAsAskedFor) {
    DAT_EVD_PARAM parameters;
    ASSERT_EQ(entry::evd_query(request_evd, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.evd_qlen, 4096);
    EXPECT_EQ(static_cast<int>(parameters.evd_state), 5);
    EXPECT_EQ(parameters.ia_handle, open.ia);
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG, 3);
    ASSERT_EQ(entry::evd_query(software, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.evd_qlen, 3);
    ASSERT_EQ(entry::evd_query(open.async, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.evd_qlen, 8);
    EXPECT_EQ(static_cast<int>(parameters.evd_flags), 0x100);
}

TEST_F(EvdTest, AFullSoftwareQueueRefusesAndSaysSoOnTheAsyncEvd) {
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG, 3);
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(post(software, i), DAT_SUCCESS);
    EXPECT_EQ(post(software, 4), 0x800E0000u);
    const DAT_EVENT overflow = next(open.async);
    EXPECT_EQ(overflow.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(overflow.event_data.asynch_error_event_data.dat_handle, software);
    for (std::uintptr_t i = 1; i <= 3; ++i) {
        ASSERT_EQ(wait(software, 0), DAT_SUCCESS);
        EXPECT_EQ(value(), i);
        EXPECT_EQ(more, static_cast<DAT_COUNT>(3 - i));
    }
}

TEST_F(EvdTest, AThresholdCountsSoftwareEventsAndCompletionsTogether) {
    connect_ep();
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    Thread thread = waiter(recv_evd, kForever, 3);
    EXPECT_EQ(post(recv_evd, 1), DAT_SUCCESS);
    fake::finish_receive(qp(), 1);
    EXPECT_EQ(result, 1u) << "two of three";
    EXPECT_EQ(post(recv_evd, 2), DAT_SUCCESS);
    thread.join();
    EXPECT_EQ(result, DAT_SUCCESS);
    EXPECT_EQ(more, 2);
    EXPECT_EQ(wait(recv_evd, 1000, 3), 0x000F0000u) << "the next wait needs as many again";
    EXPECT_EQ(more, 2);
}

TEST_F(EvdTest, WhateverArrivesWakesAWaiterOnACompletionQueue) {
    connect_ep();
    for (int round = 0; round < 200; ++round) {
        ASSERT_EQ(receive(round), DAT_SUCCESS);
        Thread thread = waiter(recv_evd, kForever);
        if (round % 2) {
            fake::finish_receive(qp(), 1);
        } else {
            EXPECT_EQ(post(recv_evd, 1), DAT_SUCCESS);
        }
        thread.join();
        ASSERT_EQ(result, DAT_SUCCESS);
        result = 1;
        if (round % 2) continue;
        fake::finish_receive(qp(), 1);
        next(recv_evd);
    }
}

TEST_F(EvdTest, OnlyOneMayWaitAndNobodyElseTakesEventsMeanwhile) {
    Thread thread = waiter(recv_evd, kForever);
    DAT_EVENT other;
    DAT_COUNT count;
    EXPECT_EQ(entry::evd_wait(recv_evd, 0, 1, &other, &count), 0x80070000u);
    EXPECT_EQ(entry::evd_dequeue(recv_evd, &other), 0x80070000u);
    EXPECT_EQ(entry::evd_resize(recv_evd, 5000), 0x80070000u);
    EXPECT_EQ(post(recv_evd, 1), DAT_SUCCESS);
    thread.join();
    EXPECT_EQ(result, DAT_SUCCESS);
}

TEST_F(EvdTest, SettingUnwaitableSendsTheWaiterAwayOnEveryKindOfEvd) {
    for (const DAT_EVD_HANDLE evd : {recv_evd, connect_evd, open.async}) {
        Thread thread = waiter(evd, kForever);
        EXPECT_EQ(entry::evd_set_unwaitable(evd), DAT_SUCCESS);
        thread.join();
        EXPECT_EQ(result, 0x80070000u);
        EXPECT_EQ(wait(evd, 0), 0x80070049u);
        EXPECT_EQ(entry::evd_clear_unwaitable(evd), DAT_SUCCESS);
        EXPECT_EQ(DAT_GET_TYPE(wait(evd, 0)), DAT_TIMEOUT_EXPIRED);
    }
}

TEST_F(EvdTest, FreeingAnEvdSendsItsWaiterAway) {
    for (const unsigned flags : {0x1u, 0x20u}) {
        const DAT_EVD_HANDLE freed = evd(flags);
        Thread thread = waiter(freed, kForever);
        EXPECT_EQ(entry::evd_free(freed), DAT_SUCCESS);
        thread.join();
        EXPECT_EQ(result, 0x80070000u);
        EXPECT_EQ(wait(freed, 0), 0x80050000u);
    }
}

TEST_F(EvdTest, AnEvdInUseIsNotFreed) {
    make_ep();
    for (const DAT_EVD_HANDLE used : {recv_evd, request_evd, connect_evd, open.async})
        EXPECT_EQ(entry::evd_free(used), 0x8007004Au);
    EXPECT_EQ(entry::pz_free(pz), 0x80070053u);
    EXPECT_EQ(entry::ep_free(ep), DAT_SUCCESS);
    for (const DAT_EVD_HANDLE unused : {recv_evd, request_evd, connect_evd})
        EXPECT_EQ(entry::evd_free(unused), DAT_SUCCESS);
    EXPECT_EQ(entry::pz_free(pz), DAT_SUCCESS);
}

TEST_F(EvdTest, ResizingAcceptsEveryLengthFromWhatIsPendingToTheAdaptersLimit) {
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG, 4);
    for (const DAT_EVD_HANDLE evd : {software, recv_evd}) {
        DAT_EVD_PARAM parameters;
        EXPECT_EQ(post(evd, 1), DAT_SUCCESS);
        EXPECT_EQ(entry::evd_resize(evd, 9000), DAT_SUCCESS);
        EXPECT_EQ(entry::evd_query(evd, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
        EXPECT_EQ(parameters.evd_qlen, 9000);
        EXPECT_EQ(entry::evd_resize(evd, 9000), DAT_SUCCESS);
        EXPECT_EQ(entry::evd_resize(evd, 1), DAT_SUCCESS);
        EXPECT_EQ(entry::evd_query(evd, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
        EXPECT_EQ(parameters.evd_qlen, evd == software ? 1 : 9000) << "the device's queue stays";
        EXPECT_EQ(entry::evd_resize(evd, 9000), DAT_SUCCESS);
        EXPECT_EQ(entry::evd_resize(evd, 70000), 0x80060026u);
        EXPECT_EQ(entry::evd_resize(evd, -1), 0x80070000u);
        for (int i = 2; i <= 9000; ++i) ASSERT_EQ(post(evd, i), DAT_SUCCESS);
        EXPECT_EQ(post(evd, 1), 0x800E0000u);
        EXPECT_EQ(entry::evd_resize(evd, 8999), 0x80070000u) << "more are pending";
        for (std::uintptr_t i = 1; i <= 9000; ++i) {
            ASSERT_EQ(wait(evd, 0), DAT_SUCCESS);
            ASSERT_EQ(value(), i);
        }
    }
}

TEST_F(EvdTest, OnADeviceThatCannotResizeGrowthAnswersInsufficientResources) {
    for (const int refusal : {ENOSYS, EOPNOTSUPP}) {
        fake::refuse(refusal);
        EXPECT_EQ(entry::evd_resize(recv_evd, 4096), DAT_SUCCESS) << "it is as long already";
        EXPECT_EQ(entry::evd_resize(recv_evd, 4097), 0x80030005u);
        EXPECT_EQ(entry::evd_resize(connect_evd, 9000), DAT_SUCCESS) << "no queue of the device's";
        fake::refuse(0);
    }
    DAT_EVD_PARAM parameters;
    ASSERT_EQ(entry::evd_query(recv_evd, DAT_EVD_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.evd_qlen, 4096) << "nothing has changed";
}

TEST_F(EvdTest, ProviderEventsBeyondAllMeasureAreDroppedAndTheirEvdIsNamed) {
    dapl::Evd& connections = *dapl::from_handle<dapl::Evd>(connect_evd);
    DAT_EVENT happened{};
    happened.event_number = DAT_CONNECTION_EVENT_DISCONNECTED;
    DAT_EVENT told{};
    int posted = 0;
    while (entry::evd_dequeue(open.async, &told) != DAT_SUCCESS && posted < 1000000) {
        connections.post_event(happened);
        ++posted;
    }
    EXPECT_GT(posted, 65536) << "many more than asked for are kept";
    EXPECT_EQ(told.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(told.event_data.asynch_error_event_data.dat_handle, connect_evd);
    for (int i = 1; i < posted; ++i) next(connect_evd);
    EXPECT_TRUE(empty(connect_evd));
}

TEST_F(EvdTest, ANotificationObjectHearsOfSoftwareEventsAndOfCompletionsAlsoWhenAttachedLater) {
    connect_ep();
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE trigger;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 1000, &trigger), 0x000D0000u);
    EXPECT_EQ(trigger, nullptr);
    ASSERT_EQ(entry::evd_modify_cno(recv_evd, cno), DAT_SUCCESS);
    for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(receive(round), DAT_SUCCESS);
        if (round % 2) {
            fake::finish_receive(qp(), 1);
        } else {
            EXPECT_EQ(post(recv_evd, 1), DAT_SUCCESS);
        }
        ASSERT_EQ(entry::cno_wait(cno, kForever, &trigger), DAT_SUCCESS);
        EXPECT_EQ(trigger, recv_evd);
        ASSERT_EQ(wait(recv_evd, 0), DAT_SUCCESS);
        if (round % 2) continue;
        fake::finish_receive(qp(), 1);
        ASSERT_EQ(entry::cno_wait(cno, kForever, &trigger), DAT_SUCCESS);
        ASSERT_EQ(wait(recv_evd, 0), DAT_SUCCESS);
    }
    EXPECT_EQ(entry::cno_free(cno), 0x80070043u);
    EXPECT_EQ(entry::evd_modify_cno(recv_evd, nullptr), DAT_SUCCESS);
    ASSERT_EQ(receive(1), DAT_SUCCESS);
    fake::finish_receive(qp(), 1);
    EXPECT_EQ(entry::cno_wait(cno, 1000, &trigger), 0x000D0000u);
    EXPECT_EQ(wait(recv_evd, kForever), DAT_SUCCESS) << "the channel is the waiter's again";
    EXPECT_EQ(entry::cno_free(cno), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), 0x00050013u);
}

TEST_F(EvdTest, EachEvdThatTriggersIsNamedAndADisabledEvdMakesNoTrigger) {
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE trigger;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    const DAT_EVD_HANDLE first = evd(DAT_EVD_SOFTWARE_FLAG, 8, cno);
    const DAT_EVD_HANDLE second = evd(DAT_EVD_SOFTWARE_FLAG, 8, cno);
    EXPECT_EQ(post(first, 1), DAT_SUCCESS);
    EXPECT_EQ(post(second, 1), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), DAT_SUCCESS);
    EXPECT_EQ(trigger, first);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), DAT_SUCCESS);
    EXPECT_EQ(trigger, second);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), 0x000D0000u);
    EXPECT_EQ(entry::evd_disable(first), DAT_SUCCESS);
    EXPECT_EQ(post(first, 2), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), 0x000D0000u);
    EXPECT_EQ(entry::evd_enable(first), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), 0x000D0000u) << "nothing for what is pending";
    EXPECT_EQ(post(first, 3), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), DAT_SUCCESS);
}

TEST_F(EvdTest, FreeingTheLastEvdOfANotificationObjectWakesItsWaiters) {
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    const DAT_EVD_HANDLE only = evd(DAT_EVD_SOFTWARE_FLAG, 8, cno);
    DAT_EVD_HANDLE trigger = only;
    Thread thread([&] { result = entry::cno_wait(cno, kForever, &trigger); });
    ASSERT_EQ(entry::evd_free(only), DAT_SUCCESS);
    // The waiter may have come too late to be woken; then creating and freeing a new EVD wakes it.
    EXPECT_TRUE(eventually([&] {
        if (result != 1) return true;
        entry::evd_free(evd(DAT_EVD_SOFTWARE_FLAG, 8, cno));
        return false;
    }));
    thread.join();
    EXPECT_EQ(result, DAT_SUCCESS);
    EXPECT_EQ(trigger, nullptr);
}

struct AgentCalls {
    std::atomic<int> count{0};
    std::atomic<DAT_EVD_HANDLE> evd{nullptr};
    std::atomic<std::thread::id> thread;
};

void agent(DAT_PVOID calls, DAT_EVD_HANDLE evd) {
    auto* seen = static_cast<AgentCalls*>(calls);
    seen->evd = evd;
    seen->thread = std::this_thread::get_id();
    ++seen->count;
}

TEST_F(EvdTest, AProxyAgentIsCalledOnceForEachSetting) {
    connect_ep();
    AgentCalls calls;
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE trigger;
    ASSERT_EQ(entry::cno_create(open.ia, {&calls, agent}, &cno), DAT_SUCCESS);
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG, 8, cno);
    EXPECT_EQ(post(software, 1), DAT_SUCCESS);
    EXPECT_EQ(calls.count, 1);
    EXPECT_EQ(calls.evd, software);
    EXPECT_EQ(calls.thread.load(), std::this_thread::get_id());
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), DAT_SUCCESS) << "the trigger is left for a wait";
    EXPECT_EQ(post(software, 2), DAT_SUCCESS);
    EXPECT_EQ(calls.count, 1);
    DAT_CNO_PARAM parameters;
    ASSERT_EQ(entry::cno_query(cno, DAT_CNO_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.proxy_type, DAT_PROXY_TYPE_AGENT);
    EXPECT_EQ(parameters.proxy.agent.proxy_agent_func, nullptr);
    // The connection manager raises events with a lock held, so another thread calls the agent.
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), DAT_SUCCESS);
    EXPECT_EQ(entry::cno_modify_agent(cno, {&calls, agent}), DAT_SUCCESS);
    EXPECT_EQ(entry::evd_modify_cno(connect_evd, cno), DAT_SUCCESS);
    EXPECT_EQ(entry::ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_TRUE(eventually([&] { return calls.count == 2; }));
    EXPECT_EQ(calls.evd, connect_evd);
    EXPECT_NE(calls.thread.load(), std::this_thread::get_id());
}

// With the address sanitizer each cancelled thread costs more the more there have been.
constexpr int kCancellations = kAddressSanitizer ? 1000 : 10000;

/// A thread that waits forever; tests start and cancel one after another.
struct Cancelled {
    DAT_EVD_HANDLE evd;
    int type;
    std::atomic<bool> started{false};

    static void* run(void* self) {
        auto* mine = static_cast<Cancelled*>(self);
        pthread_setcanceltype(mine->type, nullptr);
        mine->started = true;
        sit(mine->evd);
        return nullptr;
    }
    /// Has no cleanups of its own: an asynchronous cancellation can unwind it from anywhere.
    [[gnu::noinline]] static void sit(DAT_EVD_HANDLE evd) {
        DAT_EVENT event;
        DAT_COUNT more;
        for (;;) entry::evd_wait(evd, kForever, 1, &event, &more);
    }
};

TEST_F(EvdTest, AThreadCancelledInAWaitAtARandomMomentLeavesTheEvdUsable) {
    if (kThreadSanitizer) GTEST_SKIP() << "it sees no locks in a thread cancelled in a system call";
    const DAT_EVD_HANDLE software = evd(DAT_EVD_SOFTWARE_FLAG);
    const int rounds = scaled(kCancellations);
    unsigned random = 1;
    for (int round = 0; round < rounds; ++round) {
        Cancelled victim;
        victim.evd = round % 2 ? software : recv_evd;
        victim.type = round / 2 % 2 ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
        pthread_t thread;
        ASSERT_EQ(pthread_create(&thread, nullptr, Cancelled::run, &victim), 0);
        while (!victim.started) sched_yield();
        if (round % 3 == 0) {
            EXPECT_EQ(post(victim.evd, 1), DAT_SUCCESS);
        }
        random = random * 1103515245 + 12345;
        for (unsigned spin = random >> 16 & 0xfff; spin > 0; --spin) asm volatile("");
        ASSERT_EQ(pthread_cancel(thread), 0);
        void* ended;
        ASSERT_EQ(pthread_join(thread, &ended), 0);
        ASSERT_EQ(ended, PTHREAD_CANCELED);
        while (wait(victim.evd, 0) == DAT_SUCCESS) {
        }
        ASSERT_EQ(post(victim.evd, round), DAT_SUCCESS);
        ASSERT_EQ(wait(victim.evd, kForever), DAT_SUCCESS);
        ASSERT_EQ(value(), static_cast<std::uintptr_t>(round));
    }
}

TEST_F(EvdTest, AThreadCancelledInANotificationWaitLeavesTheObjectUsable) {
    DAT_CNO_HANDLE cno;
    ASSERT_EQ(entry::cno_create(open.ia, {}, &cno), DAT_SUCCESS);
    for (int round = 0; round < scaled(200); ++round) {
        std::atomic<bool> started{false};
        Thread thread([&] {
            DAT_EVD_HANDLE unused;
            started = true;
            for (;;) entry::cno_wait(cno, kForever, &unused);
        });
        while (!started) sched_yield();
        pthread_cancel(thread.native_handle());
        thread.join();
    }
    DAT_EVD_HANDLE trigger;
    EXPECT_EQ(entry::cno_wait(cno, 0, &trigger), 0x000D0000u);
    EXPECT_EQ(entry::cno_free(cno), DAT_SUCCESS);
}

TEST_F(EvdTest, AWaitThatTheCallerMadeUncancellableIsNotCancelled) {
    std::atomic<bool> started{false};
    Thread thread([&] {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        started = true;
        result = wait(recv_evd, kForever);
    });
    EXPECT_TRUE(eventually([&] { return has_waiter(recv_evd); }));
    pthread_cancel(thread.native_handle());
    EXPECT_EQ(post(recv_evd, 5), DAT_SUCCESS);
    thread.join();
    EXPECT_EQ(result, DAT_SUCCESS);
}

TEST_F(EvdTest, TimeoutsAreMicroseconds) {
    for (const DAT_EVD_HANDLE evd : {recv_evd, connect_evd}) {
        for (const DAT_TIMEOUT timeout : {1u, 500u, 1500u, 20000u}) {
            const auto start = Clock::now();
            EXPECT_EQ(DAT_GET_TYPE(wait(evd, timeout)), DAT_TIMEOUT_EXPIRED);
            EXPECT_GE(Clock::now() - start, std::chrono::microseconds(timeout));
        }
    }
}

}  // namespace
}  // namespace test
