// SPDX-License-Identifier: BSD-2-Clause
// Notification objects over soft0: proxy agents that call DAT functions, and descriptors.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>

#include "test/api/side.hpp"
#include "test/support/sanitizer.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4801;
constexpr DAT_RETURN kEmpty = 0x000D0000;
constexpr DAT_RETURN kIaInUse = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
constexpr DAT_RETURN kCnoDead = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_CNO_DEAD;

DAT_RETURN post(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    return dat_evd_post_se(evd, &event);
}

/// A CNO whose proxy agent runs a function of the test.
class NotificationObject {
  public:
    NotificationObject(const Side& side, std::function<void(DAT_EVD_HANDLE)> body)
        : body_(std::move(body)) {
        succeed(dat_cno_create(side.ia, agent(), &cno), "dat_cno_create");
    }
    void set_again() {
        DAT_EVD_HANDLE evd;
        // Consumes the trigger, which stays queued if the agent did not dequeue the event.
        dat_cno_wait(cno, 0, &evd);
        const DAT_RETURN code = dat_cno_modify_agent(cno, agent());
        // The adapter instance may be closing, which waits for this agent to return.
        if (code != kCnoDead) succeed(code, "dat_cno_modify_agent");
    }
    DAT_OS_WAIT_PROXY_AGENT agent() { return {this, call}; }
    void attach(DAT_EVD_HANDLE evd) { succeed(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno"); }

    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
    std::atomic<int> calls{0};

  private:
    static void call(DAT_PVOID self, DAT_EVD_HANDLE evd) {
        auto* mine = static_cast<NotificationObject*>(self);
        try {
            mine->body_(evd);
        } catch (const std::exception& failure) {
            ADD_FAILURE() << failure.what();
        }
        ++mine->calls;
    }
    std::function<void(DAT_EVD_HANDLE)> body_;
};

class Cno : public testing::Test {
  protected:
    TemporaryFabric fabric;
};

TEST_F(Cno, AnAgentForARequestAcceptsItAndAnAgentForTheConnectionEndsIt) {
    Side side;
    side.listen(kQualifier);
    DAT_EP_HANDLE accepted = DAT_HANDLE_NULL;
    NotificationObject server(side, [&](DAT_EVD_HANDLE evd) {
        require(evd == side.requests, "the agent is told the EVD");
        const DAT_CR_HANDLE cr = side.request();
        accepted = side.endpoint();
        succeed(dat_cr_accept(cr, accepted, 0, nullptr), "dat_cr_accept");
    });
    server.attach(side.requests);
    DAT_EVD_HANDLE events = side.evd(DAT_EVD_CONNECTION_FLAG, 8);
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    succeed(dat_ep_create(side.ia, side.pz, side.receives, side.sends, events, nullptr, &ep),
            "dat_ep_create");
    NotificationObject client(side, [&](DAT_EVD_HANDLE) {
        Side::wait(events, DAT_CONNECTION_EVENT_ESTABLISHED);
        succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
        Side::wait(events, DAT_CONNECTION_EVENT_DISCONNECTED);
        succeed(dat_ep_free(ep), "dat_ep_free");
    });
    client.attach(events);
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    EXPECT_TRUE(eventually([&] { return client.calls == 1; }));
    EXPECT_EQ(server.calls, 1);
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, accepted);
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, accepted);
}

TEST_F(Cno, AnAgentMayFreeItsEvdAndItsNotificationObjectInAPostersThreadAndInOurs) {
    Side side;
    side.listen(kQualifier);
    for (const bool software : {true, false}) {
        const DAT_EVD_HANDLE evd =
            side.evd(software ? DAT_EVD_SOFTWARE_FLAG : DAT_EVD_CONNECTION_FLAG, 8);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        NotificationObject notified(side, [&](DAT_EVD_HANDLE triggered) {
            require(triggered == evd, "the agent is told the EVD");
            if (ep) succeed(dat_ep_free(ep), "dat_ep_free");
            succeed(dat_evd_free(evd), "dat_evd_free");
            succeed(dat_cno_free(notified.cno), "dat_cno_free");
        });
        notified.attach(evd);
        if (software) {
            EXPECT_EQ(post(evd), DAT_SUCCESS);
            EXPECT_EQ(notified.calls, 1) << "the poster's thread has called it";
        } else {
            succeed(dat_ep_create(side.ia, side.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, nullptr,
                                  &ep),
                    "dat_ep_create");
            succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            EXPECT_TRUE(eventually([&] { return notified.calls == 1; }));
        }
        EXPECT_EQ(DAT_GET_TYPE(dat_evd_free(evd)), DAT_INVALID_HANDLE);
        EXPECT_EQ(DAT_GET_TYPE(dat_cno_free(notified.cno)), DAT_INVALID_HANDLE);
    }
}

