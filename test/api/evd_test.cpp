// SPDX-License-Identifier: BSD-2-Clause
// Event dispatchers over soft0: streams, waiting, overflow, growth, shared async EVDs.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4802;
constexpr DAT_RETURN kInvalidState = DAT_CLASS_ERROR | DAT_INVALID_STATE;
constexpr DAT_RETURN kUnwaitable = kInvalidState | DAT_INVALID_STATE_EVD_UNWAITABLE;
constexpr DAT_RETURN kInterrupted = DAT_INTERRUPTED_CALL;
constexpr DAT_RETURN kPlainTimeout = DAT_TIMEOUT_EXPIRED;
constexpr DAT_RETURN kTimeout = DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED;
constexpr DAT_RETURN kFull = DAT_CLASS_ERROR | DAT_QUEUE_FULL;
constexpr int kSoftwareAndDto = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG;

DAT_RETURN post(DAT_EVD_HANDLE evd, std::uintptr_t value = 0) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = reinterpret_cast<DAT_PVOID>(value);
    return dat_evd_post_se(evd, &event);
}
std::uintptr_t value_of(const DAT_EVENT& event) {
    return reinterpret_cast<std::uintptr_t>(event.event_data.software_event_data.pointer);
}

/// A thread that calls dat_evd_wait once. The constructor returns when the thread is in the wait.
class Waiter {
  public:
    Waiter(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold = 1)
        : thread_([=, this] { code_ = dat_evd_wait(evd, timeout, threshold, &event, &more); }) {
        DAT_EVENT unused;
        require(eventually([&] { return dat_evd_dequeue(evd, &unused) == kInvalidState; }),
                "the thread waits");
    }
    ~Waiter() {
        if (thread_.joinable()) thread_.join();
    }
    DAT_RETURN code() {
        if (thread_.joinable()) thread_.join();
        return code_;
    }
    bool is_done() const { return code_ != kNone; }
    pthread_t native() { return thread_.native_handle(); }

    DAT_EVENT event{};
    DAT_COUNT more = -1;

  private:
    static constexpr DAT_RETURN kNone = ~0u;
    std::atomic<DAT_RETURN> code_{kNone};
    Thread thread_;
};

