// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/checked_tests.hpp"

#include <arpa/inet.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/dtest/pattern.hpp"
#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr std::uint32_t kMessages = 100;
constexpr std::uint32_t kReads = 100;
constexpr std::uint32_t kImmediateWrites = 100;
constexpr std::uint32_t kSyncMark = 0x4f445453;
constexpr unsigned kPollsBeforeYield = 1000;
constexpr unsigned kYieldsBeforeLook = 64;

class CheckedTests {
  public:
    CheckedTests(Endpoint& endpoint, const Options& options)
        : endpoint_(endpoint), options_(options) {}

    void write_stream(Operation operation, std::uint32_t size);
    void read(std::uint32_t size);
    void message_ping_pong(std::uint32_t size);
    void write_ping_pong(std::uint32_t size);
    /// Waits until both sides have reached the same step and all earlier transfers have arrived.
    void sync();
    std::vector<Result> results() { return std::move(results_); }

  private:
    enum class Side { kMine, kTheirs };
    /// Calls prepare(count), timed(count) and check(count) for rounds of at most a window, with a
    /// sync() before and after timed(). @return the total microseconds of all timed().
    template <class Prepare, class Timed, class Check>
    double rounds(std::uint32_t total, std::uint32_t size, Prepare prepare, Timed timed,
                  Check check);
    Pattern pattern(Side side) const;
    void check_slot(const unsigned char* memory, std::uint32_t size, unsigned slot,
                    const char* what) const;
    void fill_source(unsigned count, std::uint32_t size);
    void poison(Region& region, unsigned count, std::uint32_t size);
    void check_region(Region& region, unsigned count, std::uint32_t size, const char* what) const;
    Received receive(std::uint32_t length);
    void wait_last_byte(unsigned slot, std::uint32_t size);
    bool signalled(unsigned index, unsigned count) const {
        return (index + 1) % options_.signal_rate == 0 || index + 1 == count;
    }
    Deadline deadline() const { return patience(options_, static_cast<double>(round_bytes_)); }

    Endpoint& endpoint_;
    const Options& options_;
    std::vector<Result> results_;
    std::uint32_t step_ = 0;  ///< counts sync()
    unsigned test_ = 0;       ///< counts tests: each has its own pattern
    unsigned round_ = 0;
    std::uint64_t round_bytes_ = 0;
};

Pattern CheckedTests::pattern(Side side) const {
    const bool from_server = (side == Side::kMine) == options_.server();
    return {2ull * test_ + (from_server ? 1 : 0), round_};
}

void CheckedTests::sync() {
    const std::uint32_t mine[2] = {htonl(kSyncMark), htonl(++step_)};
    std::uint32_t theirs[2] = {};
    endpoint_.send_control(mine, sizeof mine, deadline());
    const Received received = endpoint_.receive(deadline());
    if (received.length == sizeof theirs && !received.has_immediate) {
        std::memcpy(theirs, endpoint_.receive_slot(received.slot), sizeof theirs);
    }
    if (std::memcmp(mine, theirs, sizeof mine) != 0) {
        throw Failure("message", format("%u bytes, step %u", received.length, ntohl(theirs[1])),
                      format("the %zu bytes of step %u", sizeof mine, step_),
                      "report this as a fault of the provider: a message was lost or changed");
    }
    endpoint_.release_slot(received.slot);
}

template <class Prepare, class Timed, class Check>
double CheckedTests::rounds(std::uint32_t total, std::uint32_t size, Prepare prepare, Timed timed,
                            Check check) {
    const std::uint32_t window = endpoint_.capacity().window;
    double total_us = 0;
    ++test_;
    for (std::uint32_t done = 0; done < total; done += window, ++round_) {
        const unsigned count = std::min(window, total - done);
        round_bytes_ = std::uint64_t{count} * size;
        prepare(count);
        sync();
        const double start = now_us();
        timed(count);
        total_us += now_us() - start;
        sync();
        check(count);
    }
    return total_us;
}

void CheckedTests::fill_source(unsigned count, std::uint32_t size) {
    pattern(Side::kMine).fill(endpoint_.source().at(0), std::size_t{count} * size, 0);
}

