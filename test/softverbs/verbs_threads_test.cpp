// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Several threads on one queue pair and one completion queue: each posted request has one
/// completion, whoever posts, polls, or ends the queue pair at the same time.
#include <sched.h>

#include <atomic>
#include <vector>

#include "test/softverbs/verbs_pair.hpp"

namespace test {
namespace {

void join(std::vector<Thread>& crew) {
    for (Thread& thread : crew) thread.join();
}

/// Checks that each number comes once.
class Ticks {
  public:
    explicit Ticks(std::size_t count) : seen_(count) {}
    void tick(std::uint64_t number) {
        require(number < seen_.size() && !seen_[number].exchange(true), "each once");
        ++ticked_;
    }
    bool complete() const { return ticked_ == seen_.size(); }

  private:
    std::vector<std::atomic<bool>> seen_;
    std::atomic<std::size_t> ticked_{0};
};

/// Posts, trying again while the queue is full.
template <class Post>
void post_patiently(const Post& post) {
    const auto end = Clock::now() + kDeadline;
    for (int error; (error = post()) != 0; sched_yield()) {
        require(error == ENOMEM, "the queue is full, nothing else");
        require(Clock::now() < end, "the queue empties in time");
    }
}

/// Polls until all have arrived, while other threads poll too.
template <class Take>
void poll(Host& host, const Ticks& expected, const Take& take) {
    const auto end = Clock::now() + kDeadline;
    while (!expected.complete()) {
        ibv_wc completion;
        require(Clock::now() < end, "all completions come in time");
        if (ibv_poll_cq(host.cq, 1, &completion) == 0) continue;
        require(completion.status == IBV_WC_SUCCESS, "the request succeeds");
        take(completion);
    }
}

class VerbsThreads : public OnBothPaths {};
INSTANTIATE_ON_BOTH_PATHS(VerbsThreads);

void receive_from_many(Channel& channel, std::uint64_t messages) {
    Host host;
    Qp qp(host);
    qp.connect(channel);
    std::atomic<std::uint64_t> next{0};
    Ticks arrived(messages);
    std::vector<Thread> crew;
    for (int i = 0; i < 2; ++i) {
        crew.emplace_back([&] {
            for (std::uint64_t slot; (slot = next++) < messages;)
                post_patiently([&] { return qp.post_receive(slot, {host.sge(8 * slot, 8)}); });
        });
        crew.emplace_back([&] {
            poll(host, arrived, [&](const ibv_wc& completion) {
                std::uint64_t message;
                std::memcpy(&message, host.buffer.data() + 8 * completion.wr_id, sizeof message);
                arrived.tick(message);
            });
        });
    }
    join(crew);
    channel.meet();
}

TEST_P(VerbsThreads, SendsOfSeveralThreadsArriveOnceEachAtSeveralPollers) {
    const auto messages = static_cast<std::uint64_t>(scaled(2000));
    Child receiver([&](Channel& channel) { receive_from_many(channel, messages); });
    Host host;
    Qp qp(host);
    qp.connect(receiver.channel());
    std::atomic<std::uint64_t> next{0};
    Ticks sent(messages);
    std::vector<Thread> crew;
    for (int i = 0; i < 3; ++i)
        crew.emplace_back([&] {
            for (std::uint64_t message; (message = next++) < messages;) {
                const ibv_sge data{reinterpret_cast<std::uintptr_t>(&message), sizeof message, 0};
                post_patiently(
                    [&] { return qp.send(message, {data}, IBV_SEND_SIGNALED | IBV_SEND_INLINE); });
            }
        });
    for (int i = 0; i < 2; ++i)
        crew.emplace_back([&] {
            poll(host, sent, [&](const ibv_wc& completion) { sent.tick(completion.wr_id); });
        });
    join(crew);
    receiver.channel().meet();
    EXPECT_EQ(receiver.wait(), 0);
}

/// One life of a queue pair: two threads post sends, two post receives, the peer sends, one thread
/// polls, and the queue pair goes into the error state under them.
void post_into_the_end(Host& host) {
    Qp ending(host);
    Qp peer(host);
    ending.connect(peer.address());
    peer.connect(ending.address());
    std::atomic<bool> over{false};
    std::atomic<long> posted{0};
    std::atomic<long> completed{0};
    const auto take_all = [&] {
        ibv_wc completion;
        while (ibv_poll_cq(host.cq, 1, &completion) == 1)
            if (completion.qp_num == ending.get()->qp_num) ++completed;
    };
    std::vector<Thread> crew;
    for (int i = 0; i < 4; ++i)
        crew.emplace_back([&, receives = i % 2 == 0] {
            while (!over) {
                const int error = receives ? ending.post_receive(1, {host.sge(0, 8)})
                                           : ending.send(2, {host.sge(8, 8)});
                require(error == 0 || error == ENOMEM, "posted, or the queue is full");
                if (error == 0) ++posted;
            }
        });
    // Arriving messages free slots for further receives.
    crew.emplace_back([&] {
        while (!over) (void)peer.send(3, {host.sge(16, 8)});
    });
    crew.emplace_back([&] {
        while (!over) take_all();
    });
    EXPECT_TRUE(eventually([&] { return posted >= 100; }));
    EXPECT_EQ(ending.to_error(), 0);
    EXPECT_TRUE(eventually([&, before = posted.load()] { return posted >= before + 100; }));
    over = true;
    join(crew);
    // The thread that has begun flushing continues with it.
    EXPECT_TRUE(eventually([&] {
        take_all();
        return completed >= posted;
    }));
    EXPECT_EQ(completed, posted);
}

TEST_P(VerbsThreads, WhatIsPostedWhileAQueuePairFailsHasOneCompletionEach) {
    Host host;
    for (int life = 0; life < scaled(50) && !HasFailure(); ++life) post_into_the_end(host);
}

/// Both transitions are allowed in every state, also in one that another thread, or the peer, has
/// just set.
TEST_P(VerbsThreads, AResetAndAFailureThatMeetBothSucceed) {
    Host host;
    Qp qp(host);
    std::vector<Thread> crew;
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_ERR})
        crew.emplace_back([&qp, state] {
            ibv_qp_attr attributes{};
            attributes.qp_state = state;
            for (int i = 0; i < scaled(20000); ++i)
                require(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE) == 0,
                        "the state is set");
        });
    join(crew);
}

}  // namespace
}  // namespace test
