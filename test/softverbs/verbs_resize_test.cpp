// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completion queues and shared receive queues are resized while peers put completions into them
/// and consume receives from them.
#include <fcntl.h>

#include <thread>

#include "test/softverbs/verbs_pair.hpp"
#include "test/support/registration_cache.hpp"

#if defined(HAS_REGISTRATION_CACHE)
#include "test/support/malloc_hooks.hpp"

namespace {
thread_local bool is_polling;
thread_local int allocator_calls;
void count_call() {
    if (is_polling) ++allocator_calls;
}
}  // namespace

void test::hooks::before_allocation() {
    count_call();
}
void test::hooks::before_free() {
    count_call();
}
void test::hooks::before_end() {}
#endif

namespace test {
namespace {

class VerbsResize : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsResize);

/// Sends the numbers from 0 on, in short and long messages, one at a time.
void send_numbers(Channel& channel, int count) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    for (int i = 0; i < count; ++i) {
        std::memcpy(host.buffer.data(), &i, sizeof i);
        require(qp.send(1, {host.sge(0, i % 2 ? 8 : 600)}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
    }
    channel.meet();
}

/// Sends one message for each call of ask_for_message().
void send_on_request(Channel& channel, int count) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    for (int i = 0; i < count; ++i) {
        channel.meet();
        std::memcpy(host.buffer.data(), &i, sizeof i);
        require(qp.send(1, {host.sge(0, 8)}) == 0, "posted");
        require(host.wait().status == IBV_WC_SUCCESS, "sent");
        channel.meet();
    }
}

void ask_for_message(Channel& channel) {
    channel.meet();
    channel.meet();
}

Options queue_of(int entries) {
    Options options;
    options.cq_entries = entries;
    return options;
}

/// A completion queue of 32 entries, `receives` posted receives, and a peer that sends one message
/// for each request.
struct Receiver {
    explicit Receiver(int receives)
        : child([receives](Channel& channel) { send_on_request(channel, receives); }) {
        for (int i = 0; i < receives; ++i)
            qp.post_receive(static_cast<std::uint64_t>(i),
                            {host.sge(static_cast<std::size_t>(i) * 8, 8)});
        qp.connect(child.channel());
    }
    void ask_for_messages(int count) {
        for (int i = 0; i < count; ++i) ask_for_message(child.channel());
    }