/// A connection within this process. Both ends use the EVDs of one side.
struct Loop {
    explicit Loop(const Side& side) : buffer(side) {
        psp = side.listen(kQualifier);
        active = side.endpoint();
        passive = side.endpoint();
        succeed(Side::connect(active, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    /// Posts a receive and a send, which both complete.
    void transfer() {
        DAT_LMR_TRIPLET all = buffer.all();
        succeed(dat_ep_post_recv(passive, 1, &all, {}, DAT_COMPLETION_DEFAULT_FLAG), "receive");
        succeed(dat_ep_post_send(active, 1, &all, {}, DAT_COMPLETION_DEFAULT_FLAG), "send");
    }
    Buffer buffer;
    DAT_PSP_HANDLE psp;
    DAT_EP_HANDLE active, passive;
};

TEST_F(Cno, AnAgentMayWaitForCompletionsOfEvdsThatHaveANotificationObject) {
    Side side;
    Loop loop(side);
    DAT_CNO_HANDLE quiet;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &quiet), "dat_cno_create");
    succeed(dat_evd_modify_cno(side.sends, quiet), "dat_evd_modify_cno");
    NotificationObject notified(side, [&](DAT_EVD_HANDLE evd) {
        require(evd == side.receives, "a receive has come");
        loop.transfer();
        for (int i = 0; i < 2; ++i) {
            Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
            Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
        }
    });
    notified.attach(side.receives);
    // A completion that the agent has already consumed may trigger late. The agent set for the next
    // round then runs before that round's transfer and waits for it, so every round makes one.
    for (int round = 1; round <= 20; ++round) {
        if (round > 1) notified.set_again();
        loop.transfer();
        ASSERT_TRUE(eventually([&] { return notified.calls == round; }));
    }
}

TEST_F(Cno, AnAgentMayMoveItsEvdWhileAnotherThreadDoes) {
    Side side;
    Loop loop(side);
    DAT_CNO_HANDLE other;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &other), "dat_cno_create");
    NotificationObject notified(side, [&](DAT_EVD_HANDLE evd) {
        succeed(dat_evd_modify_cno(evd, other), "dat_evd_modify_cno");
        succeed(dat_evd_disable(evd), "dat_evd_disable");
        succeed(dat_evd_enable(evd), "dat_evd_enable");
        notified.set_again();
    });
    std::atomic<bool> finish{false};
    Thread mover([&] {
        for (bool there = true; !finish; there = !there)
            succeed(dat_evd_modify_cno(side.receives, there ? notified.cno : other),
                    "dat_evd_modify_cno");
    });
    const int wanted = scaled(20);
    const auto end = Clock::now() + kDeadline;
    while (notified.calls < wanted && Clock::now() < end) {
        const int before = notified.calls;
        loop.transfer();
        // The agent is called only if the event is still queued and the EVD is attached to its CNO
        // at that moment; otherwise the next transfer tries again.
        eventually([&] { return notified.calls != before; }, 2ms);
        Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    }
    finish = true;
    mover.join();
    EXPECT_GE(notified.calls, wanted);
}

TEST_F(Cno, AnAgentMayOpenAndCloseAnotherInstanceButNotCloseItsOwn) {
    Side side;
    const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    NotificationObject notified(side, [&](DAT_EVD_HANDLE) {
        for (const DAT_CLOSE_FLAGS flags : {DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG})
            expect_code(dat_ia_close(side.ia, flags), kIaInUse, "closing the agent's own IA");
        Side another;
        another.close();
    });
    notified.attach(evd);
    EXPECT_EQ(post(evd), DAT_SUCCESS);
    EXPECT_EQ(notified.calls, 1);
    side.close();
}

TEST_F(Cno, AnAbruptCloseWaitsForAnAgentThatOpensAnotherInstance) {
    for (int round = 0; round < scaled(10); ++round) {
        Side side;
        side.listen(kQualifier);
        std::atomic<bool> running{false};
        NotificationObject notified(side, [&](DAT_EVD_HANDLE) {
            running = true;
            Side another;
            another.close();
        });
        notified.attach(side.requests);
        succeed(Side::connect(side.endpoint(), kQualifier), "dat_ep_connect");
        ASSERT_TRUE(eventually([&] { return running.load(); }));
        side.close();
        EXPECT_EQ(notified.calls, 1);
    }
}

