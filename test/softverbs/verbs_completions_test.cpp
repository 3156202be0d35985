// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The two parts of a completion queue, own completions and receives, and the ways in which the
/// payload of a send reaches its receive: in the completion, in the receive's slot, or by a copy
/// beforehand.
#include <fcntl.h>

#include <algorithm>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

class VerbsCompletions : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsCompletions);

// -- sizes

/// At each limit: empty, in the completion (at most 32), in the slot (at most 176), by a copy.
constexpr std::uint32_t kSizes[] = {0, 1, 31, 32, 33, 175, 176, 177, 4096, 4097};
constexpr std::size_t kArea = 8192;  ///< for one message in a buffer
constexpr std::uint8_t kUntouched = 0xee;

enum class Segments { kOne, kOneWithRoom, kSeveral };
constexpr Segments kLayouts[] = {Segments::kOne, Segments::kOneWithRoom, Segments::kSeveral};

struct Message {
    std::uint32_t size;
    Segments sent;
    Segments received;
    bool is_inline;
};

std::vector<Message> all_messages() {
    std::vector<Message> all;
    for (const std::uint32_t size : kSizes) {
        for (const Segments received : kLayouts) {
            all.push_back({size, Segments::kOne, received, false});
            all.push_back({size, Segments::kSeveral, received, false});
            all.push_back({size, Segments::kSeveral, received, size <= 256});
        }
    }
    return all;
}

/// Segments for `size` bytes with gaps between them, from `offset` on.
std::vector<ibv_sge> spread(const Host& host, std::size_t offset, std::uint32_t size,
                            Segments layout) {
    if (layout == Segments::kOne) return {host.sge(offset, size)};
    if (layout == Segments::kOneWithRoom) return {host.sge(offset, size + 64)};
    const std::uint32_t first = std::min(size, 1u);
    const std::uint32_t second = (size - first) / 2;
    return {host.sge(offset, first), host.sge(offset + 16, 0), host.sge(offset + 32, second),
            host.sge(offset + 48 + second, size - first - second)};
}

/// Writes to `to` what `size` bytes of a message leave in the segments' memory.
void put(std::vector<ibv_sge> segments, std::uint32_t size, std::uint32_t round,
         std::uint64_t buffer, std::uint8_t* to) {
    std::uint32_t at = 0;
    for (const ibv_sge& segment : segments)
        for (std::uint32_t i = 0; i < segment.length && at < size; ++i)
            to[segment.addr - buffer + i] = pattern(at++, round);
}

void send_all_sizes(Channel& channel) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    std::uint32_t number = 0;
    for (const Message& message : all_messages()) {
        const auto segments = spread(host, number * kArea, message.size, message.sent);
        put(segments, message.size, number, host.address(), host.buffer.data());
        unsigned flags = IBV_SEND_SIGNALED;
        if (message.is_inline) flags |= IBV_SEND_INLINE;
        require(qp.send(number, segments, flags) == 0, "posted");
        const ibv_wc wc = host.wait();
        require(wc.status == IBV_WC_SUCCESS && wc.wr_id == number, "sent");
        ++number;
    }
    channel.meet();
}

/// All payloads wait with their completions before the first one is polled.
void receive_all_sizes(bool shared_receives) {
    Child child(send_all_sizes);
    Options options;
    options.shared_receives = shared_receives;
    Host host(options);
    Qp qp(host);
    std::fill(host.buffer.begin(), host.buffer.end(), kUntouched);
    std::vector<std::uint8_t> expected(host.buffer.size(), kUntouched);
    const auto messages = all_messages();
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        const auto segments = spread(host, i * kArea, messages[i].size, messages[i].received);
        put(segments, messages[i].size, i, host.address(), expected.data());
        ASSERT_EQ(qp.post_receive(i, segments), 0);
    }
    qp.connect(child.channel());
    child.channel().meet();
    for (std::uint32_t i = 0; i < messages.size(); ++i) {
        const ibv_wc wc = host.wait();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        ASSERT_EQ(wc.wr_id, i);
        EXPECT_EQ(wc.byte_len, messages[i].size);
        EXPECT_EQ(memcmp(&host.buffer[i * kArea], &expected[i * kArea], kArea), 0)
            << "message " << i << " of " << messages[i].size << " bytes";
    }
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsCompletions, PayloadsOfEverySizeArriveInTheSegmentsOfTheirReceives) {
    receive_all_sizes(false);
}

TEST_P(VerbsCompletions, PayloadsOfEverySizeArriveInTheSegmentsOfSharedReceives) {
    receive_all_sizes(true);
}

