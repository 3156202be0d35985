// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// No wake-up is lost: an event comes just while a thread is about to sleep for it, again and
/// again. A lost one shows as a wait that lasts until its timeout, a minute.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <random>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4713;

/// @return the number of races of each kind. The five kinds together make 10^5 in `make check` and
/// 10^7 in `make check-long`, which multiplies counts by ten.
int races() {
    const int scale = scaled(10);
    return 200 * scale * scale;
}

/// Keeps this thread on one of two processors: the scheduler might otherwise put a waiter and its
/// waker on the same one, where they never race. Makes no difference on a single processor.
class OnProcessor {
  public:
    explicit OnProcessor(int which) {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int processor = 0, left = which % CPU_COUNT(&before_); left >= 0; ++processor)
            if (CPU_ISSET(processor, &before_) && left-- == 0) CPU_SET(processor, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    ~OnProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
    OnProcessor(const OnProcessor&) = delete;
    OnProcessor& operator=(const OnProcessor&) = delete;

  private:
    cpu_set_t before_;
};

/// Runs `wait` and fails if it took as long as its timeout: then nothing woke it, and it found the
/// event only at the end.
template <class Wait>
void wait_awake(const Wait& wait) {
    const auto begin = Clock::now();
    wait();
    require(Clock::now() - begin < kDeadline, "the waiter was woken");
}

constexpr int kLooksBeforeYield = 10000;

/// Waits for a random time, up to what a post or falling asleep takes, so that the two sides meet
/// at every point of their paths.
class Hesitation {
  public:
    explicit Hesitation(unsigned seed) : random_(seed) {}
    void operator()() {
        for (unsigned left = random_() % 2048; left > 0; --left)
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }

