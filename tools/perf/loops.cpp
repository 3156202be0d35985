// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/loops.hpp"

#include <numeric>

#include "tools/perf/interrupt.hpp"
#include "tools/perf/ticks.hpp"

namespace perf {

namespace {

/// Largest number of requests posted to one endpoint before the next one, and before polling.
constexpr unsigned kBurst = 16;

void post_when_there_is_room(Lane& lane, unsigned endpoint, bool last) {
    while (!lane.has_room(endpoint)) lane.take();
    lane.post(endpoint, last);
}

void drain_all(Lane& lane) {
    for (unsigned i = 0; i < lane.endpoints().size(); ++i) lane.drain(i);
}

/// Calls `step(endpoint, last, number)` for each operation, in turn on each endpoint.
template <class Step>
void for_each_operation(const Lane& lane, std::uint64_t count, Step step) {
    const auto endpoints = static_cast<unsigned>(lane.endpoints().size());
    std::uint64_t number = 0;
    for (std::uint64_t round = 1; round <= count; ++round) {
        check_interrupt();
        for (unsigned endpoint = 0; endpoint < endpoints; ++endpoint)
            step(endpoint, round == count, ++number);
    }
}

/// Posts each operation and waits for it, timed from the end of the one before. A time is recorded
/// while the next operation is under way.
template <class Post, class Wait>
void for_each_timed(const Lane& lane, std::uint64_t count, Histogram& histogram, Post post,
                    Wait wait) {
    std::uint64_t before = ticks();
    std::uint64_t took = 0;
    for_each_operation(lane, count, [&](unsigned endpoint, bool last, std::uint64_t number) {
        post(endpoint, last, number);
        if (number > 1) histogram.add(took);
        wait(endpoint, number);
        const std::uint64_t after = ticks();
        took = after - before;
        before = after;
    });
    if (count > 0) histogram.add(took);
}

void ping_pong_by_messages(Lane& lane, std::uint64_t count, bool requester, Part& part) {
    const auto post = [&](unsigned endpoint, bool last, std::uint64_t) {
        post_when_there_is_room(lane, endpoint, last);
    };
    if (requester) {
        for_each_timed(lane, count, part.ticks, post,
                       [&](unsigned, std::uint64_t) { lane.take_receive(); });
    } else {
        for_each_operation(lane, count, [&](unsigned endpoint, bool last, std::uint64_t number) {
            lane.take_receive();
            post(endpoint, last, number);
        });
    }
}

/// Each write ends in a byte that differs from that of the previous write.
void ping_pong_by_memory(Lane& lane, std::uint64_t count, bool requester, Part& part) {
    const auto post = [&](unsigned endpoint, bool last, std::uint64_t number) {
        lane.set_last_byte(static_cast<unsigned char>(number));
        post_when_there_is_room(lane, endpoint, last);
    };
    const auto wait = [&](unsigned, std::uint64_t number) {
        lane.await_byte(static_cast<unsigned char>(number));
    };
    if (requester) {
        for_each_timed(lane, count, part.ticks, post, wait);
    } else {
        for_each_operation(lane, count, [&](unsigned endpoint, bool last, std::uint64_t number) {
            wait(endpoint, number);
            post(endpoint, last, number);
        });
    }
}

void one_at_a_time(Lane& lane, std::uint64_t count, Part& part) {
    for_each_timed(
        lane, count, part.ticks,
        [&](unsigned endpoint, bool, std::uint64_t) { lane.post(endpoint, true); },
        [&](unsigned endpoint, std::uint64_t) { lane.drain(endpoint); });
}

void register_again_and_again(Lane& lane, std::uint64_t count, Part& part) {
    for_each_timed(
        lane, count, part.ticks, [](unsigned, bool, std::uint64_t) {},
        [&](unsigned, std::uint64_t) { lane.register_once(); });
}

/// Sends and receives with as many requests outstanding as the queues hold.
class Stream {
  public:
    Stream(Lane& lane, const Pass& pass, bool sends, bool receives)
        : lane_(lane),
          left_(lane.endpoints().size(), sends ? pass.count : 0),
          to_send_(sends ? pass.count * lane.endpoints().size() : 0),
          to_receive_(receives ? pass.count * lane.endpoints().size() : 0) {}

    void run() {
        while (to_send_ > 0 || to_receive_ > 0) {
            check_interrupt();
            const bool posted = post_bursts();
            if (posted && to_receive_ == 0 && has_room_again()) continue;
            posted ? take_what_is_there() : wait();
        }
    }

  private:
    bool post_bursts() {
        bool posted = false;
        for (unsigned i = 0; i < left_.size(); ++i) {
            for (unsigned burst = 0; burst < kBurst && left_[i] > 0 && lane_.has_room(i); ++burst) {
                --to_send_;
                lane_.post(i, --left_[i] == 0);
                posted = true;
            }
        }
        return posted;
    }
    bool has_room_again() const {
        for (unsigned i = 0; i < left_.size(); ++i)
            if (left_[i] > 0 && lane_.has_room(i)) return true;
        return false;
    }
    void count(const Lane::Event& event) {
        if (event.kind == Lane::Kind::receive) --to_receive_;
    }
    void take_what_is_there() {
        Lane::Event event;
        for (unsigned i = 0; i < kBurst && lane_.try_take(event); ++i) count(event);
    }
    bool event_is_certain() const {
        if (to_receive_ > 0) return true;
        for (unsigned i = 0; i < left_.size(); ++i)
            if (lane_.outstanding(i) > 0) return true;
        return false;
    }
    /// A receiver's credit arrives as an RDMA write, which generates no event to wait for.
    void wait() {
        if (event_is_certain()) {
            count(lane_.take());
            take_what_is_there();
            return;
        }
        Lane::Patience patience(lane_, SpinWait::For::kMemory);
        while (!has_room_again()) patience.idle();
    }

    Lane& lane_;
    std::vector<std::uint64_t> left_;  ///< left to send, per endpoint
    std::uint64_t to_send_;            ///< sum over all endpoints
    std::uint64_t to_receive_;
};

}  // namespace

void run_part(Lane& lane, const Pass& pass, bool requester, Part& part) {
    const Measurement& measurement = pass.measurement;
    const bool requests = requester || measurement.two_ways || measurement.ping_pong();
    part.began_ns = now_ns();
    if (measurement.test != Test::latency) {
        const bool receives =
            takes_receive(measurement.operation) && (!requester || measurement.two_ways);
        Stream(lane, pass, requests, receives).run();
    } else if (measurement.ping_pong()) {
        takes_receive(measurement.operation)
            ? ping_pong_by_messages(lane, pass.count, requester, part)
            : ping_pong_by_memory(lane, pass.count, requester, part);
    } else if (requester) {
        is_registration(measurement.operation) ? register_again_and_again(lane, pass.count, part)
                                               : one_at_a_time(lane, pass.count, part);
    }
    drain_all(lane);
    part.ended_ns = now_ns();
    if (requests) part.messages = pass.count * lane.endpoints().size();
}

}  // namespace perf
