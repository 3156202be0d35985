// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Timestamps of completions: of the moment at which a completion is made, however late it is
/// polled. All ends read one clock, so that each stamp must lie between two readings of it.
#include <fcntl.h>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsTimestamps : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsTimestamps);

constexpr std::uint64_t kStamps =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
/// Short messages travel in the queues, together with the stamp.
constexpr std::uint32_t kLengths[] = {0, 1, 8, 23, 24, 25, 31, 32, 33, 100, 176, 177, 5000};
constexpr std::size_t kSlot = 8192;

std::uint64_t mask_of(ibv_context* context) {
    ibv_device_attr_ex attributes{};
    require(ibv_query_device_ex(context, nullptr, &attributes) == 0, "it answers");
    require(attributes.hca_core_clock == 1000000, "its clock counts nanoseconds");
    return attributes.completion_timestamp_mask;
}

std::uint64_t clock_now(ibv_context* context) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    require(ibv_query_rt_values_ex(context, &values) == 0, "it answers");
    return static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1000000000 +
           static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
}

/// A host whose completion queue has timestamps.
struct StampedHost : Host {
    explicit StampedHost(const Options& options = {}) : Host(options) {
        ibv_destroy_cq(cq);
        ibv_cq_init_attr_ex attributes{};
        attributes.cqe = static_cast<std::uint32_t>(options.cq_entries);
        attributes.channel = channel;
        attributes.wc_flags = IBV_WC_STANDARD_FLAGS | kStamps;
        ex = ibv_create_cq_ex(context, &attributes);
        require(ex != nullptr, "a queue with timestamps is made");
        cq = ibv_cq_ex_to_cq(ex);
    }
    /// Waits for the completion of a request. @return its stamp.
    std::uint64_t take(std::uint64_t id) {
        ibv_poll_cq_attr attributes{};
        const auto end = Clock::now() + kDeadline;
        while (ibv_start_poll(ex, &attributes) != 0)
            require(Clock::now() < end, "a completion arrives in time");
        require(ex->wr_id == id && ex->status == IBV_WC_SUCCESS, "of the request");
        const std::uint64_t stamp = ibv_wc_read_completion_ts(ex);
        const std::uint64_t time = ibv_wc_read_completion_wallclock_ns(ex);
        ibv_end_poll(ex);
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        const auto age =
            std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec - static_cast<std::int64_t>(time);
        require(std::abs(age) < std::int64_t{3600} * 1000000000, "the time of day is about now");
        return stamp;
    }
    ibv_cq_ex* ex = nullptr;
};

/// Receives the messages and polls them when it is told to, after which it passes on the stamps and
/// whether what came is right.
void receive_late(Channel& channel, const Options& options) {
    StampedHost host(options);
    Qp qp(host);
    const auto post = [&](std::uint64_t id) {
        ibv_sge sge = host.sge(id * kSlot, kSlot);
        ibv_recv_wr wr{};
        ibv_recv_wr* bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        return host.srq ? ibv_post_srq_recv(host.srq, &wr, &bad)
                        : ibv_post_recv(qp.get(), &wr, &bad);
    };
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) require(post(i) == 0, "posted");
    qp.connect(channel);
    channel.meet();
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
        channel.send(host.take(i));
        channel.send(holds(&host.buffer.data()[i * kSlot], kLengths[i], i));
    }
}

void expect_stamps_of_the_moment(const Options& options) {
    Child receiver([&](Channel& channel) { receive_late(channel, options); });
    StampedHost host;
    const std::uint64_t mask = mask_of(host.context);
    EXPECT_EQ(mask, (std::uint64_t{1} << 48) - 1);
    Qp qp(host);
    qp.connect(receiver.channel());
    std::uint64_t before[std::size(kLengths)], after[std::size(kLengths)];
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
        fill(&host.buffer.data()[i * kSlot], kLengths[i], i);
        before[i] = clock_now(host.context) & mask;
        ASSERT_EQ(qp.send(i, {host.sge(i * kSlot, kLengths[i])}), 0);
        const std::uint64_t stamp = host.take(i);
        after[i] = clock_now(host.context) & mask;
        EXPECT_LE(before[i], stamp);
        EXPECT_LE(stamp, after[i]);
    }
    receiver.channel().meet();
    for (std::uint64_t i = 0; i < std::size(kLengths); ++i) {
        const auto stamp = receiver.channel().receive<std::uint64_t>();
        EXPECT_LE(before[i], stamp) << kLengths[i];
        EXPECT_LE(stamp, after[i]) << kLengths[i];
        EXPECT_TRUE(receiver.channel().receive<bool>()) << kLengths[i];
    }
    EXPECT_EQ(receiver.wait(), 0);
}

TEST_P(VerbsTimestamps, AreOfTheMomentAtWhichACompletionIsMade) {
    expect_stamps_of_the_moment({});
}

TEST_P(VerbsTimestamps, AreOfThatMomentWithASharedReceiveQueueToo) {
    Options options;
    options.shared_receives = true;
    expect_stamps_of_the_moment(options);
}

/// The receives are polled after the resize, and the sends too, which end before the post returns
/// unless the agent carries them out.
TEST_P(VerbsTimestamps, StayThroughAResize) {
    Options options;
    options.cq_entries = 16;
    StampedHost here(options), there(options);
    Qp one(here), other(there);
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(other.post_receive(i, {there.sge(0, 64)}), 0);
    one.connect(other.address());
    other.connect(one.address());
    const std::uint64_t mask = mask_of(here.context);
    const std::uint64_t before = clock_now(here.context) & mask;
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_EQ(one.send(i, {here.sge(0, 24)}), 0);
    const bool is_over = std::string(GetParam()) != "agent";
    for (std::uint64_t i = 0; i < 3 && !is_over; ++i) here.take(i);
    ASSERT_EQ(ibv_resize_cq(here.cq, 100), 0);
    ASSERT_EQ(ibv_resize_cq(there.cq, 100), 0);
    const std::uint64_t after = clock_now(here.context) & mask;
    std::uint64_t last = before;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t received = there.take(i);
        EXPECT_LE(last, received);
        EXPECT_LE(received, after);
        last = is_over ? here.take(i) : received;
        EXPECT_LE(received, last) << "it is received before its sender is told";
        EXPECT_LE(last, after);
    }
}

TEST_P(VerbsTimestamps, AQueueOverrunsAtTheSameNumberAsWithout) {
    Options options;
    options.cq_entries = 16;
    StampedHost here(options);
    Host there;
    Qp one(here), other(there);
    one.connect(other.address());
    other.connect(one.address());
    ibv_send_wr wr{};
    ibv_sge sge = here.sge(0, 8);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = there.address();
    wr.wr.rdma.rkey = there.mr->rkey;
    for (int i = 0; i < here.cq->cqe; ++i) ASSERT_EQ(one.post(wr), 0);
    EXPECT_FALSE(is_readable(here.context->async_fd, std::chrono::milliseconds(0)));
    ASSERT_EQ(one.post(wr), 0);
    ASSERT_TRUE(is_readable(here.context->async_fd));
    ibv_async_event event;
    ASSERT_EQ(ibv_get_async_event(here.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
    ibv_ack_async_event(&event);
}

}  // namespace
}  // namespace test