TEST_F(Cno, FreeingANotificationObjectWaitsForItsAgentInAnotherThread) {
    Side side;
    const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    std::atomic<bool> running{false}, finish{false};
    NotificationObject notified(side, [&](DAT_EVD_HANDLE) {
        running = true;
        succeed(dat_evd_free(evd), "dat_evd_free");
        require(eventually([&] { return finish.load(); }), "the test goes on");
    });
    notified.attach(evd);
    Thread poster([&] { EXPECT_EQ(post(evd), DAT_SUCCESS); });
    ASSERT_TRUE(eventually([&] { return running.load(); }));
    std::atomic<bool> freed{false};
    Thread freer([&] {
        DAT_RETURN code;
        while ((code = dat_cno_free(notified.cno)) != DAT_SUCCESS)
            require(DAT_GET_TYPE(code) == DAT_INVALID_STATE, "its EVD goes");
        freed = true;
        EXPECT_EQ(notified.calls, 1);
    });
    EXPECT_FALSE(freed);
    finish = true;
    poster.join();
    freer.join();
}

/// EVDs of every kind on one CNO, for a consumer that dequeues all events of the EVD that triggered
/// and waits again.
class Collected {
  public:
    Collected(const Side& side, bool all) {
        succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
        if (!all) return;
        for (DAT_EVD_HANDLE evd : {side.requests, side.connections, side.receives, side.sends})
            attach(evd);
    }
    void attach(DAT_EVD_HANDLE evd) const {
        succeed(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno");
    }
    /// @return the EVD that the next trigger names. @throws when no trigger comes.
    DAT_EVD_HANDLE triggered() const {
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        succeed(dat_cno_wait(cno, kMicroseconds, &evd), "dat_cno_wait");
        return evd;
    }
    void expect_quiet() const {
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        EXPECT_EQ(dat_cno_wait(cno, 0, &evd), kEmpty) << "no trigger without an event";
    }
    /// Dequeues events until one has this number. Each trigger has to name an EVD with an event.
    void take_until(DAT_EVENT_NUMBER number) const {
        for (bool found = false; !found;) {
            const DAT_EVD_HANDLE evd = triggered();
            DAT_EVENT event{};
            int count = 0;
            for (; dat_evd_dequeue(evd, &event) == DAT_SUCCESS; ++count)
                found = found || event.event_number == number;
            EXPECT_GT(count, 0) << "the EVD that triggered is empty";
        }
    }
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
};

TEST_F(Cno, ARefusedConnectionIsHeardOfBehindTheEndOfItsQueuePair) {
    Side side;
    const Collected collected(side, true);
    const std::string told = captured_stderr([&] {
        for (int round = 0; round < scaled(10); ++round) {
            const DAT_EP_HANDLE ep = side.endpoint();
            succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
            collected.take_until(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
            collected.expect_quiet();
            succeed(dat_ep_free(ep), "dat_ep_free");
            collected.expect_quiet();
        }
    });
    EXPECT_NE(told.find("DAT207"), std::string::npos) << told;
}

TEST_F(Cno, AConnectionThatThePeerEndsIsHeardOfWithWorkPostedAndWithout) {
    for (const int receives : {0, 1}) {
        Child child([](Channel& channel) {
            Side side;
            side.listen(kQualifier);
            channel.meet();
            const DAT_EP_HANDLE ep = side.accept_next();
            channel.meet();
            succeed(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
            channel.meet();
        });
        Side side;
        const Collected collected(side, true);
        Buffer buffer(side);
        DAT_LMR_TRIPLET all = buffer.all();
        const DAT_EP_HANDLE ep = side.endpoint();
        child.channel().meet();
        for (int i = 0; i < receives; ++i)
            succeed(dat_ep_post_recv(ep, 1, &all, {}, DAT_COMPLETION_DEFAULT_FLAG), "receive");
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        collected.take_until(DAT_CONNECTION_EVENT_ESTABLISHED);
        child.channel().meet();
        if (receives > 0) collected.take_until(DAT_DTO_COMPLETION_EVENT);
        collected.take_until(DAT_CONNECTION_EVENT_DISCONNECTED);
        collected.expect_quiet();
        child.channel().meet();
        EXPECT_EQ(child.wait(), 0);
    }
}

TEST_F(Cno, EachTransferIsHeardOf) {
    Side side;
    Loop loop(side);
    const Collected collected(side, true);
    for (int round = 0; round < scaled(200); ++round) {
        loop.transfer();
        for (int taken = 0; taken < 2;) {
            const DAT_EVD_HANDLE evd = collected.triggered();
            DAT_EVENT event{};
            while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) ++taken;
        }
    }
    collected.expect_quiet();
}

class Triggers : public Cno {
  protected:
    Triggers() : collected(side, false), a(make()), b(make()) {}
    DAT_EVD_HANDLE make() {
        const DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
        collected.attach(evd);
        return evd;
    }
    Side side;
    Collected collected;
    DAT_EVD_HANDLE a, b;
};

TEST_F(Triggers, OfAnEvdThatHasBeenDrainedDoesNotHideAnother) {
    post(a);
    post(b);
    Side::drain(a);
    EXPECT_EQ(collected.triggered(), b);
    collected.expect_quiet();
    post(a);
    EXPECT_EQ(collected.triggered(), a) << "it triggers again";
}

TEST_F(Triggers, OfAnEvdThatIsFreedGoWithIt) {
    post(a);
    post(b);
    succeed(dat_evd_free(a), "dat_evd_free");
    EXPECT_EQ(collected.triggered(), b);
    collected.expect_quiet();
}

TEST_F(Triggers, ThatNobodyTookMoveWithTheEvd) {
    post(a);
    const Collected other(side, false);
    succeed(dat_evd_modify_cno(a, other.cno), "dat_evd_modify_cno");
    EXPECT_EQ(other.triggered(), a);
    collected.expect_quiet();
    Side::drain(a);
    other.expect_quiet();
}

TEST_F(Triggers, AreNotLostWhileTheEvdMovesBetweenTwo) {
    const Collected other(side, false);
    std::atomic<bool> finish{false};
    Thread mover([&] {
        for (bool there = true; !finish; there = !there)
            succeed(dat_evd_modify_cno(a, there ? other.cno : collected.cno), "dat_evd_modify_cno");
    });
    for (int round = 0; round < scaled(500); ++round) {
        post(a);
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        const bool heard = eventually([&] {
            return dat_cno_wait(collected.cno, 0, &evd) == DAT_SUCCESS ||
                   dat_cno_wait(other.cno, 0, &evd) == DAT_SUCCESS;
        });
        EXPECT_TRUE(heard);
        if (!heard) break;
        EXPECT_EQ(evd, a);
        Side::drain(a);
    }
    finish = true;
    mover.join();
}

TEST_F(Triggers, ThatNobodyTookDoNotKeepAnAgentFromBeingCalled) {
    DAT_EVD_HANDLE called_for = DAT_HANDLE_NULL;
    NotificationObject notified(side, [&](DAT_EVD_HANDLE evd) { called_for = evd; });
    notified.attach(a);
    notified.attach(b);
    post(a);
    EXPECT_EQ(called_for, a);
    Side::drain(a);
    succeed(dat_cno_modify_agent(notified.cno, notified.agent()), "dat_cno_modify_agent");
    post(b);
    EXPECT_EQ(notified.calls, 2);
    EXPECT_EQ(called_for, b);
}

/// Whether poll() reports the descriptor readable.
bool is_ready(DAT_FD descriptor) {
    pollfd polled{descriptor, POLLIN, 0};
    return poll(&polled, 1, 0) == 1 && polled.revents == POLLIN;
}

class DescriptorTest : public Cno {
  protected:
    DescriptorTest() {
        succeed(dat_cno_fd_create(side.ia, &descriptor, &cno), "dat_cno_fd_create");
        succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd), "dat_evd_create");
    }
    Side side;
    DAT_FD descriptor = -1;
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE triggered = DAT_HANDLE_NULL;
};

