// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Moderation of completion queues: ibv_modify_cq holds the events of completion channels.
#include <signal.h>
#include <sys/syscall.h>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "test/softverbs/completion_events.hpp"

namespace test {
namespace {

constexpr std::uint16_t kLongest = UINT16_MAX;
constexpr std::uint16_t kShort = 500;  ///< us

void moderate(ibv_cq* cq, std::uint16_t count, std::uint16_t period) {
    ibv_modify_cq_attr wish{IBV_CQ_ATTR_MODERATE, {count, period}};
    require(ibv_modify_cq(cq, &wish) == 0, "the moderation is set");
}

class Moderation : public testing::Test {
  protected:
    void moderate(std::uint16_t count, std::uint16_t period) {
        test::moderate(loop_.host.cq, count, period);
    }
    void arm(int solicited_only = 0) {
        require(ibv_req_notify_cq(loop_.host.cq, solicited_only) == 0, "armed");
    }
    void transfer(int count = 1, unsigned flags = 0) {
        for (int i = 0; i < count; ++i) loop_.transfer(flags);
    }
    int events() { return take_events(loop_.host); }
    bool event_comes() { return is_readable(loop_.host.channel->fd) && events() == 1; }
    int polled() {
        ibv_wc wc[64];
        return ibv_poll_cq(loop_.host.cq, 64, wc);
    }
    TemporaryFabric fabric_;
    Loopback loop_;
};

TEST_F(Moderation, ACountHoldsTheEventUntilThatManyCompletions) {
    moderate(4, 0);
    for (int round = 0; round < 3; ++round) {
        arm();
        transfer(3);
        EXPECT_EQ(events(), 0);
        EXPECT_EQ(polled(), 3) << "completions are in the queue at once";
        transfer();
        EXPECT_EQ(events(), 1);
        EXPECT_EQ(polled(), 1);
    }
    transfer(9);
    EXPECT_EQ(events(), 0) << "the queue is not armed";
}

TEST_F(Moderation, CompletionsOfOwnRequestsCountToo) {
    moderate(3, 0);
    arm();
    transfer(1, IBV_SEND_SIGNALED);
    EXPECT_EQ(events(), 0);
    transfer();
    EXPECT_EQ(events(), 1);
}

TEST_F(Moderation, APeriodBeginsWithTheFirstCompletion) {
    moderate(0, kLongest);
    for (int round = 0; round < 2; ++round) {
        arm();
        const auto begin = Clock::now();
        transfer(8);
        EXPECT_TRUE(event_comes());
        EXPECT_GE(Clock::now() - begin, std::chrono::microseconds(kLongest));
        EXPECT_EQ(polled(), 8);
        EXPECT_EQ(events(), 0) << "one event for all";
    }
}

TEST_F(Moderation, TheFirstLimitThatIsReachedEndsTheHold) {
    moderate(3, kShort);
    arm();
    transfer();
    EXPECT_TRUE(event_comes()) << "the period ends";
    EXPECT_EQ(polled(), 1);
    moderate(3, kLongest);
    arm();
    transfer(3);
    EXPECT_EQ(events(), 1) << "the count is reached";
    EXPECT_EQ(polled(), 3);
}

/// A program that polls without waiting for the event arms again; what was held is not there.
TEST_F(Moderation, ARequestCountsTheCompletionsThatWait) {
    moderate(3, 0);
    transfer(2);
    arm();
    EXPECT_EQ(events(), 0);
    arm();
    EXPECT_EQ(events(), 0) << "each counts once";
    EXPECT_EQ(polled(), 2);
    arm();
    transfer(2);
    EXPECT_EQ(events(), 0);
    transfer();
    EXPECT_EQ(events(), 1);
    arm();
    EXPECT_EQ(events(), 1) << "three wait";
}

TEST_F(Moderation, EachRequestHasAPeriodOfItsOwn) {
    moderate(0, kLongest);
    arm();
    transfer();
    EXPECT_EQ(polled(), 1);
    arm();  // without an event: the first period is over
    EXPECT_EQ(events(), 0);
    const auto begin = Clock::now();
    transfer();
    EXPECT_TRUE(event_comes());
    EXPECT_GE(Clock::now() - begin, std::chrono::microseconds(kLongest));
}

TEST_F(Moderation, SolicitedCompletionsAndErrorsAreNotHeld) {
    moderate(100, 0);
    arm();
    transfer(2);
    EXPECT_EQ(events(), 0);
    transfer(1, IBV_SEND_SOLICITED);
    EXPECT_EQ(events(), 1);
    EXPECT_EQ(polled(), 3);
    arm(1);
    transfer();
    EXPECT_EQ(events(), 0);
    transfer(1, IBV_SEND_SOLICITED);
    EXPECT_EQ(events(), 1) << "a request for solicited completions alone";
    EXPECT_EQ(polled(), 2);
    arm();
    ASSERT_EQ(loop_.qp.post_receive(5, {loop_.host.sge(0, 8)}), 0);
    ASSERT_EQ(loop_.qp.to_error(), 0);
    EXPECT_EQ(events(), 1) << "a flushed receive";
}

TEST_F(Moderation, ARequestThatStandsFollowsNewLimits) {
    arm();
    moderate(3, 0);
    transfer(2);
    EXPECT_EQ(events(), 0) << "armed before it was moderated";
    moderate(2, 0);
    EXPECT_EQ(events(), 1) << "the new limit is reached";
    moderate(100, 0);
    EXPECT_EQ(polled(), 2);
    arm();
    transfer();
    moderate(100, kShort);
    EXPECT_TRUE(event_comes()) << "the completion that waits begins a period";
    arm();
    EXPECT_TRUE(event_comes()) << "and so it does for each request";
}

TEST_F(Moderation, NoneIsAsBefore) {
    moderate(100, 0);
    arm();
    transfer();
    EXPECT_EQ(events(), 0);
    moderate(0, 0);
    EXPECT_EQ(events(), 1) << "nothing is held any more";
    EXPECT_EQ(polled(), 1);
    for (const std::uint16_t count : {0, 1}) {
        moderate(count, count == 0 ? 0 : kLongest);
        arm();
        transfer();
        EXPECT_EQ(events(), 1) << "an event for each completion";
        EXPECT_EQ(polled(), 1);
    }
}

TEST_F(Moderation, LimitsAndRefusals) {
    ibv_device_attr_ex attributes{};
    ASSERT_EQ(ibv_query_device_ex(loop_.host.context, nullptr, &attributes), 0);
    EXPECT_EQ(attributes.cq_mod_caps.max_cq_count, kLongest);
    EXPECT_EQ(attributes.cq_mod_caps.max_cq_period, kLongest);
    ibv_modify_cq_attr wish{0, {2, 0}};
    EXPECT_EQ(ibv_modify_cq(loop_.host.cq, &wish), EINVAL);
    wish.attr_mask = IBV_CQ_ATTR_MODERATE | IBV_CQ_ATTR_RESERVED;
    EXPECT_EQ(ibv_modify_cq(loop_.host.cq, &wish), EOPNOTSUPP);
    arm();
    transfer();
    EXPECT_EQ(events(), 1) << "nothing has changed";
}

TEST_F(Moderation, AResizeLosesNoEvent) {
    moderate(4, 0);
    arm();
    transfer(3);
    ASSERT_EQ(ibv_resize_cq(loop_.host.cq, 4096), 0);
    EXPECT_EQ(events(), 0) << "none counts twice";
    transfer();
    EXPECT_EQ(events(), 1);
    EXPECT_EQ(polled(), 4);
}

/// Starts a process before it opens the device.
class ModerationOfTwo : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

/// Receives `count` messages and sleeps whenever there are none. @return how often it was woken.
int receive_asleep(Host& host, int count) {
    int events = 0;
    for (int received = 0; received < count;) {
        require(ibv_req_notify_cq(host.cq, 0) == 0, "armed");
        ibv_wc wc[16];
        const int found = ibv_poll_cq(host.cq, 16, wc);
        received += found;
        if (found != 0) continue;
        require(is_readable(host.channel->fd), "a wake-up comes");
        events += take_events(host);
    }
    return events;
}

void send_all(Host& host, Qp& qp, int count) {
    for (int i = 0; i < count; ++i) {
        require(qp.send(1, {host.sge(0, 8)}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    }
}

/// The number of messages is no multiple of the count: the period ends the last hold.
TEST_F(ModerationOfTwo, NoWakeUpIsLostBetweenTwoProcesses) {
    const int count = scaled(5000) / 16 * 16 + 3;
    Child child([count](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        send_all(host, qp, count);
        channel.meet();
    });
    Options options = with_channel();
    options.depth = static_cast<std::uint32_t>(count);
    options.cq_entries = count;
    Host host(options);
    moderate(host.cq, 16, kShort);
    Qp qp(host);
    for (int i = 0; i < count; ++i) ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
    qp.connect(child.channel());
    EXPECT_LE(receive_asleep(host, count), count);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

/// Each of many messages comes alone, so that each waits for the end of a period.
TEST_F(ModerationOfTwo, EachMessageThatComesAloneWakesAfterThePeriod) {
    const int count = scaled(100);
    Child child([count](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        for (int i = 0; i < count; ++i) {
            send_all(host, qp, 1);
            channel.meet();
        }
    });
    Options options = with_channel();
    Host host(options);
    moderate(host.cq, 0, 1);
    Qp qp(host);
    qp.post_receive(1, {host.sge(0, 8)});
    qp.connect(child.channel());
    for (int i = 0; i < count; ++i) {
        receive_asleep(host, 1);
        ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
        child.channel().meet();
    }
    EXPECT_EQ(child.wait(), 0);
}

void die_while_an_event_is_held(softverbs::FaultPoint point) {
    if (point == softverbs::FaultPoint::kEventHeld)
        syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
}

TEST_F(ModerationOfTwo, APeriodThatADeadSenderBeganEnds) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        softverbs::at_fault_point = &die_while_an_event_is_held;
        qp.send(1, {host.sge(0, 8)});
    });
    Host host(with_channel());
    moderate(host.cq, 100, kShort);
    Qp qp(host);
    ASSERT_EQ(qp.post_receive(7, {host.sge(0, 8)}), 0);
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
    qp.connect(child.channel());
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
    EXPECT_TRUE(is_readable(host.channel->fd));
    EXPECT_EQ(take_events(host), 1);
    const ibv_wc wc = host.wait();
    EXPECT_EQ(wc.wr_id, 7u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace test
