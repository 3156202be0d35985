// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues.
#include <poll.h>

#include <set>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsSharedReceive : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsSharedReceive);

ibv_async_event next_event(ibv_context* context) {
    pollfd descriptor{context->async_fd, POLLIN, 0};
    require(poll(&descriptor, 1, 30000) == 1, "an asynchronous event comes");
    ibv_async_event event;
    require(ibv_get_async_event(context, &event) == 0, "it can be fetched");
    ibv_ack_async_event(&event);
    return event;
}

void send_numbered(Channel& channel, int count) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    for (int i = 0; i < count; ++i) {
        const std::uint32_t length = i % 2 ? 8 : 600;
        std::memcpy(host.buffer.data(), &i, sizeof i);
        require(qp.send(1, {host.sge(0, length)}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    }
    channel.meet();
}

TEST_P(VerbsSharedReceive, TwoRequestersShareItsReceivesAndEachKeepsItsOrder) {
    const int count = scaled(3000);
    Child first([count](Channel& channel) { send_numbered(channel, count); });
    Child second([count](Channel& channel) { send_numbered(channel, count); });
    Options options;
    options.shared_receives = true;
    options.depth = 32;
    Host host(options);
    Qp one(host);
    Qp two(host);
    for (std::uint64_t i = 0; i < 32; ++i)
        ASSERT_EQ(one.post_receive(i, {host.sge(i * 1024, 1024)}), 0);
    EXPECT_EQ(one.post_receive(32, {host.sge(0, 1024)}), ENOMEM);
    one.connect(first.channel());
    two.connect(second.channel());
    int next[2] = {0, 0};
    for (int received = 0; received < 2 * count; ++received) {
        const ibv_wc wc = host.wait();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        int& expected = next[wc.qp_num == two.get()->qp_num];
        int number = -1;
        std::memcpy(&number, &host.buffer[wc.wr_id * 1024], sizeof number);
        ASSERT_EQ(number, expected++);
        ASSERT_EQ(wc.byte_len, number % 2 ? 8u : 600u);
        ASSERT_EQ(one.post_receive(wc.wr_id, {host.sge(wc.wr_id * 1024, 1024)}), 0);
    }
    first.channel().meet();
    second.channel().meet();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

TEST_P(VerbsSharedReceive, TheLimitIsToldOnceAndTheLastReceiveOfABrokenQueuePairToo) {
    Child child([](Channel& channel) {
        Host host;
        Qp qp(host);
        qp.connect(channel);
        channel.receive<char>();
        for (int i = 0; i < 6; ++i) qp.send(1, {host.sge(0, 8)});
        channel.meet();
    });
    Options options;
    options.shared_receives = true;
    Host host(options);
    Qp qp(host);
    for (std::uint64_t i = 0; i < 10; ++i) qp.post_receive(i, {host.sge(0, 8)});
    ibv_srq_attr attributes{};
    attributes.srq_limit = 5;
    ASSERT_EQ(ibv_modify_srq(host.srq, &attributes, IBV_SRQ_LIMIT), 0);
    ASSERT_EQ(ibv_query_srq(host.srq, &attributes), 0);
    EXPECT_EQ(attributes.srq_limit, 5u);
    qp.connect(child.channel());
    child.channel().send('g');
    const ibv_async_event limit = next_event(host.context);
    EXPECT_EQ(limit.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(limit.element.srq, host.srq);
    ASSERT_EQ(ibv_query_srq(host.srq, &attributes), 0);
    EXPECT_EQ(attributes.srq_limit, 0u);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(host.wait().status, IBV_WC_SUCCESS);
    child.channel().meet();
    qp.to_error();
    const ibv_async_event last = next_event(host.context);
    EXPECT_EQ(last.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    EXPECT_EQ(last.element.qp, qp.get());
    EXPECT_TRUE(host.is_empty()) << "what nobody took stays in the shared queue";
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