TEST_F(DescriptorTest, IsReadyFromATriggerOnUntilThatIsTaken) {
    EXPECT_FALSE(is_ready(descriptor));
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), kEmpty);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(post(evd), DAT_SUCCESS);
        EXPECT_EQ(post(evd), DAT_SUCCESS) << "merges";
        EXPECT_TRUE(is_ready(descriptor));
        if (round % 2 == 0)
            EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
        else
            EXPECT_EQ(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &triggered), DAT_SUCCESS);
        EXPECT_EQ(triggered, evd);
        EXPECT_FALSE(is_ready(descriptor));
        EXPECT_EQ(dat_cno_trigger(cno, &triggered), kEmpty);
        EXPECT_EQ(triggered, DAT_HANDLE_NULL);
    }
}

TEST_F(DescriptorTest, StaysReadyUntilEachEvdThatTriggeredHasBeenNamed) {
    DAT_EVD_HANDLE second = DAT_HANDLE_NULL;
    succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &second), "dat_evd_create");
    post(evd);
    post(second);
    for (const DAT_EVD_HANDLE expected : {evd, second}) {
        EXPECT_TRUE(is_ready(descriptor));
        EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
        EXPECT_EQ(triggered, expected);
    }
    EXPECT_FALSE(is_ready(descriptor));
}