    Child child;
    Host host{queue_of(32)};
    Qp qp{host};
};

TEST_P(VerbsResize, ACompletionQueueGrowsAndShrinksUnderLoadAndLosesNothing) {
    const int count = scaled(4000);
    Child first([count](Channel& channel) { send_numbers(channel, count); });
    Child second([count](Channel& channel) { send_numbers(channel, count); });
    Options options;
    options.cq_entries = 64;
    options.channel = true;
    options.depth = 16;
    Host host(options);
    Qp one(host);
    Qp two(host);
    for (std::uint64_t i = 0; i < 16; ++i) {
        ASSERT_EQ(one.post_receive(i, {host.sge(i * 1024, 1024)}), 0);
        ASSERT_EQ(two.post_receive(16 + i, {host.sge((16 + i) * 1024, 1024)}), 0);
    }
    one.connect(first.channel());
    two.connect(second.channel());
    std::atomic<bool> done{false};
    std::atomic<int> resized{0};
    std::atomic<int> refused{0};
    Thread resizer([&] {
        for (int entries = 64; !done; entries = entries == 1024 ? 64 : entries * 2) {
            ++(ibv_resize_cq(host.cq, entries) == 0 ? resized : refused);
            std::this_thread::yield();
        }
    });
    while (resized + refused == 0) std::this_thread::yield();  // on a busy machine it starts late
    int next[2] = {0, 0};
    bool in_order = true;
    for (int received = 0; received < 2 * count; ++received) {
        const ibv_wc wc = sleep_for_completion(host);
        const bool is_second = wc.qp_num == two.get()->qp_num;
        int number = -1;
        std::memcpy(&number, &host.buffer[wc.wr_id * 1024], sizeof number);
        in_order = in_order && wc.status == IBV_WC_SUCCESS && number == next[is_second]++ &&
                   wc.byte_len == (number % 2 ? 8u : 600u);
        (is_second ? two : one).post_receive(wc.wr_id, {host.sge(wc.wr_id * 1024, 1024)});
    }
    done = true;
    resizer.join();
    EXPECT_TRUE(in_order);
    EXPECT_TRUE(host.is_empty());
    EXPECT_GT(resized, 0);
    EXPECT_EQ(refused, 0) << "never were more than 32 waiting";
    first.channel().meet();
    second.channel().meet();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

TEST_P(VerbsResize, WaitingCompletionsSurviveAndTooSmallASizeIsRefused) {
    Receiver receiver(24);
    Host& host = receiver.host;
    receiver.ask_for_messages(20);
    EXPECT_EQ(ibv_resize_cq(host.cq, 16), EINVAL) << "twenty are waiting";
    EXPECT_EQ(host.cq->cqe, 32);
    EXPECT_EQ(ibv_resize_cq(host.cq, 0), EINVAL);
    EXPECT_EQ(ibv_resize_cq(host.cq, 1 << 30), EINVAL);
    ASSERT_EQ(ibv_resize_cq(host.cq, 128), 0);
    EXPECT_EQ(host.cq->cqe, 128);
    receiver.ask_for_messages(4);
    ASSERT_EQ(ibv_resize_cq(host.cq, 32), 0);
    EXPECT_EQ(host.cq->cqe, 32);
    EXPECT_EQ(ibv_resize_cq(host.cq, 16), EINVAL) << "what waits from before counts too";
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(host.wait().wr_id, i);
    ASSERT_EQ(ibv_resize_cq(host.cq, 16), 0);
    for (int i = 10; i < 24; ++i) {
        EXPECT_EQ(host.wait().wr_id, static_cast<std::uint64_t>(i));
        int number = -1;
        std::memcpy(&number, &host.buffer[i * 8], sizeof number);
        EXPECT_EQ(number, i);
    }
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(receiver.child.wait(), 0);
}

/// With a registration cache free() deregisters memory, which waits for threads that poll.
TEST_P(VerbsResize, NothingIsAllocatedOrFreedWhileAResizedQueueIsPolled) {
#if defined(HAS_REGISTRATION_CACHE)
    Receiver receiver(8);
    Host& host = receiver.host;
    receiver.ask_for_messages(8);
    ASSERT_EQ(ibv_resize_cq(host.cq, 128), 0);
    ibv_wc completions[16];
    allocator_calls = 0;
    is_polling = true;
    const int polled = ibv_poll_cq(host.cq, 16, completions);
    is_polling = false;
    EXPECT_EQ(polled, 8);
    EXPECT_EQ(allocator_calls, 0);
    EXPECT_EQ(receiver.child.wait(), 0);
#else
    GTEST_SKIP() << "malloc() is the sanitizer's";
#endif
}

TEST_P(VerbsResize, AQueuePairsCompletionsAreTakenOutOfAResizedQueueWhenItGoes) {
    Child child([](Channel& channel) { send_on_request(channel, 4); });
    Host host;
    {
        Qp qp(host);
        for (std::uint64_t i = 0; i < 4; ++i) qp.post_receive(i, {host.sge(0, 8)});
        qp.connect(child.channel());
        ask_for_message(child.channel());
        ask_for_message(child.channel());
        ASSERT_EQ(ibv_resize_cq(host.cq, 4096), 0);
        ask_for_message(child.channel());
        ask_for_message(child.channel());
    }
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsResize, AnArmedQueueStaysArmedAndKeepsItsChannel) {
    Child child([](Channel& channel) { send_on_request(channel, 1); });
    Options options;
    options.channel = true;
    Host host(options);
    Qp qp(host);
    qp.post_receive(7, {host.sge(0, 8)});
    qp.connect(child.channel());
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
    ASSERT_EQ(ibv_resize_cq(host.cq, 8192), 0);
    fcntl(host.channel->fd, F_SETFL, O_NONBLOCK);
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(host.channel, &cq, &cq_context), -1) << "a resize is no event";
    ask_for_message(child.channel());
    ASSERT_TRUE(eventually([&] { return ibv_get_cq_event(host.channel, &cq, &cq_context) == 0; }));
    EXPECT_EQ(cq, host.cq);
    ibv_ack_cq_events(cq, 1);
    EXPECT_EQ(host.wait().wr_id, 7u);
    EXPECT_EQ(child.wait(), 0);
}

int resize_srq(ibv_srq* srq, std::uint32_t max_wr) {
    ibv_srq_attr attributes{};
    attributes.max_wr = max_wr;
    return ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR);
}
ibv_srq_attr query(ibv_srq* srq) {
    ibv_srq_attr attributes{};
    require(ibv_query_srq(srq, &attributes) == 0, "queried");
    return attributes;
}

