// SPDX-License-Identifier: BSD-2-Clause
// Thousands of EVDs with few descriptors: EVDs that share a completion channel wake their own
// waiters, and disturb others only briefly.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <vector>

#include "test/api/side.hpp"
#include "test/support/sanitizer.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4803;

/// A connection within this process, with a receive EVD and a request EVD of its own.
struct Loop {
    explicit Loop(const Side& side)
        : receives(side.evd(DAT_EVD_DTO_FLAG, 8)), sends(side.evd(DAT_EVD_DTO_FLAG, 8)) {
        succeed(
            dat_ep_create(side.ia, side.pz, receives, sends, side.connections, nullptr, &active),
            "dat_ep_create");
        succeed(
            dat_ep_create(side.ia, side.pz, receives, sends, side.connections, nullptr, &passive),
            "dat_ep_create");
        succeed(Side::connect(active, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    /// Sends one message, so that each of the two EVDs gets a completion.
    void transfer() const {
        DAT_LMR_TRIPLET none{};
        succeed(dat_ep_post_recv(passive, 0, &none, {}, DAT_COMPLETION_DEFAULT_FLAG), "receive");
        succeed(dat_ep_post_send(active, 0, &none, {}, DAT_COMPLETION_DEFAULT_FLAG), "send");
    }
    DAT_EVD_HANDLE receives, sends;
    DAT_EP_HANDLE active = DAT_HANDLE_NULL, passive = DAT_HANDLE_NULL;
};

class EvdScale : public testing::Test {
  protected:
    TemporaryFabric fabric;
    Side side;
};

TEST_F(EvdScale, FourThousandAndNinetySixEvdsFitIntoALimitOf1024Descriptors) {
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    const rlimit few{1024, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const int before = open_descriptors();
    std::vector<DAT_EVD_HANDLE> evds;
    for (int i = 0; i < 4096; ++i)
        evds.push_back(side.evd(i % 4 ? DAT_EVD_DTO_FLAG : DAT_EVD_SOFTWARE_FLAG, 8));
    EXPECT_LT(open_descriptors() - before, 200);
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    for (const DAT_EVD_HANDLE evd : evds)
        ASSERT_EQ(DAT_GET_TYPE(dat_evd_wait(evd, 1, 1, &event, &more)), DAT_TIMEOUT_EXPIRED);
    EXPECT_LT(open_descriptors() - before, 200) << "a wait leaves no descriptor with its EVD";
    for (const DAT_EVD_HANDLE evd : evds) ASSERT_EQ(dat_evd_free(evd), DAT_SUCCESS);
    EXPECT_LE(open_descriptors(), before + 1) << "only a waiter's is kept, for the next one";
    setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(EvdScale, EachOfAHundredWaitersIsWokenByItsOwnCompletionsWhoeverReadsTheChannel) {
    side.listen(kQualifier);
    std::vector<Loop> loops;
    for (int i = 0; i < 50; ++i) loops.emplace_back(side);
    // The unshared channels are in use by now: the EVDs of the loops made from here on share
    // channels.
    for (int i = 0; i < 50; ++i) loops.emplace_back(side);
    constexpr int kRounds = 20;
    std::vector<Thread> waiters;
    std::atomic<int> woken{0};
    for (std::size_t i = 50; i < loops.size(); ++i) {
        for (const DAT_EVD_HANDLE evd : {loops[i].receives, loops[i].sends})
            waiters.emplace_back([evd, &woken] {
                for (int round = 0; round < kRounds; ++round, ++woken)
                    Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
            });
    }
    for (int round = 1; round <= kRounds; ++round) {
        for (std::size_t i = 50; i < loops.size(); ++i) loops[i].transfer();
        EXPECT_TRUE(eventually([&] { return woken == 100 * round; }));
    }
    for (Thread& waiter : waiters) waiter.join();
}

TEST_F(EvdScale, WhoLeavesASharedChannelPassesItOnAlsoToAnEvdWithANotificationObject) {
    side.listen(kQualifier);
    std::vector<Loop> loops;
    for (int i = 0; i < 100; ++i) loops.emplace_back(side);
    DAT_CNO_HANDLE cno;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    for (int round = 0; round < 10; ++round) {
        std::vector<Thread> waiters;
        for (const Loop& loop : loops)
            waiters.emplace_back([&] { Side::wait(loop.receives, DAT_DTO_COMPLETION_EVENT); });
        for (std::size_t i = 0; i < loops.size(); i += 2) {
            if (i % 10 == 0)
                succeed(dat_evd_modify_cno(loops[i].sends, round % 2 ? cno : DAT_HANDLE_NULL),
                        "dat_evd_modify_cno");
            loops[i].transfer();
        }
        for (std::size_t i = 1; i < loops.size(); i += 2) loops[i].transfer();
        for (Thread& waiter : waiters) waiter.join();
        DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
        if (round % 2) {
            EXPECT_EQ(dat_cno_wait(cno, kMicroseconds, &triggered), DAT_SUCCESS);
        }
        for (const Loop& loop : loops) Side::wait(loop.sends, DAT_DTO_COMPLETION_EVENT);
        while (dat_cno_trigger(cno, &triggered) == DAT_SUCCESS) {
        }
    }
}

TEST_F(EvdScale, TheLimitHoldsForAllInstancesOfAProcessTogether) {
    const int before = open_descriptors();
    Side others[3];
    const int of_instances = open_descriptors() - before;
    for (const Side& other : others)
        for (int i = 0; i < 100; ++i) other.evd(DAT_EVD_DTO_FLAG, 8);
    EXPECT_LT(open_descriptors() - before - of_instances, 70);
}

/// Whether a thread waits on the EVD.
bool has_waiter(DAT_EVD_HANDLE evd) {
    DAT_EVENT unused;
    return dat_evd_dequeue(evd, &unused) == (DAT_CLASS_ERROR | DAT_INVALID_STATE);
}

TEST_F(EvdScale, WhoeverLeavesASharedChannelByTimeOutOrCancellationLeavesItToAnother) {
    if (kThreadSanitizer) GTEST_SKIP() << "it sees no locks in a thread cancelled in a system call";
    side.listen(kQualifier);
    std::vector<Loop> loops;
    for (int i = 0; i < 100; ++i) loops.emplace_back(side);
    for (int round = 0; round < 5; ++round) {
        std::vector<Thread> waiters;
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const DAT_EVD_HANDLE evd = loops[i].receives;
            waiters.emplace_back([evd, i] {
                DAT_EVENT event{};
                DAT_COUNT more = 0;
                if (i % 2) return void(Side::wait(evd, DAT_DTO_COMPLETION_EVENT));
                const DAT_TIMEOUT timeout = i % 4 ? 1000 : DAT_TIMEOUT_INFINITE;
                expect_code(dat_evd_wait(evd, timeout, 1, &event, &more), DAT_TIMEOUT_EXPIRED,
                            "a wait for nothing");
            });
            if (i % 4 != 2) {
                ASSERT_TRUE(eventually([&] { return has_waiter(evd); }));
            }
        }
        for (std::size_t i = 0; i < loops.size(); i += 4)
            ASSERT_EQ(pthread_cancel(waiters[i].native_handle()), 0);
        for (std::size_t i = 0; i < loops.size(); i += 2) waiters[i].join();
        for (std::size_t i = 1; i < loops.size(); i += 2) loops[i].transfer();
        for (std::size_t i = 1; i < loops.size(); i += 2) {
            waiters[i].join();
            Side::wait(loops[i].sends, DAT_DTO_COMPLETION_EVENT);
        }
    }
}

void ignore(int) {}

struct EndWaits {
    EndWaits() { setenv("OPENDAT_SIGNALS_END_WAITS", "1", 1); }
    ~EndWaits() { unsetenv("OPENDAT_SIGNALS_END_WAITS"); }
};
class EvdScaleWithSignals : EndWaits, public EvdScale {};

TEST_F(EvdScaleWithSignals, ASignalEndsTheWaitOfAThreadThatAnotherReadsTheChannelFor) {
    struct sigaction action {
    }, old{};
    action.sa_handler = ignore;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
    std::vector<DAT_EVD_HANDLE> evds;
    for (int i = 0; i < 200; ++i) evds.push_back(side.evd(DAT_EVD_DTO_FLAG, 8));
    std::atomic<int> interrupted{0};
    std::vector<Thread> waiters;
    for (const DAT_EVD_HANDLE evd : evds)
        waiters.emplace_back([evd, &interrupted] {
            DAT_EVENT event{};
            DAT_COUNT more = 0;
            expect_code(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
                        DAT_INTERRUPTED_CALL, "dat_evd_wait");
            ++interrupted;
        });
    EXPECT_TRUE(eventually([&] {
        for (std::size_t i = 0; i < evds.size(); ++i)
            if (has_waiter(evds[i])) pthread_kill(waiters[i].native_handle(), SIGUSR1);
        return interrupted == 200;
    }));
    for (Thread& waiter : waiters) waiter.join();
    sigaction(SIGUSR1, &old, nullptr);
}

TEST_F(EvdScale, AnEvdThatNoDescriptorIsLeftForIsAnErrorWhichNamesTheLimit) {
    if (test::kAddressSanitizer)
        GTEST_SKIP() << "the sanitizer looks at objects through a pipe, which needs descriptors";
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    succeed(dat_ia_open(const_cast<char*>(test::ia_name()), 8, &async, &ia), "dat_ia_open");
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_RETURN code = DAT_SUCCESS;
    const std::string said = captured_stderr([&] {
        const rlimit none{1, old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
        code = dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd);
        setrlimit(RLIMIT_NOFILE, &old);
    });
    EXPECT_EQ(code, DAT_RETURN{DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES});
    EXPECT_NE(said.find("DAT103"), std::string::npos) << said;
    EXPECT_NE(said.find("RLIMIT_NOFILE"), std::string::npos) << said;
    // Once one EVD has a channel, the next one shares it and needs no descriptor.
    succeed(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd), "dat_evd_create");
    const rlimit none{1, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    DAT_EVD_HANDLE sharing = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &sharing), DAT_SUCCESS);
    setrlimit(RLIMIT_NOFILE, &old);
    EXPECT_EQ(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

}  // namespace