/// Each receive is one byte too short for its message, so the empty message is left out.
void refuse_long_messages(bool shared_receives) {
    constexpr Segments kWays[] = {Segments::kOne, Segments::kSeveral};
    Child child([&](Channel& channel) {
        Host host;
        for (const std::uint32_t size : kSizes) {
            for (int way = 0; size != 0 && way < 2; ++way) {
                Qp qp(host);
                qp.connect(channel);
                require(qp.send(size, {host.sge(0, size)}) == 0, "posted");
                const ibv_wc wc = host.wait();
                require(wc.wr_id == size && wc.status == IBV_WC_REM_INV_REQ_ERR, "refused");
                require(qp.state() == IBV_QPS_ERR, "broken as soon as that is polled");
                channel.meet();
            }
        }
    });
    Options options;
    options.shared_receives = shared_receives;
    Host host(options);
    std::fill(host.buffer.begin(), host.buffer.end(), kUntouched);
    for (const std::uint32_t size : kSizes) {
        for (const Segments way : kWays) {
            if (size == 0) continue;
            Qp qp(host);
            ASSERT_EQ(qp.post_receive(size, spread(host, 0, size - 1, way)), 0);
            qp.connect(child.channel());
            const ibv_wc wc = host.wait();
            EXPECT_EQ(wc.wr_id, size);
            EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR) << size << " bytes";
            EXPECT_EQ(qp.state(), IBV_QPS_ERR);
            child.channel().meet();
        }
    }
    EXPECT_TRUE(std::all_of(host.buffer.begin(), host.buffer.end(), [](auto b) {
        return b == kUntouched;
    })) << "none of them may be placed";
    EXPECT_EQ(child.wait(), 0);
}

TEST_P(VerbsCompletions, AMessageOneByteTooLongFailsAtBothEndsWhateverItsSize) {
    refuse_long_messages(false);
}

TEST_P(VerbsCompletions, AMessageOneByteTooLongForASharedReceiveFailsAtBothEnds) {
    refuse_long_messages(true);
}

// -- both parts loaded

/// What the other end does next.
struct Order {
    int qp;               ///< index of the queue pair to send on; -1: ends
    int sends;            ///< number of messages to send
    int awaited;          ///< total of our messages to wait for
    std::uint32_t flags;  ///< IBV_SEND_*
};

/// The sizes in turn: payload waits in the completion, in the slot, and not at all.
std::uint32_t length_of(std::uint32_t number) {
    constexpr std::uint32_t kLengths[] = {8, 100, 600};
    return kLengths[number % 3];
}

/// The other end of one or more queue pairs: sends numbered messages on command.
class Peer {
  public:
    Peer(int queue_pairs, int receives)
        : child_([=](Channel& channel) { serve(channel, queue_pairs, receives); }) {}

    Channel& channel() { return child_.channel(); }
    /// Returns when they have arrived.
    void send(int qp, int count, std::uint32_t flags = 0) { obey({qp, count, 0, flags}); }
    /// @param total messages to wait for, on all queue pairs and from the start
    void await(int total) { obey({0, 0, total, 0}); }
    int end() {
        channel().send(Order{-1, 0, 0, 0});
        return child_.wait();
    }

  private:
    void obey(const Order& order) {
        channel().send(order);
        channel().receive<char>();
    }

    static void serve(Channel& channel, int queue_pairs, int receives) {
        Host host;
        std::vector<std::unique_ptr<Qp>> qps;
        for (int i = 0; i < queue_pairs; ++i) {
            qps.push_back(std::make_unique<Qp>(host));
            for (int j = 0; j < receives; ++j)
                require(qps[i]->post_receive(1, {host.sge(1 << 20, 64)}) == 0, "receive posted");
            qps[i]->connect(channel);
        }
        std::vector<std::uint32_t> sent(queue_pairs);
        int received = 0;
        const auto wait = [&] {
            const ibv_wc wc = host.wait();
            require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
            const bool is_receive = wc.opcode == IBV_WC_RECV;
            received += is_receive;
            return is_receive;
        };
        for (;;) {
            const auto order = channel.receive<Order>();
            if (order.qp < 0) return;
            for (int i = 0; i < order.sends; ++i) {
                const std::uint32_t number = sent[order.qp]++;
                fill(host.buffer.data(), length_of(number), number);
                const unsigned flags = order.flags | IBV_SEND_SIGNALED;
                require(qps[order.qp]->send(2, {host.sge(0, length_of(number))}, flags) == 0,
                        "posted");
                while (wait()) continue;
            }
            while (received < order.awaited) wait();
            channel.send('d');
        }
    }

    Child child_;
};