void CheckedTests::poison(Region& region, unsigned count, std::uint32_t size) {
    pattern(Side::kTheirs).poison(region.at(0), std::size_t{count} * size, 0);
}

void CheckedTests::check_slot(const unsigned char* memory, std::uint32_t size, unsigned slot,
                              const char* what) const {
    const Pattern expected = pattern(Side::kTheirs);
    const std::uint64_t position = std::uint64_t{slot} * size;
    const auto wrong = expected.first_difference(memory, size, position);
    if (!wrong) return;
    throw Failure(what,
                  format("byte %zu of %u of transfer %u, round %u, is 0x%02x", *wrong, size, slot,
                         round_, memory[*wrong]),
                  format("0x%02x", expected.at(position + *wrong)),
                  "the data was corrupted on its way: report this as a fault of the provider");
}

void CheckedTests::check_region(Region& region, unsigned count, std::uint32_t size,
                                const char* what) const {
    for (unsigned slot = 0; slot < count; ++slot)
        check_slot(region.at(std::size_t{slot} * size), size, slot, what);
}

Received CheckedTests::receive(std::uint32_t length) {
    const Received received = endpoint_.receive(deadline());
    if (received.length == length) return received;
    throw Failure("receive completion", format("transfered_length %u", received.length),
                  format("%u", length), "report this as a fault of the provider");
}

void CheckedTests::write_stream(Operation operation, std::uint32_t size) {
    const bool immediate = operation == Operation::kWriteImmediate;
    const bool sends = !options_.one_way || !options_.server();
    const bool gets = !options_.one_way || options_.server();
    const std::uint32_t total =
        immediate ? std::min(kImmediateWrites, options_.burst) : options_.burst;
    const auto tag = [&](unsigned i) { return round_ << 8 | i; };
    const auto prepare = [&](unsigned count) {
        if (sends) fill_source(count, size);
        if (gets) poison(endpoint_.target(), count, size);
    };
    const auto timed = [&](unsigned count) {
        for (unsigned i = 0; sends && i < count; ++i) {
            const std::size_t offset = std::size_t{i} * size;
            if (immediate) {
                endpoint_.post_write_immediate(offset, offset, size, tag(i), tag(i),
                                               signalled(i, count));
            } else {
                endpoint_.post_write(offset, offset, size, tag(i), signalled(i, count));
            }
            if (signalled(i, count)) endpoint_.complete_request(tag(i), size, deadline());
        }
        for (unsigned i = 0; gets && immediate && i < count; ++i) {
            const Received received = receive(size);
            if (!received.has_immediate || received.immediate != tag(i)) {
                throw Failure("receive of a write with immediate",
                              format("immediate data 0x%x", received.immediate),
                              format("0x%x", tag(i)), "report this as a fault of the provider");
            }
            endpoint_.release_slot(received.slot);
        }
    };
    const auto check = [&](unsigned count) {
        if (gets)
            check_region(endpoint_.target(), count, size,
                         immediate ? "RDMA write with immediate" : "RDMA write");
    };
    const double total_us = rounds(total, size, prepare, timed, check);
    if (sends) results_.push_back({operation, size, total, total_us});
}

void CheckedTests::read(std::uint32_t size) {
    const std::uint32_t total = std::min(kReads, options_.burst);
    const auto prepare = [&](unsigned count) {
        pattern(Side::kMine).fill(endpoint_.target().at(0), std::size_t{count} * size, 0);
        poison(endpoint_.source(), count, size);
    };
    const auto timed = [&](unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            endpoint_.post_read(std::size_t{i} * size, std::size_t{i} * size, size, i);
            endpoint_.complete_request(i, size, deadline());
        }
    };
    const auto check = [&](unsigned count) {
        check_region(endpoint_.source(), count, size, "RDMA read");
    };
    results_.push_back({Operation::kRead, size, total, rounds(total, size, prepare, timed, check)});
}

