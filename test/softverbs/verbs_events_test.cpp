// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completion channels and what happens when a completion queue is too small.
#include <fcntl.h>
#include <poll.h>

#include "test/softverbs/completion_events.hpp"

namespace test {
namespace {

class VerbsEvents : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsEvents);

/// Answers each message with one and sleeps in between. Completions of sends may come at any time.
void bounce(Host& host, Qp& qp, int rounds, bool begins) {
    int sent = 0;
    const auto send = [&] {
        const unsigned flags = sent++ % 64 ? 0 : IBV_SEND_SIGNALED;
        require(qp.send(2, {host.sge(0, 8)}, flags) == 0, "posted");
    };
    if (begins) send();
    for (int received = 0; received < rounds;) {
        const ibv_wc wc = sleep_for_completion(host);
        require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
        if (wc.opcode != IBV_WC_RECV) continue;
        ++received;
        require(qp.post_receive(1, {host.sge(0, 8)}) == 0, "receive posted");
        if (sent < rounds) send();
    }
}

TEST_P(VerbsEvents, NoWakeUpIsLostBetweenTwoSleepers) {
    const int rounds = scaled(50000);
    Child child([rounds](Channel& channel) {
        Host host(with_channel());
        Qp qp(host);
        for (int i = 0; i < 4; ++i) qp.post_receive(1, {host.sge(0, 8)});
        qp.connect(channel);
        bounce(host, qp, rounds, false);
        channel.meet();
    });
    Host host(with_channel());
    Qp qp(host);
    for (int i = 0; i < 4; ++i) qp.post_receive(1, {host.sge(0, 8)});
    qp.connect(child.channel());
    bounce(host, qp, rounds, true);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsEvents, ASolicitedOnlyQueueSleepsThroughOtherMessages) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        qp.send(1, {host.sge(0, 8)});
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.meet();
        channel.meet();  // the other side has seen no event
        qp.send(1, {host.sge(0, 8)}, IBV_SEND_SOLICITED | IBV_SEND_SIGNALED);
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.meet();
    });
    Host host(with_channel());
    Qp qp(host);
    qp.post_receive(1, {host.sge(0, 8)});
    qp.post_receive(2, {host.sge(0, 8)});
    fcntl(host.channel->fd, F_SETFL, O_NONBLOCK);
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 1), 0);
    qp.connect(child.channel());
    child.channel().meet();
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(host.channel, &cq, &cq_context), -1);
    EXPECT_EQ(errno, EAGAIN);
    child.channel().meet();
    child.channel().meet();
    EXPECT_TRUE(eventually([&] { return ibv_get_cq_event(host.channel, &cq, &cq_context) == 0; }));
    ibv_ack_cq_events(cq, 1);
    EXPECT_EQ(host.wait().wr_id, 1u);
    EXPECT_EQ(host.wait().wr_id, 2u);
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsEvents, ARequestRaisesOneEventAtOnceForAReceiveThatWaits) {
    Loopback loop;
    loop.transfer();
    EXPECT_EQ(take_events(loop.host), 0);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 0), 0);
        EXPECT_EQ(take_events(loop.host), 1);
        EXPECT_EQ(take_events(loop.host), 0);
    }
    EXPECT_EQ(loop.host.wait().wr_id, 1u);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 0), 0);
    EXPECT_EQ(take_events(loop.host), 0) << "the queue is empty";
    loop.transfer();
    EXPECT_EQ(take_events(loop.host), 1);
}

TEST_P(VerbsEvents, ARequestRaisesOneEventAtOnceForASendThatWaits) {
    Loopback loop;
    loop.transfer(IBV_SEND_SIGNALED);
    ibv_wc wc[2];
    ASSERT_EQ(ibv_poll_cq(loop.host.cq, 2, wc), 2);
    // A write of no bytes, which no agent has to copy, is complete on return.
    const std::uint32_t rkey = loop.host.mr->rkey;
    ASSERT_EQ(loop.qp.rdma(3, IBV_WR_RDMA_WRITE, {}, loop.host.address(), rkey), 0);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 0), 0);
    EXPECT_EQ(take_events(loop.host), 1);
    EXPECT_EQ(loop.host.wait().wr_id, 3u);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 0), 0);
    EXPECT_EQ(take_events(loop.host), 0) << "the queue is empty";
}