void post_receives(Host& host, Qp& qp, std::uint64_t first, int count) {
    for (int i = 0; i < count; ++i, ++first)
        require(qp.post_receive(first, {host.sge(first * 1024, 1024)}) == 0, "receive posted");
}

void send_numbers(Host& host, Qp& qp, std::uint64_t first, int count) {
    for (int i = 0; i < count; ++i)
        require(qp.send(first + i, {host.sge(1 << 20, 8)}) == 0, "posted");
}

/// Polls own completions and receives, and checks that each kind has consecutive numbers.
class Taker {
  public:
    explicit Taker(Host& host, std::uint64_t first_send = 0, std::uint64_t first_receive = 0)
        : host_(host),
          first_receive_(first_receive),
          next_send_(first_send),
          next_receive_(first_receive) {}

    void take_all(std::uint64_t sends, std::uint64_t receives) {
        while (next_send_ < sends || next_receive_ < receives) {
            const ibv_wc wc = host_.wait();
            check(wc);
            if (testing::Test::HasFatalFailure()) return;
        }
        EXPECT_TRUE(host_.is_empty());
    }
    void check(const ibv_wc& wc) {
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        if (wc.opcode == IBV_WC_SEND) {
            ASSERT_EQ(wc.wr_id, next_send_++);
            return;
        }
        ASSERT_EQ(wc.opcode, IBV_WC_RECV);
        ASSERT_EQ(wc.wr_id, next_receive_++);
        const auto number = static_cast<std::uint32_t>(wc.wr_id - first_receive_);
        EXPECT_EQ(wc.byte_len, length_of(number));
        EXPECT_TRUE(holds(&host_.buffer[wc.wr_id * 1024], length_of(number), number))
            << "message " << number;
    }

  private:
    Host& host_;
    const std::uint64_t first_receive_;
    std::uint64_t next_send_;
    std::uint64_t next_receive_;
};

Options queue_of(int entries, bool channel = false) {
    Options options;
    options.cq_entries = entries;
    options.channel = channel;
    return options;
}

TEST_P(VerbsCompletions, AResizedQueueKeepsOwnCompletionsAndReceivesWithTheirPayloads) {
    Peer peer(1, 128);
    Host host(queue_of(32));
    Qp qp(host);
    post_receives(host, qp, 0, 100);
    qp.connect(peer.channel());
    send_numbers(host, qp, 0, 25);
    peer.send(0, 25);
    peer.await(25);
    EXPECT_EQ(ibv_resize_cq(host.cq, 16), EINVAL) << "more of each kind wait";
    ASSERT_EQ(ibv_resize_cq(host.cq, 32), 0) << "that is its size, and both kinds fit";
    ASSERT_EQ(ibv_resize_cq(host.cq, 256), 0);
    send_numbers(host, qp, 25, 25);
    peer.send(0, 25);
    peer.await(50);
    ASSERT_EQ(ibv_resize_cq(host.cq, 64), 0) << "fifty of each kind fit";
    EXPECT_EQ(ibv_resize_cq(host.cq, 32), EINVAL) << "more of each kind wait";
    Taker taker(host);
    for (int i = 0; i < 10; ++i) taker.check(host.wait());
    ASSERT_EQ(ibv_resize_cq(host.cq, 1024), 0);
    send_numbers(host, qp, 50, 50);
    peer.send(0, 50);
    taker.take_all(100, 100);
    EXPECT_EQ(peer.end(), 0);
}

TEST_P(VerbsCompletions, ADestroyedQueuePairTakesItsOwnOutOfBothPartsAndLeavesTheOthers) {
    Peer peer(2, 64);
    Host host;
    auto leaving = std::make_unique<Qp>(host);
    Qp staying(host);
    post_receives(host, *leaving, 0, 30);
    post_receives(host, staying, 100, 30);
    leaving->connect(peer.channel());
    staying.connect(peer.channel());
    for (int i = 0; i < 20; ++i) {
        send_numbers(host, *leaving, i, 1);
        peer.send(0, 1);
        send_numbers(host, staying, 100 + i, 1);
        peer.send(1, 1);
    }
    peer.await(40);
    leaving.reset();
    send_numbers(host, staying, 120, 10);
    peer.send(1, 10);
    Taker(host, 100, 100).take_all(130, 130);
    EXPECT_EQ(peer.end(), 0);
}

/// @return how many succeeded before all others were flushed, or an impossible number if they mix.
std::size_t split(const std::vector<ibv_wc_status>& all) {
    const auto flushed = std::find(all.begin(), all.end(), IBV_WC_WR_FLUSH_ERR);
    const bool clean = std::count(all.begin(), flushed, IBV_WC_SUCCESS) == flushed - all.begin() &&
                       std::count(flushed, all.end(), IBV_WC_WR_FLUSH_ERR) == all.end() - flushed;
    return clean ? static_cast<std::size_t>(flushed - all.begin()) : all.size() + 1;
}