TEST_F(DescriptorTest, WakesAPollForConnectionsAndCompletions) {
    succeed(dat_evd_modify_cno(side.requests, cno), "dat_evd_modify_cno");
    side.listen(kQualifier);
    const DAT_EP_HANDLE active = side.endpoint();
    const DAT_EP_HANDLE passive = side.endpoint();
    succeed(Side::connect(active, kQualifier), "dat_ep_connect");
    ASSERT_TRUE(is_readable(descriptor));
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
    EXPECT_EQ(triggered, side.requests);
    succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    succeed(dat_evd_modify_cno(side.receives, cno), "dat_evd_modify_cno");
    Buffer buffer(side);
    DAT_LMR_TRIPLET all = buffer.all();
    for (int round = 0; round < 100; ++round) {
        succeed(dat_ep_post_recv(passive, 1, &all, {}, DAT_COMPLETION_DEFAULT_FLAG), "receive");
        succeed(dat_ep_post_send(active, 1, &all, {}, DAT_COMPLETION_DEFAULT_FLAG), "send");
        ASSERT_TRUE(is_readable(descriptor));
        EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
        EXPECT_EQ(triggered, side.receives);
        Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
        Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    }
}

TEST_F(DescriptorTest, IsReadyWhenTheLastEvdIsGoneAndGoesWithTheNotificationObject) {
    EXPECT_EQ(dat_cno_free(cno),
              DAT_RETURN{DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_CNO_IN_USE});
    EXPECT_EQ(dat_evd_free(evd), DAT_SUCCESS);
    EXPECT_TRUE(is_ready(descriptor));
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
    EXPECT_EQ(triggered, DAT_HANDLE_NULL);
    EXPECT_EQ(dat_cno_free(cno), DAT_SUCCESS);
    pollfd polled{descriptor, POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 0), 1);
    EXPECT_EQ(polled.revents, POLLNVAL);
}

TEST_F(DescriptorTest, IsToldByAQueryAndExcludesAnAgent) {
    DAT_CNO_PARAM parameters{};
    EXPECT_EQ(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.proxy_type, DAT_PROXY_TYPE_FD);
    EXPECT_EQ(parameters.proxy.fd, descriptor);
    EXPECT_EQ(parameters.ia_handle, side.ia);
    EXPECT_EQ(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), 0x80060025u);
}

TEST_F(DescriptorTest, ArgumentsAreChecked) {
    EXPECT_EQ(dat_cno_fd_create(DAT_HANDLE_NULL, &descriptor, &cno), 0x8005000Bu);
    EXPECT_EQ(dat_cno_fd_create(side.ia, nullptr, &cno), 0x80060026u);
    EXPECT_EQ(dat_cno_fd_create(side.ia, &descriptor, nullptr), 0x80060027u);
    EXPECT_EQ(dat_cno_trigger(DAT_HANDLE_NULL, &triggered), 0x80050013u);
    EXPECT_EQ(dat_cno_trigger(evd, &triggered), 0x80050013u);
    EXPECT_EQ(dat_cno_trigger(cno, nullptr), 0x80060026u);
}

TEST_F(DescriptorTest, ThatCannotBeHadIsAnErrorWhichNamesTheLimit) {
    if (test::kAddressSanitizer)
        GTEST_SKIP() << "the sanitizer looks at objects through a pipe, which needs descriptors";
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    const std::string said = captured_stderr([&] {
        const rlimit none{1, old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
        DAT_FD no_descriptor = -1;
        DAT_CNO_HANDLE no_cno = DAT_HANDLE_NULL;
        const DAT_RETURN code = dat_cno_fd_create(side.ia, &no_descriptor, &no_cno);
        setrlimit(RLIMIT_NOFILE, &old);
        EXPECT_EQ(code, DAT_RETURN{DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES});
        EXPECT_EQ(no_descriptor, -1);
        EXPECT_EQ(no_cno, DAT_HANDLE_NULL);
    });
    EXPECT_NE(said.find("DAT103"), std::string::npos) << said;
    EXPECT_NE(said.find("RLIMIT_NOFILE, which is 1"), std::string::npos) << said;
}

TEST_F(Cno, ATriggerOfAnObjectWithoutADescriptorIsTakenWithoutWaitingToo) {
    Side side;
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd, triggered;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    succeed(dat_evd_create(side.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd), "dat_evd_create");
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), kEmpty);
    EXPECT_EQ(post(evd), DAT_SUCCESS);
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), DAT_SUCCESS);
    EXPECT_EQ(triggered, evd);
    EXPECT_EQ(dat_cno_trigger(cno, &triggered), kEmpty);
}

}  // namespace