TEST_P(VerbsEvents, ARequestForASolicitedCompletionRaisesAnEventAtOnceForSuchAOneOnly) {
    Loopback loop;
    loop.transfer(IBV_SEND_SIGNALED);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 1), 0);
    EXPECT_EQ(take_events(loop.host), 0);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 0), 0);
    EXPECT_EQ(take_events(loop.host), 1) << "the stronger request counts";
    loop.transfer(IBV_SEND_SOLICITED);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 1), 0);
    EXPECT_EQ(take_events(loop.host), 1) << "it waits behind others";
    ibv_wc wc[4];
    ASSERT_EQ(ibv_poll_cq(loop.host.cq, 4, wc), 3);
    ASSERT_EQ(loop.qp.post_receive(5, {loop.host.sge(0, 8)}), 0);
    ASSERT_EQ(loop.qp.to_error(), 0);
    ASSERT_EQ(ibv_req_notify_cq(loop.host.cq, 1), 0);
    EXPECT_EQ(take_events(loop.host), 1) << "an error";
}

/// Polls one completion for each event, as some programs do.
void take_one_for_each_event(Host& host, int count) {
    require(ibv_req_notify_cq(host.cq, 0) == 0, "armed");
    for (int taken = 0; taken < count;) {
        require(is_readable(host.channel->fd), "an event comes");
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        require(ibv_get_cq_event(host.channel, &cq, &cq_context) == 0, "the event is there");
        ibv_ack_cq_events(cq, 1);
        require(ibv_req_notify_cq(host.cq, 0) == 0, "armed");
        ibv_wc wc;
        taken += ibv_poll_cq(host.cq, 1, &wc);
    }
}

TEST_P(VerbsEvents, AProgramThatTakesOneCompletionForEachEventGetsThemAll) {
    const int count = scaled(2000);
    constexpr int kSenders = 2;
    const auto send = [count](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        for (int i = 0; i < count; ++i) {
            require(qp.send(1, {host.sge(0, 8)}) == 0, "posted");
            require(host.wait().status == IBV_WC_SUCCESS, "sent");
        }
        channel.meet();
    };
    Child first(send), second(send);
    Child* const senders[kSenders] = {&first, &second};
    Options options = with_channel();
    options.depth = static_cast<std::uint32_t>(count);
    options.cq_entries = kSenders * count;
    Host host(options);
    Qp one(host), two(host);
    for (int i = 0; i < count; ++i)
        for (Qp* qp : {&one, &two}) ASSERT_EQ(qp->post_receive(1, {host.sge(0, 8)}), 0);
    one.connect(first.channel());
    two.connect(second.channel());
    take_one_for_each_event(host, kSenders * count);
    EXPECT_TRUE(host.is_empty());
    for (Child* sender : senders) {
        sender->channel().meet();
        EXPECT_EQ(sender->wait(), 0);
    }
}

/// Raises an event of the queue, by a receive that is flushed.
void raise_event(Host& host, ibv_cq* cq) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {4, 4, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(host.pd, &attributes);
    require(qp != nullptr, "a queue pair is made");
    ibv_req_notify_cq(cq, 0);
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    require(ibv_post_recv(qp, &wr, &bad) == 0, "receive posted");
    to.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &to, IBV_QP_STATE);
    ibv_destroy_qp(qp);
}

TEST_P(VerbsEvents, DestroyingAQueueWaitsForItsAcknowledgements) {
    Host host;
    ibv_comp_channel* channel = ibv_create_comp_channel(host.context);
    ibv_cq* cq = ibv_create_cq(host.context, 10, nullptr, channel, 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    raise_event(host, cq);
    ibv_cq* found = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &found, &cq_context), 0);
    EXPECT_EQ(found, cq);
    std::atomic<bool> destroyed{false};
    Thread destroyer([&] {
        ibv_destroy_cq(cq);
        destroyed = true;
    });
    EXPECT_FALSE(eventually([&] { return destroyed.load(); }, 50ms));
    ibv_ack_cq_events(found, 1);
    destroyer.join();
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

/// gloo takes an event whenever the descriptor is readable, and aborts if there is none.
TEST_P(VerbsEvents, WhoFindsTheDescriptorReadableGetsAnEventEvenIfTheQueueThatRaisedItIsGone) {
    Host host(with_channel());
    ASSERT_EQ(fcntl(host.channel->fd, F_SETFL, O_NONBLOCK), 0);
    ibv_cq* gone = ibv_create_cq(host.context, 10, nullptr, host.channel, 0);
    raise_event(host, gone);
    ASSERT_EQ(ibv_destroy_cq(gone), 0);
    ibv_cq* found = nullptr;
    void* cq_context = nullptr;
    pollfd readable{host.channel->fd, POLLIN, 0};
    for (; poll(&readable, 1, 0) == 1; ibv_ack_cq_events(found, 1)) {
        ASSERT_EQ(ibv_get_cq_event(host.channel, &found, &cq_context), 0);
        EXPECT_EQ(found, host.cq);
    }
    EXPECT_EQ(take_events(host), 0) << "it is not readable";
    raise_event(host, host.cq);
    EXPECT_EQ(take_events(host), 1) << "a queue that gave an event early gives its own too";
}