void CheckedTests::message_ping_pong(std::uint32_t size) {
    unsigned first_slot = 0;
    const auto slot = [&](unsigned i) {
        return (first_slot + i) % endpoint_.capacity().receive_slots();
    };
    const auto prepare = [&](unsigned count) {
        fill_source(count, size);
        // The sync() before the transfer consumes one slot, so these start at the one after it.
        first_slot = endpoint_.next_slot(1);
        for (unsigned i = 0; i < count; ++i) {
            pattern(Side::kTheirs)
                .poison(endpoint_.receive_slot(slot(i)), size, std::uint64_t{i} * size);
        }
    };
    const auto timed = [&](unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            if (options_.server()) receive(size);
            endpoint_.post_send(endpoint_.source(), std::size_t{i} * size, size, i, i + 1 == count);
            if (!options_.server()) receive(size);
        }
        endpoint_.complete_request(count - 1, size, deadline());
    };
    const auto check = [&](unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            check_slot(endpoint_.receive_slot(slot(i)), size, i, "message");
            endpoint_.release_slot(slot(i));
        }
    };
    const double total_us = rounds(kMessages, size, prepare, timed, check);
    results_.push_back({Operation::kMessagePingPong, size, kMessages, total_us});
}

/// Polls memory only: the transfer is complete when its last byte has arrived.
void CheckedTests::wait_last_byte(unsigned slot, std::uint32_t size) {
    const std::uint64_t position = std::uint64_t{slot} * size + size - 1;
    const unsigned char expected = pattern(Side::kTheirs).at(position);
    const unsigned char* last = endpoint_.target().at(position);
    const Deadline limit = deadline();
    for (unsigned polls = 1; __atomic_load_n(last, __ATOMIC_ACQUIRE) != expected; ++polls) {
        if (polls % kPollsBeforeYield != 0) continue;
        sched_yield();
        if (polls % (kPollsBeforeYield * kYieldsBeforeLook) != 0) continue;
        endpoint_.require_connection();
        if (!limit.passed()) continue;
        throw Failure(
            "RDMA write ping-pong", format("the last byte of transfer %u did not arrive", slot),
            format("it within %.0f seconds", limit.seconds()), "look at the other side's messages");
    }
}

void CheckedTests::write_ping_pong(std::uint32_t size) {
    const auto prepare = [&](unsigned count) {
        fill_source(count, size);
        poison(endpoint_.target(), count, size);
    };
    const auto arrive = [&](unsigned i) {
        wait_last_byte(i, size);
        if (options_.data_check) {
            check_slot(endpoint_.target().at(std::size_t{i} * size), size, i,
                       "RDMA write, when its last byte was there");
        }
    };
    const auto timed = [&](unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            if (options_.server()) arrive(i);
            const std::size_t offset = std::size_t{i} * size;
            endpoint_.post_write(offset, offset, size, i, signalled(i, count));
            if (signalled(i, count)) endpoint_.complete_request(i, size, deadline());
            if (!options_.server()) arrive(i);
        }
    };
    const auto check = [&](unsigned count) {
        check_region(endpoint_.target(), count, size, "RDMA write");
    };
    const double total_us = rounds(options_.burst, size, prepare, timed, check);
    results_.push_back({Operation::kWritePingPong, size, options_.burst, total_us});
}

}  // namespace

std::vector<Result> run_checked_tests(Endpoint& endpoint, const Options& options,
                                      const Peer& peer) {
    CheckedTests tests(endpoint, options);
    const bool immediate = endpoint.offers_immediate() && peer.offers_immediate;
    const bool reads = endpoint.offers_read() && peer.offers_read;
    for (const std::uint32_t size : options.sizes()) {
        if (options.write_ping_pong) {
            tests.write_ping_pong(size);
            continue;
        }
        tests.write_stream(Operation::kWrite, size);
        if (immediate) tests.write_stream(Operation::kWriteImmediate, size);
        if (options.write_only) continue;
        if (reads) tests.read(size);
        tests.message_ping_pong(size);
    }
    // Neither side prints PASSED before the other has checked the last bytes that it got.
    tests.sync();
    return tests.results();
}

}  // namespace dtest