class EvdTest : public testing::Test {
  protected:
    DAT_RETURN wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold = 1) {
        return dat_evd_wait(evd, timeout, threshold, &event, &more);
    }
    DAT_EVD_PARAM query(DAT_EVD_HANDLE evd) {
        DAT_EVD_PARAM parameters{};
        succeed(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &parameters), "dat_evd_query");
        return parameters;
    }
    /// Connects two endpoints of this process. @param transfers limit of receives and of requests
    /// of each endpoint.
    void connect(DAT_EVD_HANDLE receives, DAT_EVD_HANDLE sends, DAT_COUNT transfers) {
        side.listen(kQualifier);
        DAT_EP_ATTR attributes{};
        attributes.service_type = DAT_SERVICE_TYPE_RC;
        attributes.qos = DAT_QOS_BEST_EFFORT;
        attributes.max_recv_dtos = attributes.max_request_dtos = transfers;
        attributes.max_recv_iov = attributes.max_request_iov = 1;
        for (DAT_EP_HANDLE* ep : {&active, &passive})
            succeed(
                dat_ep_create(side.ia, side.pz, receives, sends, side.connections, &attributes, ep),
                "dat_ep_create");
        succeed(Side::connect(active, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    void receive(DAT_UINT64 value) {
        DAT_LMR_TRIPLET none{};
        succeed(dat_ep_post_recv(passive, 0, &none, cookie(value), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }
    void send(DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_SUPPRESS_FLAG) {
        DAT_LMR_TRIPLET none{};
        succeed(dat_ep_post_send(active, 0, &none, {}, flags), "dat_ep_post_send");
    }

    TemporaryFabric fabric;
    Side side;
    DAT_EP_HANDLE active = DAT_HANDLE_NULL, passive = DAT_HANDLE_NULL;
    DAT_EVENT event{};
    DAT_COUNT more = -1;
    DAT_EVENT sent{};
};

TEST_F(EvdTest, StreamsMergeAsTheProvidersTableSaysInEveryCombination) {
    constexpr int kStreams[6] = {DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
                                 DAT_EVD_DTO_FLAG,      DAT_EVD_CONNECTION_FLAG,
                                 DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG};
    DAT_PROVIDER_ATTR provider{};
    succeed(dat_ia_query(side.ia, nullptr, 0, nullptr, DAT_PROVIDER_FIELD_ALL, &provider),
            "dat_ia_query");
    const auto& merges = provider.evd_stream_merging_supported;
    for (int a = 0; a < 6; ++a) {
        for (int b = 0; b < 6; ++b) {
            const bool dto_and_connection = (a == 2 && b == 3) || (a == 3 && b == 2);
            EXPECT_EQ(merges[a][b] == DAT_TRUE, a != 5 && b != 5 && !dto_and_connection)
                << a << ' ' << b;
        }
    }
    for (const int extension : {0, int{DAT_EVD_EXTENSION_BASE}}) {
        for (unsigned chosen = 0; chosen < 64; ++chosen) {
            int flags = extension;
            bool allowed = true;
            for (int a = 0; a < 6; ++a) {
                if (!(chosen >> a & 1)) continue;
                flags |= kStreams[a];
                for (int b = 0; b < 6; ++b)
                    if (chosen >> b & 1) allowed = allowed && merges[a][b];
            }
            DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
            const DAT_RETURN code = dat_evd_create(side.ia, 4, DAT_HANDLE_NULL,
                                                   static_cast<DAT_EVD_FLAGS>(flags), &evd);
            ASSERT_EQ(code, allowed ? DAT_RETURN{DAT_SUCCESS} : 0x80060028u) << std::hex << flags;
            if (!allowed) continue;
            EXPECT_EQ(query(evd).evd_flags, static_cast<DAT_EVD_FLAGS>(flags));
            if (flags & DAT_EVD_SOFTWARE_FLAG) {
                EXPECT_EQ(post(evd, 7), DAT_SUCCESS);
                EXPECT_EQ(wait(evd, 0), DAT_SUCCESS);
                EXPECT_EQ(value_of(event), 7u);
                EXPECT_EQ(event.evd_handle, evd);
            } else {
                EXPECT_EQ(post(evd), 0x80060025u) << std::hex << flags;
            }
            EXPECT_EQ(dat_evd_free(evd), DAT_SUCCESS);
        }
    }
}

TEST_F(EvdTest, SoftwareEventsWakeAWaiterOnEveryKindOfEvd) {
    for (const int others : {0, 0x10, 0x20, 0x40, 0x80, 0x200, 0xB0, 0xD0}) {
        const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG | others, 8);
        Waiter waiter(evd, DAT_TIMEOUT_INFINITE);
        EXPECT_EQ(post(evd, 5), DAT_SUCCESS);
        EXPECT_EQ(waiter.code(), DAT_SUCCESS) << std::hex << others;
        EXPECT_EQ(value_of(waiter.event), 5u);
        EXPECT_EQ(waiter.more, 0);
    }
}

TEST_F(EvdTest, AThresholdWaitsForSoManyCompletionsAndSoftwareEvents) {
    const DAT_EVD_HANDLE evd = side.evd(kSoftwareAndDto, 8);
    connect(evd, side.sends, 100);
    for (int i = 0; i < 60; ++i) receive(i);
    Waiter waiter(evd, DAT_TIMEOUT_INFINITE, 70);
    for (int i = 0; i < 60; ++i) send();
    for (int i = 1; i < 10; ++i) EXPECT_EQ(post(evd, i), DAT_SUCCESS);
    EXPECT_FALSE(waiter.is_done()) << "69 of 70";
    EXPECT_EQ(post(evd, 10), DAT_SUCCESS);
    EXPECT_EQ(waiter.code(), DAT_SUCCESS);
    EXPECT_EQ(waiter.more, 69);
    EXPECT_EQ(wait(evd, 1000, 70), kPlainTimeout) << "the next wait needs as many again";
    EXPECT_EQ(more, 69);
    for (DAT_COUNT left = 69; left > 0; --left) {
        ASSERT_EQ(wait(evd, 0, left), DAT_SUCCESS);
        ASSERT_EQ(more, left - 1);
    }
    EXPECT_EQ(wait(evd, 0, query(evd).evd_qlen), kPlainTimeout);
    EXPECT_EQ(wait(evd, 0, query(evd).evd_qlen + 1), 0x80060027u);
}

TEST_F(EvdTest, TimeoutsAreHonouredToTheMicrosecondAtLeast) {
    const DAT_EVD_HANDLE plain = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    for (const DAT_EVD_HANDLE evd : {side.receives, plain, side.async}) {
        for (const DAT_TIMEOUT timeout : {1u, 300u, 999u, 1001u, 30000u}) {
            const auto start = Clock::now();
            EXPECT_EQ(wait(evd, timeout), evd == side.receives ? kPlainTimeout : kTimeout);
            EXPECT_GE(Clock::now() - start, std::chrono::microseconds(timeout));
        }
    }
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE triggered;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    const auto start = Clock::now();
    EXPECT_EQ(dat_cno_wait(cno, 700, &triggered), DAT_RETURN{DAT_QUEUE_EMPTY});
    EXPECT_GE(Clock::now() - start, 700us);
}

TEST_F(EvdTest, OneWaiterKeepsOthersFromWaitingTakingAndResizing) {
    const DAT_EVD_HANDLE evd = side.evd(kSoftwareAndDto, 8);
    Waiter waiter(evd, DAT_TIMEOUT_INFINITE);
    EXPECT_EQ(wait(evd, 0), kInvalidState);
    EXPECT_EQ(dat_evd_dequeue(evd, &event), kInvalidState);
    EXPECT_EQ(dat_evd_resize(evd, query(evd).evd_qlen), kInvalidState);
    EXPECT_EQ(post(evd), DAT_SUCCESS);
    EXPECT_EQ(waiter.code(), DAT_SUCCESS);
    EXPECT_EQ(wait(evd, 0), kPlainTimeout) << "another may wait now";
}

TEST_F(EvdTest, SettingAnEvdUnwaitableSendsItsWaiterAwayAtOnce) {
    const DAT_EVD_HANDLE software = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    DAT_CNO_HANDLE cno;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    succeed(dat_evd_modify_cno(side.sends, cno), "dat_evd_modify_cno");
    for (const DAT_EVD_HANDLE evd :
         {side.receives, side.sends, side.requests, side.connections, software, side.async}) {
        Waiter waiter(evd, DAT_TIMEOUT_INFINITE);
        EXPECT_EQ(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        EXPECT_EQ(waiter.code(), kInvalidState);
        EXPECT_EQ(wait(evd, DAT_TIMEOUT_INFINITE), kUnwaitable);
        EXPECT_EQ(query(evd).evd_state,
                  static_cast<DAT_EVD_STATE>(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE));
        EXPECT_EQ(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)), DAT_QUEUE_EMPTY) << "goes on";
        EXPECT_EQ(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        EXPECT_EQ(DAT_GET_TYPE(wait(evd, 0)), DAT_TIMEOUT_EXPIRED);
    }
}

void ignore(int) {}

/// Has one EVD of each kind that the reference implementation waits on in a different way.
class Signals : public EvdTest {
  protected:
    Signals() {
        struct sigaction action {};
        action.sa_handler = ignore;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, &old_);
        succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
        succeed(dat_evd_modify_cno(noticed, cno), "dat_evd_modify_cno");
    }
    ~Signals() override { sigaction(SIGUSR1, &old_, nullptr); }
    static void send_signals(pthread_t to) {
        for (int i = 0; i < 20; ++i) {
            pthread_kill(to, SIGUSR1);
            sched_yield();
        }
    }
    void expect_goes_on(DAT_EVD_HANDLE evd) {
        Waiter waiter(evd, DAT_TIMEOUT_INFINITE);
        send_signals(waiter.native());
        EXPECT_FALSE(waiter.is_done());
        EXPECT_EQ(post(evd, 9), DAT_SUCCESS);
        EXPECT_EQ(waiter.code(), DAT_SUCCESS);
    }

    const DAT_EVD_HANDLE software = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    const DAT_EVD_HANDLE completions = side.evd(kSoftwareAndDto, 8);
    const DAT_EVD_HANDLE noticed = side.evd(kSoftwareAndDto, 8);
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

  private:
    struct sigaction old_ {};
};

TEST_F(Signals, EndNoWaitWhateverTheEvdIsFor) {
    for (const DAT_EVD_HANDLE evd : {software, completions, noticed}) expect_goes_on(evd);
}

TEST_F(Signals, DoNotProlongAWait) {
    for (const DAT_EVD_HANDLE evd : {software, completions, noticed}) {
        const auto start = Clock::now();
        Waiter waiter(evd, 50000);
        EXPECT_TRUE(eventually([&] {
            if (!waiter.is_done()) pthread_kill(waiter.native(), SIGUSR1);
            return waiter.is_done();
        }));
        EXPECT_EQ(waiter.code(), evd == completions ? kPlainTimeout : kTimeout);
        EXPECT_GE(Clock::now() - start, 50ms);
    }
}

TEST_F(Signals, EndNoWaitForATrigger) {
    DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
    std::atomic<DAT_RETURN> code{~0u};
    Thread thread([&] { code = dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &triggered); });
    send_signals(thread.native_handle());
    EXPECT_EQ(code, ~0u);
    EXPECT_EQ(post(noticed), DAT_SUCCESS);
    thread.join();
    EXPECT_EQ(code, DAT_SUCCESS);
    EXPECT_EQ(triggered, noticed);
}

/// A base class that enables the setting before the adapter instance is opened.
struct EndWaits {
    EndWaits() { setenv("OPENDAT_SIGNALS_END_WAITS", "1", 1); }
    ~EndWaits() { unsetenv("OPENDAT_SIGNALS_END_WAITS"); }
};
class SignalsThatEndWaits : EndWaits, public Signals {};

TEST_F(SignalsThatEndWaits, DoSoOnACompletionQueueOnly) {
    {
        Waiter waiter(side.receives, DAT_TIMEOUT_INFINITE);
        EXPECT_TRUE(eventually([&] {
            if (!waiter.is_done()) pthread_kill(waiter.native(), SIGUSR1);
            return waiter.is_done();
        }));
        EXPECT_EQ(waiter.code(), kInterrupted);
        EXPECT_EQ(waiter.more, 0);
    }
    for (const DAT_EVD_HANDLE evd : {software, noticed}) expect_goes_on(evd);
}

TEST_F(EvdTest, ADisabledOneTriggersNothingAndWaitsAndGivesOn) {
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE triggered;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    const DAT_EVD_HANDLE evd = side.evd(kSoftwareAndDto, 8);
    succeed(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno");
    connect(evd, side.sends, 16);
    for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(dat_evd_disable(evd), DAT_SUCCESS);
    EXPECT_EQ(query(evd).evd_state,
              static_cast<DAT_EVD_STATE>(DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE));
    receive(1);
    send();
    EXPECT_EQ(wait(evd, kMicroseconds), DAT_SUCCESS);
    EXPECT_EQ(post(evd), DAT_SUCCESS);
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_RETURN{DAT_QUEUE_EMPTY});
    for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(dat_evd_enable(evd), DAT_SUCCESS);
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_RETURN{DAT_QUEUE_EMPTY})
        << "nothing for what is pending";
    EXPECT_EQ(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
    receive(2);
    send();
    EXPECT_EQ(dat_cno_wait(cno, kMicroseconds, &triggered), DAT_SUCCESS);
    EXPECT_EQ(triggered, evd);
}

TEST_F(EvdTest, OneThatIsFullRefusesSoftwareEventsAndIsNamedByTheAsyncEvd) {
    for (const int flags : {int{DAT_EVD_SOFTWARE_FLAG}, kSoftwareAndDto}) {
        const DAT_EVD_HANDLE evd = side.evd(flags, 5);
        const auto length = static_cast<std::uintptr_t>(query(evd).evd_qlen);
        for (std::uintptr_t i = 0; i < length; ++i) ASSERT_EQ(post(evd, i), DAT_SUCCESS);
        for (int refused = 0; refused < 2; ++refused) {
            EXPECT_EQ(post(evd), kFull);
            const DAT_EVENT told = Side::wait(side.async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
            EXPECT_EQ(told.event_data.asynch_error_event_data.dat_handle, evd);
        }
        for (std::uintptr_t i = 0; i < length; ++i) {
            ASSERT_EQ(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
            ASSERT_EQ(value_of(event), i) << "what is stored stays good";
        }
        Side::expect_empty(evd);
    }
}

TEST_F(EvdTest, AnAsyncEvdThatLosesEventsIsDead) {
    const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 1);
    EXPECT_EQ(post(evd), DAT_SUCCESS);
    Waiter waiter(side.async, DAT_TIMEOUT_INFINITE, 8);
    // The async EVD holds far more events than its requested length, but not without limit.
    for (int i = 0; i < 1000000 && !waiter.is_done(); ++i) ASSERT_EQ(post(evd), kFull);
    ASSERT_EQ(waiter.code(), DAT_SUCCESS);
    DAT_RETURN code = DAT_SUCCESS;
    for (int i = 0; i < 1000000 && code == DAT_SUCCESS; ++i) {
        ASSERT_EQ(post(evd), kFull);
        if (i % 1000 == 0) code = wait(side.async, 0);
    }
    EXPECT_EQ(code, kInvalidState);
    EXPECT_EQ(wait(side.async, DAT_TIMEOUT_INFINITE), kInvalidState);
    EXPECT_EQ(dat_evd_dequeue(side.async, &event), kInvalidState);
    EXPECT_EQ(dat_evd_dequeue(evd, &event), DAT_SUCCESS) << "others go on";
}

TEST_F(EvdTest, ACompletionQueueThatTheDeviceOverrunsIsNamedAndKeepsWhatItHas) {
    const DAT_COUNT length = query(side.receives).evd_qlen;
    connect(side.receives, side.sends, length + 1);
    for (DAT_COUNT i = 0; i <= length; ++i) receive(i);
    for (DAT_COUNT i = 0; i <= length; ++i) {
        const bool last_of_batch = i % 64 == 63;
        send(last_of_batch ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG);
        if (last_of_batch) Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    }
    const DAT_EVENT told = Side::wait(side.async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(told.event_data.asynch_error_event_data.dat_handle, side.receives);
    for (DAT_COUNT i = 0; i < length; ++i) {
        ASSERT_EQ(dat_evd_dequeue(side.receives, &event), DAT_SUCCESS);
        const auto& dto = event.event_data.dto_completion_event_data;
        ASSERT_EQ(dto.user_cookie.as_64, static_cast<DAT_UINT64>(i));
        ASSERT_EQ(dto.status, DAT_DTO_SUCCESS);
    }
}

TEST_F(EvdTest, LengthsInAnyOrderAreAcceptedThoughTheDeviceRoundsUp) {
    for (const unsigned flags : {unsigned{DAT_EVD_SOFTWARE_FLAG}, unsigned{DAT_EVD_DTO_FLAG},
                                 unsigned{DAT_EVD_CONNECTION_FLAG}, unsigned{kSoftwareAndDto}}) {
        const DAT_EVD_HANDLE evd = side.evd(static_cast<DAT_EVD_FLAGS>(flags), 8);
        for (const DAT_COUNT length : {16, 64, 128, 256, 100, 1, 16}) {
            EXPECT_EQ(dat_evd_resize(evd, length), DAT_SUCCESS) << flags << ' ' << length;
            EXPECT_GE(query(evd).evd_qlen, length);
        }
    }
}

TEST_F(EvdTest, ALengthBelowThePendingCompletionsIsRefusedAndLosesNone) {
    const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_DTO_FLAG, 8);
    connect(evd, side.sends, 16);
    constexpr DAT_COUNT kMessages = 5;
    for (DAT_COUNT i = 0; i < kMessages; ++i) receive(static_cast<DAT_UINT64>(i));
    for (DAT_COUNT i = 0; i < kMessages; ++i)
        send(i + 1 < kMessages ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
    Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(dat_evd_resize(evd, kMessages - 1), kInvalidState);
    EXPECT_EQ(dat_evd_resize(evd, kMessages), DAT_SUCCESS);
    for (DAT_COUNT i = 0; i < kMessages; ++i) {
        ASSERT_EQ(wait(evd, test::kMicroseconds), DAT_SUCCESS);
        EXPECT_EQ(event.event_data.dto_completion_event_data.user_cookie.as_64,
                  static_cast<DAT_UINT64>(i));
    }
}

TEST_F(EvdTest, GrowthUnderLoadLosesNothing) {
    const DAT_EVD_HANDLE evd = side.evd(kSoftwareAndDto, 8);
    constexpr DAT_RETURN kDeviceCannot = 0x80030005;
    const DAT_EVD_HANDLE another = side.evd(DAT_EVD_DTO_FLAG, 8);
    if (dat_evd_resize(another, query(another).evd_qlen + 1) == kDeviceCannot)
        GTEST_SKIP() << "the device cannot resize a completion queue";
    connect(evd, side.sends, 1000);
    const int messages = scaled(4000);
    std::atomic<bool> finish{false};
    std::atomic<int> software{0};
    Thread poster([&] {
        while (!finish) {
            const DAT_RETURN code = post(evd, 1);
            if (code == DAT_SUCCESS) ++software;
            usleep(100);
        }
    });
    Thread sender([&] {
        for (int i = 0; i < messages; ++i) {
            DAT_LMR_TRIPLET none{};
            const auto try_to = [&](auto post_one) {
                while (DAT_GET_TYPE(post_one()) == DAT_INSUFFICIENT_RESOURCES && !finish)
                    usleep(100);
            };
            try_to([&] {
                return dat_ep_post_recv(passive, 0, &none, cookie(i), DAT_COMPLETION_DEFAULT_FLAG);
            });
            try_to([&] {
                return dat_ep_post_send(active, 0, &none, cookie(i), DAT_COMPLETION_DEFAULT_FLAG);
            });
            while (dat_evd_dequeue(side.sends, &sent) == DAT_SUCCESS) {
            }
        }
    });
    // Ends the threads also when a failed assertion returns from the test.
    const auto end_threads = [&](void*) {
        finish = true;
        sender.join();
        poster.join();
    };
    std::unique_ptr<void, decltype(end_threads)> threads(&finish, end_threads);
    int received = 0, taken = 0;
    DAT_COUNT length = query(evd).evd_qlen;
    DAT_IA_ATTR ia{};
    succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &ia, 0, nullptr), "dat_ia_query");
    const DAT_COUNT largest = std::min(16 * length, ia.max_evd_qlen);
    const auto end = Clock::now() + kDeadline;
    while (received < messages && Clock::now() < end) {
        if (received % 50 == 49 && length < largest) {
            ASSERT_EQ(dat_evd_resize(evd, length + 1), DAT_SUCCESS);
            ASSERT_GT(query(evd).evd_qlen, length);
            length = query(evd).evd_qlen;
        }
        if (dat_evd_dequeue(evd, &event) != DAT_SUCCESS) continue;
        if (event.event_number == DAT_SOFTWARE_EVENT) {
            ++taken;
            continue;
        }
        const auto& dto = event.event_data.dto_completion_event_data;
        ASSERT_EQ(dto.user_cookie.as_64, static_cast<DAT_UINT64>(received)) << "in order";
        ++received;
    }
    EXPECT_EQ(received, messages);
    threads.reset();
    while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) ++taken;
    EXPECT_EQ(taken, software);
}