TEST_P(VerbsCompletions, InTheErrorStateWhatWaitsInBothPartsAndWhatIsFlushedComesOnceEach) {
    constexpr std::uint64_t kFirstSend = 1000;
    Peer peer(1, 10);
    Host host;
    Qp qp(host);
    post_receives(host, qp, 0, 30);
    qp.connect(peer.channel());
    send_numbers(host, qp, kFirstSend, 20);  // ten of them find no receive
    peer.send(0, 20);
    peer.await(10);
    ASSERT_EQ(qp.to_error(), 0);
    send_numbers(host, qp, kFirstSend + 20, 5);
    post_receives(host, qp, 30, 5);
    std::vector<ibv_wc_status> sends;
    std::vector<ibv_wc_status> receives;
    while (sends.size() < 25 || receives.size() < 35) {
        const ibv_wc wc = host.wait();
        const bool is_send = wc.wr_id >= kFirstSend;
        auto& kind = is_send ? sends : receives;
        ASSERT_EQ(wc.wr_id - (is_send ? kFirstSend : 0), kind.size());
        kind.push_back(wc.status);
        if (is_send || wc.status != IBV_WC_SUCCESS) continue;
        const auto number = static_cast<std::uint32_t>(wc.wr_id);
        EXPECT_TRUE(holds(&host.buffer[wc.wr_id * 1024], length_of(number), number));
    }
    EXPECT_TRUE(host.is_empty());
    EXPECT_EQ(split(sends), 10u);
    EXPECT_EQ(split(receives), 20u);
    EXPECT_EQ(peer.end(), 0);
}

// -- overrun

/// @throws when no event arrives.
ibv_event_type next_event(Host& host) {
    require(is_readable(host.context->async_fd), "an event comes");
    ibv_async_event event;
    require(ibv_get_async_event(host.context, &event) == 0, "the event is there");
    ibv_ack_async_event(&event);
    return event.event_type;
}

bool has_event(Host& host) {
    return is_readable(host.context->async_fd, 0s);
}

TEST_P(VerbsCompletions, AQueueHoldsItsSizeOfOwnCompletionsAndOfReceives) {
    Peer peer(1, 64);
    Host host(queue_of(16));
    Qp qp(host);
    post_receives(host, qp, 0, 16);
    qp.connect(peer.channel());
    ASSERT_EQ(host.cq->cqe, 16);
    send_numbers(host, qp, 0, 16);
    peer.send(0, 16);
    peer.await(16);
    Taker(host).take_all(16, 16);
    EXPECT_FALSE(has_event(host));
    EXPECT_EQ(peer.end(), 0);
}

TEST_P(VerbsCompletions, TooManyOwnCompletionsAreToldOnceAndBreakTheQueuePair) {
    Peer peer(1, 64);
    Host host(queue_of(16));
    Qp qp(host);
    qp.connect(peer.channel());
    send_numbers(host, qp, 0, 40);
    EXPECT_EQ(next_event(host), IBV_EVENT_CQ_ERR);
    EXPECT_EQ(next_event(host), IBV_EVENT_QP_FATAL);
    EXPECT_EQ(qp.state(), IBV_QPS_ERR);
    send_numbers(host, qp, 40, 40);  // flushed into the full queue
    for (std::uint64_t i = 0; i < 16; ++i) {
        const ibv_wc wc = host.wait();
        EXPECT_EQ(wc.wr_id, i);
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    EXPECT_FALSE(has_event(host));
    EXPECT_EQ(peer.end(), 0);
}

TEST_P(VerbsCompletions, OverrunsOfBothPartsAreToldOnceAndLeaveOtherQueuesAlone) {
    Peer peer(2, 64);
    Host host(queue_of(16));
    Host other(queue_of(16));
    Qp qp(host);
    Qp unharmed(other);
    post_receives(host, qp, 0, 16);
    post_receives(other, unharmed, 0, 3);
    qp.connect(peer.channel());
    unharmed.connect(peer.channel());
    peer.send(0, 16);
    send_numbers(host, qp, 0, 17);  // the last overruns one part
    EXPECT_EQ(next_event(host), IBV_EVENT_CQ_ERR);
    EXPECT_EQ(next_event(host), IBV_EVENT_QP_FATAL);
    Qp later(host);
    post_receives(host, qp, 16, 20);  // flushed: they overrun the other part
    EXPECT_EQ(next_event(host), IBV_EVENT_QP_FATAL) << "of the new queue pair, and nothing before";
    send_numbers(other, unharmed, 0, 3);
    peer.send(1, 3);
    Taker(other).take_all(3, 3);
    EXPECT_FALSE(has_event(host));
    EXPECT_FALSE(has_event(other));
    EXPECT_EQ(peer.end(), 0);
}

// -- events

/// Consumes the channel's event, which must be this queue's and the only one.
void take_the_event(Host& host) {
    ASSERT_TRUE(is_readable(host.channel->fd)) << "a lost wake-up";
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(host.channel, &cq, &cq_context), 0);
    EXPECT_EQ(cq, host.cq);
    ibv_ack_cq_events(cq, 1);
    EXPECT_FALSE(is_readable(host.channel->fd, 0s)) << "one event for one request";
}