/// The last queue took its events with it.
TEST_P(VerbsEvents, ChannelWithoutQueuesHasNoEvent) {
    Host host;
    ibv_comp_channel* channel = ibv_create_comp_channel(host.context);
    ASSERT_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    ibv_cq* gone = ibv_create_cq(host.context, 10, nullptr, channel, 0);
    raise_event(host, gone);
    ASSERT_EQ(ibv_destroy_cq(gone), 0);
    ibv_cq* found = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &found, &cq_context), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_P(VerbsEvents, AnOverrunIsToldAndBreaksTheQueuePairsButNothingElse) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        for (int i = 0; i < 40; ++i) qp.send(1, {host.sge(0, 8)});
        channel.meet();
    });
    Options options;
    options.cq_entries = 16;
    Host host(options);
    Qp qp(host);
    for (std::uint64_t i = 0; i < 40; ++i) qp.post_receive(i, {host.sge(0, 8)});
    qp.connect(child.channel());
    child.channel().meet();
    ASSERT_TRUE(is_readable(host.context->async_fd));
    ibv_async_event event;
    ASSERT_EQ(ibv_get_async_event(host.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
    EXPECT_EQ(event.element.cq, host.cq);
    ibv_ack_async_event(&event);
    EXPECT_TRUE(eventually([&] { return qp.state() == IBV_QPS_ERR; }));
    for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(host.wait().wr_id, i);
    EXPECT_EQ(child.wait(), 0);
}

/// A queue pair that only receives so far is told of its first message, once: until then it may not
/// know that its peer has connected.
TEST_P(VerbsEvents, TheFirstMessageOfAConnectionIsToldToAQueuePairThatDoesNotSendYet) {
    Host here, there;
    fcntl(there.context->async_fd, F_SETFL, O_NONBLOCK);
    ibv_async_event event;
    for (const bool sends : {false, true}) {
        Qp one(here), other(there);
        for (int i = 0; i < 2; ++i) ASSERT_EQ(other.post_receive(1, {there.sge(0, 64)}), 0);
        one.connect(other.address());
        ASSERT_EQ(other.ready_to_receive(one.address()), 0);
        if (sends) {
            ASSERT_EQ(other.ready_to_send(), 0);
        }
        for (int i = 0; i < 2; ++i) {
            ASSERT_EQ(one.send(2, {here.sge(0, 8)}), 0);
            EXPECT_EQ(here.wait().status, IBV_WC_SUCCESS);
            EXPECT_EQ(there.wait().status, IBV_WC_SUCCESS);
        }
        if (!sends) {
            ASSERT_TRUE(is_readable(there.context->async_fd));
            ASSERT_EQ(ibv_get_async_event(there.context, &event), 0);
            EXPECT_EQ(event.event_type, IBV_EVENT_COMM_EST);
            EXPECT_EQ(event.element.qp, other.get());
            ibv_ack_async_event(&event);
            ASSERT_EQ(other.ready_to_send(), 0);
        }
        EXPECT_EQ(ibv_get_async_event(there.context, &event), -1);
    }
}

TEST_P(VerbsEvents, ADrainedSendQueueIsToldWhenWhatHadBegunHasEnded) {
    constexpr std::uint32_t kLength = 3 << 20;
    Child child([](Channel& channel) {
        Host host;
        fill(host.buffer.data(), kLength, 4);
        Qp qp(host);
        qp.connect(channel);
        channel.meet();
    });
    Host host;
    Qp qp(host);
    const Address peer = qp.connect(child.channel());
    ASSERT_EQ(qp.rdma(1, IBV_WR_RDMA_READ, {host.sge(0, kLength)}, peer.address, peer.rkey), 0);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_SQD;
    attributes.en_sqd_async_notify = 1;
    const int mask = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
    ASSERT_EQ(ibv_modify_qp(qp.get(), &attributes, mask), 0);
    // A request that is posted now waits until the send queue resumes.
    ASSERT_EQ(qp.rdma(2, IBV_WR_RDMA_READ, {host.sge(0, 8)}, peer.address, peer.rkey), 0);
    ASSERT_TRUE(is_readable(host.context->async_fd));
    ibv_async_event event;
    ASSERT_EQ(ibv_get_async_event(host.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
    EXPECT_EQ(event.element.qp, qp.get());
    ibv_ack_async_event(&event);
    ibv_wc wc;
    ASSERT_EQ(ibv_poll_cq(host.cq, 1, &wc), 1) << "it has ended before the event";
    EXPECT_EQ(wc.wr_id, 1u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_TRUE(holds(host.buffer.data(), kLength, 4));
    EXPECT_TRUE(host.is_empty());
    EXPECT_FALSE(is_readable(host.context->async_fd, 0s)) << "told once";
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), 0);
    EXPECT_EQ(host.wait().wr_id, 2u);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