class SharedAsyncEvd : public EvdTest {
  protected:
    SharedAsyncEvd() {
        DAT_EVD_HANDLE async = side.async;
        succeed(dat_ia_open(const_cast<char*>(test::ia_name()), 8, &async, &other), "dat_ia_open");
        require(async == side.async, "the EVD given is the one that serves");
        succeed(dat_evd_create(other, 1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &full),
                "dat_evd_create");
        succeed(post(full), "dat_evd_post_se");
    }
    ~SharedAsyncEvd() override {
        if (other) dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG);
    }
    DAT_EVD_HANDLE async_of(DAT_IA_HANDLE ia) {
        DAT_EVD_HANDLE async = ia;
        succeed(dat_ia_query(ia, &async, 0, nullptr, 0, nullptr), "dat_ia_query");
        return async;
    }
    DAT_IA_HANDLE other = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE full = DAT_HANDLE_NULL;
};

TEST_F(SharedAsyncEvd, GetsTheEventsOfBothAndOutlivesTheSecond) {
    EXPECT_EQ(async_of(other), side.async);
    EXPECT_EQ(post(full), kFull);
    const DAT_EVENT told = Side::wait(side.async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    EXPECT_EQ(told.event_data.asynch_error_event_data.dat_handle, full);
    EXPECT_EQ(dat_ia_close(side.ia, DAT_CLOSE_GRACEFUL_FLAG),
              DAT_RETURN{kInvalidState | DAT_INVALID_STATE_IA_IN_USE});
    EXPECT_EQ(dat_evd_free(full), DAT_SUCCESS);
    EXPECT_EQ(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    other = DAT_HANDLE_NULL;
    Side::expect_empty(side.async);
    EXPECT_EQ(DAT_GET_TYPE(wait(side.async, 0)), DAT_TIMEOUT_EXPIRED);
}

TEST_F(SharedAsyncEvd, GoesWithTheFirstAndTheSecondGoesOnWithout) {
    const DAT_EVD_HANDLE gone = side.async;
    side.close();
    EXPECT_EQ(async_of(other), DAT_HANDLE_NULL);
    EXPECT_EQ(post(full), kFull) << "nobody is told";
    EXPECT_EQ(DAT_GET_TYPE(wait(gone, 0)), DAT_INVALID_HANDLE);
    EXPECT_EQ(dat_evd_free(full), DAT_SUCCESS);
    EXPECT_EQ(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
    other = DAT_HANDLE_NULL;
}

}  // namespace