  private:
    std::minstd_rand random_;
};

/// Has another thread raise one event after the other, each when this one has consumed the last.
template <class Raise, class Take>
void race(const Raise& raise, const Take& take) {
    std::atomic<int> taken{0};
    std::atomic<bool> over{false};
    const int count = races();
    Thread raiser([&] {
        const OnProcessor first(0);
        Hesitation hesitate(1);
        for (int raised = 0; raised < count && !over; ++raised) {
            // Spins, so that it meets the waiter on its way to sleep. Yields now and then, since
            // the waiter may need this processor.
            for (int looks = 1; taken != raised && !over; ++looks)
                if (looks % kLooksBeforeYield == 0) sched_yield();
            hesitate();
            raise();
        }
    });
    try {
        const OnProcessor second(1);
        Hesitation hesitate(2);
        for (int i = 0; i < count; ++i) {
            hesitate();
            wait_awake(take);
            taken = i + 1;
        }
    } catch (...) {
        over = true;
        raiser.join();
        throw;
    }
    raiser.join();
}

/// Two endpoints of this process, connected with each other.
class Loop {
  public:
    Loop() {
        side.listen(kQualifier);
        succeed(Side::connect(active_, kQualifier), "dat_ep_connect");
        succeed(dat_cr_accept(side.request(), passive_, 0, nullptr), "dat_cr_accept");
        for (int end = 0; end < 2; ++end)
            Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    void write() {
        DAT_LMR_TRIPLET from = buffer_.all();
        from.segment_length /= 2;
        DAT_RMR_TRIPLET to{};
        to.virtual_address = from.virtual_address + from.segment_length;
        to.segment_length = from.segment_length;
        to.rmr_context = buffer_.remote_key;
        succeed(dat_ep_post_rdma_write(active_, 1, &from, DAT_DTO_COOKIE{}, &to,
                                       DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_write");
    }

    Side side;

  private:
    Buffer buffer_{side};
    DAT_EP_HANDLE active_ = side.endpoint();
    DAT_EP_HANDLE passive_ = side.endpoint();
};

class Waking : public testing::Test {
  protected:
    TemporaryFabric fabric_;
};

void post_software_event(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    succeed(dat_evd_post_se(evd, &event), "dat_evd_post_se");
}

TEST_F(Waking, by_software_events_is_never_lost) {
    Side side;
    DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    race([&] { post_software_event(evd); }, [&] { Side::wait(evd, DAT_SOFTWARE_EVENT); });
    Side::expect_empty(evd);
}

TEST_F(Waking, by_completions_is_never_lost) {
    Loop loop;
    race([&] { loop.write(); }, [&] { Side::wait(loop.side.sends, DAT_DTO_COMPLETION_EVENT); });
    Side::expect_empty(loop.side.sends);
}

/// Attaches the EVD to a new CNO. @return the CNO.
DAT_CNO_HANDLE watch(const Side& side, DAT_EVD_HANDLE evd) {
    DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
    succeed(dat_cno_create(side.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
    succeed(dat_evd_modify_cno(evd, cno), "dat_evd_modify_cno");
    return cno;
}

/// Waits until the CNO names this EVD and the EVD has an event. A trigger may come late, when its
/// event has already been consumed.
void take_by_cno(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    do {
        DAT_EVD_HANDLE told = DAT_HANDLE_NULL;
        succeed(dat_cno_wait(cno, kMicroseconds, &told), "dat_cno_wait");
        require(told == evd, "the CNO names the EVD");
    } while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS);
}

TEST_F(Waking, of_cno_waiters_by_software_events_is_never_lost) {
    Side side;
    DAT_EVD_HANDLE evd = side.evd(DAT_EVD_SOFTWARE_FLAG, 8);
    DAT_CNO_HANDLE cno = watch(side, evd);
    race([&] { post_software_event(evd); }, [&] { take_by_cno(cno, evd); });
    Side::expect_empty(evd);
}

TEST_F(Waking, of_cno_waiters_by_completions_is_never_lost) {
    Loop loop;
    DAT_CNO_HANDLE cno = watch(loop.side, loop.side.sends);
    race([&] { loop.write(); }, [&] { take_by_cno(cno, loop.side.sends); });
    Side::expect_empty(loop.side.sends);
}

/// One end of a game of ping-pong in which both ends sleep for every message.
class Player {
  public:
    Player(DAT_EP_HANDLE ep, const Side& side) : side_(side), ep_(ep) { post_receive(); }
    void post_receive() {
        DAT_LMR_TRIPLET where = buffer_.all();
        succeed(dat_ep_post_recv(ep_, 1, &where, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
    }
    void send() {
        hesitate_();
        DAT_LMR_TRIPLET where = buffer_.all();
        succeed(dat_ep_post_send(ep_, 1, &where, DAT_DTO_COOKIE{}, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        Side::wait(side_.sends, DAT_DTO_COMPLETION_EVENT);
    }
    void receive() {
        wait_awake([&] { Side::wait(side_.receives, DAT_DTO_COMPLETION_EVENT); });
        post_receive();
    }

  private:
    const Side& side_;
    DAT_EP_HANDLE ep_;
    Buffer buffer_{side_, 64};
    Hesitation hesitate_{static_cast<unsigned>(getpid())};
};

TEST_F(Waking, by_messages_of_another_process_is_never_lost) {
    const int rounds = races() / 2;  // each wakes both ends
    Child child([rounds](Channel& channel) {
        const OnProcessor first(0);
        Side side;
        side.listen(kQualifier);
        channel.send('l');
        DAT_EP_HANDLE ep = side.endpoint();
        Player player(ep, side);
        succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
        for (int round = 0; round < rounds; ++round) {
            player.receive();
            player.send();
        }
        channel.meet();
    });
    child.channel().receive<char>();
    const OnProcessor second(1);
    Side side;
    DAT_EP_HANDLE ep = side.endpoint();
    Player player(ep, side);
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    for (int round = 0; round < rounds; ++round) {
        player.send();
        player.receive();
    }
    child.channel().meet();
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