TEST_P(VerbsCompletions, AnOwnCompletionAndAPeersEachWakeAnArmedQueue) {
    Peer peer(1, 64);
    Host host(queue_of(64, true));
    Qp qp(host);
    post_receives(host, qp, 0, 4);
    qp.connect(peer.channel());
    Taker taker(host);
    for (std::uint64_t i = 0; i < 4; ++i) {
        ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
        send_numbers(host, qp, i, 1);
        take_the_event(host);
        taker.take_all(i + 1, i);
        ASSERT_EQ(ibv_req_notify_cq(host.cq, 0), 0);
        peer.send(0, 1);
        take_the_event(host);
        taker.take_all(i + 1, i + 1);
    }
    EXPECT_EQ(peer.end(), 0);
}

TEST_P(VerbsCompletions, OnlySolicitedReceivesAndErrorsWakeAQueueThatAskedForThem) {
    Peer peer(2, 64);
    Host host(queue_of(64, true));
    Qp first(host);
    Qp second(host);
    post_receives(host, first, 0, 4);
    first.connect(peer.channel());
    second.connect(peer.channel());
    Taker taker(host);
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 1), 0);
    send_numbers(host, first, 0, 1);
    peer.send(0, 1);
    taker.take_all(1, 1);
    EXPECT_FALSE(is_readable(host.channel->fd, 0s)) << "neither was solicited, neither an error";
    peer.send(0, 1, IBV_SEND_SOLICITED);
    take_the_event(host);
    taker.take_all(1, 2);
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 1), 0);
    ibv_sge wrong = host.sge(0, 8);
    wrong.lkey ^= 0x5a00;
    ASSERT_EQ(second.send(9, {wrong}), 0);
    take_the_event(host);
    EXPECT_EQ(host.wait().status, IBV_WC_LOC_PROT_ERR) << "an own completion";
    ASSERT_EQ(ibv_req_notify_cq(host.cq, 1), 0);
    ASSERT_EQ(first.to_error(), 0);
    take_the_event(host);
    EXPECT_EQ(host.wait().status, IBV_WC_WR_FLUSH_ERR) << "a flushed receive";
    EXPECT_EQ(peer.end(), 0);
}

TEST_P(VerbsCompletions, NoEventIsLostWhenOwnCompletionsAndReceivesComeTogether) {
    const int rounds = scaled(5000);
    Child child([rounds](Channel& channel) {
        Host host;
        Qp qp(host);
        for (int i = 0; i < 8; ++i) qp.post_receive(1, {host.sge(0, 8)});
        qp.connect(channel);
        for (int received = 0; received < rounds;) {
            const ibv_wc wc = host.wait();
            require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
            if (wc.opcode != IBV_WC_RECV) continue;
            ++received;
            require(qp.post_receive(1, {host.sge(0, 8)}) == 0, "receive posted");
            require(qp.send(2, {host.sge(1 << 20, 8)}) == 0, "posted");
        }
        channel.meet();
    });
    Host host(queue_of(64, true));
    Qp qp(host);
    for (int i = 0; i < 8; ++i) qp.post_receive(1, {host.sge(0, 8)});
    qp.connect(child.channel());
    int sent = 0;
    int received = 0;
    for (int i = 0; i < 4; ++i) send_numbers(host, qp, 0, 1);
    for (int posted = 4; sent < rounds || received < rounds;) {
        const ibv_wc wc = sleep_for_completion(host);
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        if (wc.opcode == IBV_WC_SEND) {
            ++sent;
            continue;
        }
        ++received;
        ASSERT_EQ(qp.post_receive(1, {host.sge(0, 8)}), 0);
        if (posted < rounds) ++posted, send_numbers(host, qp, 0, 1);
    }
    EXPECT_EQ(sent, rounds);
    EXPECT_EQ(received, rounds);
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace test