TEST_P(VerbsResize, ASharedReceiveQueueTakesExactlyAsManyReceivesAsItsSize) {
    Options options;
    options.shared_receives = true;
    options.depth = 4;
    Host host(options);
    Qp qp(host);
    ibv_device_attr device;
    ibv_query_device(host.context, &device);
    EXPECT_NE(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
    EXPECT_EQ(query(host.srq).max_wr, 4u);
    EXPECT_EQ(query(host.srq).max_sge, 4u);
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(qp.post_receive(i, {host.sge(0, 8)}), 0);
    EXPECT_EQ(qp.post_receive(4, {host.sge(0, 8)}), ENOMEM);
    ASSERT_EQ(resize_srq(host.srq, 21), 0);
    EXPECT_EQ(query(host.srq).max_wr, 21u);
    for (std::uint64_t i = 4; i < 21; ++i) EXPECT_EQ(qp.post_receive(i, {host.sge(0, 8)}), 0);
    EXPECT_EQ(qp.post_receive(21, {host.sge(0, 8)}), ENOMEM);
    EXPECT_EQ(resize_srq(host.srq, 20), EINVAL) << "more are outstanding";
    EXPECT_EQ(resize_srq(host.srq, 0), EINVAL);
    EXPECT_EQ(resize_srq(host.srq, device.max_srq_wr + 1), EINVAL);
    EXPECT_EQ(query(host.srq).max_wr, 21u);
    EXPECT_EQ(resize_srq(host.srq, device.max_srq_wr), 0);
    EXPECT_EQ(resize_srq(host.srq, 21), 0);
    EXPECT_EQ(qp.post_receive(21, {host.sge(0, 8)}), ENOMEM);
}

TEST_P(VerbsResize, TheLimitOfASharedReceiveQueueIsNotAboveItsSize) {
    Options options;
    options.shared_receives = true;
    options.depth = 16;
    Host host(options);
    ibv_srq_attr attributes{};
    attributes.srq_limit = 17;
    EXPECT_EQ(ibv_modify_srq(host.srq, &attributes, IBV_SRQ_LIMIT), EINVAL);
    attributes.max_wr = 32;
    Qp qp(host);
    for (std::uint64_t i = 0; i < 16; ++i) qp.post_receive(i, {host.sge(0, 8)});
    EXPECT_EQ(ibv_modify_srq(host.srq, &attributes, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR), 0);
    ASSERT_TRUE(is_readable(host.context->async_fd)) << "there are fewer than 17 already";
    ibv_async_event event;
    ASSERT_EQ(ibv_get_async_event(host.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
    attributes.srq_limit = 10;
    ASSERT_EQ(ibv_modify_srq(host.srq, &attributes, IBV_SRQ_LIMIT), 0);
    EXPECT_EQ(query(host.srq).srq_limit, 10u);
    EXPECT_EQ(resize_srq(host.srq, 9), EINVAL);
}

TEST_P(VerbsResize, ASharedReceiveQueueGrowsUnderLoadAndLosesNothing) {
    const int count = scaled(3000);
    constexpr std::uint32_t kFinal = 1024;
    Child first([count](Channel& channel) { send_numbers(channel, count); });
    Child second([count](Channel& channel) { send_numbers(channel, count); });
    Options options;
    options.shared_receives = true;
    options.depth = 2;
    options.cq_entries = 2 * kFinal;
    Host host(options);
    Qp one(host);
    Qp two(host);
    one.connect(first.channel());
    two.connect(second.channel());
    std::uint32_t size = 2;
    int posted = 0;
    // A sender that is held up keeps a receive while the other uses thousands of later ones.
    std::vector<std::uint64_t> areas;
    for (std::uint64_t i = 2 * kFinal; i-- != 0;) areas.push_back(i);
    int next[2] = {0, 0};
    for (int received = 0; received < 2 * count;) {
        if (received % 20 == 19 && size < kFinal) {
            size += size / 2;
            ASSERT_EQ(resize_srq(host.srq, size), 0);
        }
        while (posted < 2 * count &&
               one.post_receive(areas.back(), {host.sge(areas.back() * 1024, 1024)}) == 0) {
            areas.pop_back();
            ++posted;
        }
        const ibv_wc wc = host.wait();
        ++received;
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        int& expected = next[wc.qp_num == two.get()->qp_num];
        int number = -1;
        std::memcpy(&number, &host.buffer[wc.wr_id * 1024], sizeof number);
        ASSERT_EQ(number, expected++);
        areas.push_back(wc.wr_id);
        ASSERT_EQ(wc.byte_len, number % 2 ? 8u : 600u);
    }
    first.channel().meet();
    second.channel().meet();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

}  // namespace
}  // namespace test
