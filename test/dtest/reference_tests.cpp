// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/reference_tests.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "test/dtest/pattern.hpp"
#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr std::uint32_t kMessages = 100;
constexpr std::uint32_t kReads = 4;
constexpr std::uint32_t kRmrMessageSize = sizeof(DAT_RMR_TRIPLET);
constexpr std::uint32_t kImmediate = 0x7777;
constexpr unsigned char kPing = 0x55, kPong = 0xaa;
/// The data check fills messages with these bytes in turn; each fifth message is pseudo-random.
constexpr unsigned char kFills[] = {0, 0xff, 0x55, 0xaa};
constexpr unsigned kFillCount = 5;
constexpr unsigned kPollsBeforeYield = 1000;
constexpr unsigned kYieldsBeforeLook = 64;

using Bytes = std::vector<unsigned char>;

/// @return `size` bytes: `text` with its NUL, then `fill`; cut off if `text` is longer.
Bytes text_in(std::uint32_t size, unsigned char fill, const std::string& text) {
    Bytes bytes(std::max<std::size_t>(size, text.size() + 1), fill);
    std::memcpy(bytes.data(), text.c_str(), text.size() + 1);
    bytes.resize(size);
    return bytes;
}

class ReferenceTests {
  public:
    ReferenceTests(Endpoint& endpoint, const Options& options)
        : endpoint_(endpoint), options_(options), size_(options.size) {}

    void write_with_message();
    void write_with_immediate();
    void read_with_message();
    void message_ping_pong();
    void write_ping_pong(std::uint32_t size);
    std::vector<Result> results() { return std::move(results_); }

  private:
    bool server() const { return options_.server(); }
    bool writes() const { return !options_.one_way || !server(); }
    bool is_written() const { return !options_.one_way || server(); }
    const char* me() const { return server() ? "server" : "client"; }
    const char* peer() const { return server() ? "client" : "server"; }
    Deadline deadline() const { return patience(options_, 2.0 * size_ * options_.burst); }
    /// Sends the address of the target region: the peer uses the one in the latest message.
    void send_message() { send_memory(endpoint_, deadline()); }
    void receive_message();
    void exchange_messages();
    void stream(bool immediate_last);
    void check_target(const Bytes& expected, const char* what) const;
    void check_read(const Bytes& before, const Bytes& after) const;
    void wait_last_byte(std::uint32_t size, unsigned char expected);
    void prepare_ping(std::uint32_t size, unsigned index);

    Endpoint& endpoint_;
    const Options& options_;
    std::uint32_t size_;
    std::vector<Result> results_;
};

void ReferenceTests::receive_message() {
    const Received received = endpoint_.receive(deadline());
    if (received.length != kRmrMessageSize || received.has_immediate) {
        throw Failure("message", format("%u bytes", received.length), format("%u", kRmrMessageSize),
                      "start both sides with the same options");
    }
    endpoint_.release_slot(received.slot);
}

/// Each side reports to the other that it is done, the client first.
void ReferenceTests::exchange_messages() {
    if (!server()) send_message();
    receive_message();
    if (server()) send_message();
}

void ReferenceTests::check_target(const Bytes& expected, const char* what) const {
    const unsigned char* found = endpoint_.target().at(0);
    const auto [wrong, wanted] = std::mismatch(found, found + size_, expected.begin());
    if (wrong == found + size_) return;
    throw Failure(what, format("byte %td of %u is 0x%02x", wrong - found, size_, *wrong),
                  format("0x%02x", *wanted),
                  "start both sides with the same options; else the data was corrupted on its way");
}

void ReferenceTests::stream(bool immediate_last) {
    for (std::uint32_t i = 0; i < options_.burst; ++i) {
        const bool last = i + 1 == options_.burst;
        const bool signalled = (i + 1) % options_.signal_rate == 0 || last;
        if (last && immediate_last) {
            endpoint_.post_write_immediate(0, 0, size_, i, kImmediate, signalled);
        } else {
            endpoint_.post_write(0, 0, size_, i, signalled);
        }
        if (signalled) endpoint_.complete_request(i, size_, deadline());
    }
}

void ReferenceTests::write_with_message() {
    const Bytes mine = text_in(size_, 'b', format("%s RDMA write data...", me()));
    std::memcpy(endpoint_.source().at(0), mine.data(), mine.size());
    const double start = now_us();
    if (writes()) stream(false);
    exchange_messages();
    if (writes()) results_.push_back({Operation::kWrite, size_, options_.burst, now_us() - start});
    if (is_written())
        check_target(text_in(size_, 'b', format("%s RDMA write data...", peer())), "RDMA write");
}

void ReferenceTests::write_with_immediate() {
    const auto final_state = [&](const std::string& who) {
        Bytes bytes = text_in(
            size_, 'b',
            who + " RDMA write data...rdma writes completed == " + std::to_string(options_.burst));
        bytes.back() = static_cast<unsigned char>(options_.burst - 1);
        return bytes;
    };
    const Bytes mine = final_state(me());
    std::memcpy(endpoint_.source().at(0), mine.data(), mine.size());
    const double start = now_us();
    if (writes()) stream(true);
    if (is_written()) {
        const Received received = endpoint_.receive(deadline());
        if (!received.has_immediate || received.immediate != kImmediate ||
            received.length != size_) {
            throw Failure(
                "receive of a write with immediate",
                format("%u bytes, immediate data 0x%x", received.length, received.immediate),
                format("%u bytes, 0x%x", size_, kImmediate),
                "start both sides with the same options");
        }
        endpoint_.release_slot(received.slot);
    }
    exchange_messages();
    if (writes()) results_.push_back({Operation::kWrite, size_, options_.burst, now_us() - start});
    if (is_written()) check_target(final_state(peer()), "RDMA write with immediate");
}

/// Accepts the old or the new byte everywhere, as the peer overwrites its text at an unknown time.
void ReferenceTests::check_read(const Bytes& before, const Bytes& after) const {
    const unsigned char* found = endpoint_.source().at(0);
    for (std::uint32_t i = 0; i < size_; ++i) {
        if (found[i] == before[i] || found[i] == after[i]) continue;
        throw Failure(
            "RDMA read", format("byte %u of %u is 0x%02x", i, size_, found[i]),
            format("0x%02x or 0x%02x", before[i], after[i]),
            "start both sides with the same options; else the data was corrupted on its way");
    }
}

void ReferenceTests::read_with_message() {
    // The peer's buffer contains our writes or, if there were none, its initial text.
    const Bytes before = writes() ? text_in(size_, 'b', format("%s RDMA write data...", me()))
                                  : text_in(size_, 'a', "blah, blah, blah\n");
    Bytes after = before;
    const std::string text = format("%s RDMA read data...", peer());
    std::memcpy(after.data(), text.c_str(), std::min<std::size_t>(size_, text.size() + 1));
    const Bytes mine = text_in(size_, 'b', format("%s RDMA read data...", me()));
    std::memcpy(endpoint_.target().at(0), mine.data(), mine.size());
    double total_us = 0;
    for (std::uint32_t i = 0; i < kReads; ++i) {
        const double start = now_us();
        endpoint_.post_read(0, 0, size_, i);
        endpoint_.complete_request(i, size_, deadline());
        total_us += now_us() - start;
        check_read(before, after);
    }
    results_.push_back({Operation::kRead, size_, kReads, total_us});
    // With a CNO the peer takes this message for the end of its own reads; let it finish them.
    if (options_.cno) sleep(1);
    send_message();
    receive_message();
}

void ReferenceTests::message_ping_pong() {
    std::memset(endpoint_.source().at(0), server() ? kPong : kPing, size_);
    // The peer posts its receives now without notice, and not every device holds back messages that
    // arrive earlier.
    sleep(1);
    double start = now_us();
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        const bool signalled = (i + 1) % 8 == 0 || i + 1 == kMessages;
        if (!server()) endpoint_.post_send(endpoint_.source(), 0, size_, i, signalled);
        const Received received = endpoint_.receive(deadline());
        if (i == 0 && server()) start = now_us();
        const unsigned char first = *endpoint_.receive_slot(received.slot);
        if (received.length != size_ || first != (server() ? kPing : kPong)) {
            throw Failure("message",
                          format("%u bytes beginning with 0x%02x", received.length, first),
                          format("%u bytes beginning with 0x%02x", size_, server() ? kPing : kPong),
                          "start both sides with the same options");
        }
        endpoint_.release_slot(received.slot);
        if (server()) endpoint_.post_send(endpoint_.source(), 0, size_, i, signalled);
        if (signalled) endpoint_.complete_request(i, size_, deadline());
    }
    results_.push_back({Operation::kMessagePingPong, size_, kMessages, now_us() - start});
}

void ReferenceTests::wait_last_byte(std::uint32_t size, unsigned char expected) {
    const unsigned char* last = endpoint_.target().at(size - 1);
    const Deadline limit = patience(options_, size);
    for (unsigned polls = 1; __atomic_load_n(last, __ATOMIC_ACQUIRE) != expected; ++polls) {
        if (polls % kPollsBeforeYield != 0) continue;
        sched_yield();
        if (polls % (kPollsBeforeYield * kYieldsBeforeLook) != 0) continue;
        endpoint_.require_connection();
        if (!limit.passed()) continue;
        throw Failure("RDMA write ping-pong", format("the last byte is 0x%02x", *last),
                      format("0x%02x", expected), "look at the other side's messages");
    }
}

/// Fills all but the last byte of the source. The server sends back what it received.
void ReferenceTests::prepare_ping(std::uint32_t size, unsigned index) {
    if (!options_.data_check) return;
    unsigned char* source = endpoint_.source().at(0);
    const unsigned fill = index % kFillCount;
    if (server()) {
        std::memcpy(source, endpoint_.target().at(0), size - 1);
    } else if (fill < std::size(kFills)) {
        std::memset(source, kFills[fill], size - 1);
    } else {
        Pattern{0, index}.fill(source, size - 1, 0);
    }
}

void ReferenceTests::write_ping_pong(std::uint32_t size) {
    unsigned char* source = endpoint_.source().at(0);
    const double start = now_us();
    for (std::uint32_t i = 0; i < options_.burst; ++i) {
        const auto count = static_cast<unsigned char>(i + 1);
        const bool signalled = (i + 1) % options_.signal_rate == 0 || i + 1 == options_.burst;
        if (server()) wait_last_byte(size, count);
        prepare_ping(size, i);
        source[size - 1] = count;
        endpoint_.post_write(0, 0, size, i, signalled);
        if (signalled) endpoint_.complete_request(i, size, deadline());
        if (server()) continue;
        wait_last_byte(size, count);
        if (!options_.data_check) continue;
        const unsigned char* found = endpoint_.target().at(0);
        const auto [wrong, wanted] = std::mismatch(found, found + size, source);
        if (wrong == found + size) continue;
        throw Failure("RDMA write ping-pong",
                      format("byte %td of %u is 0x%02x", wrong - found, size, *wrong),
                      format("0x%02x", *wanted),
                      "the data was corrupted on its way, or the server is no dtest -D");
    }
    results_.push_back({Operation::kWritePingPong, size, options_.burst, now_us() - start});
}

}  // namespace

std::vector<Result> run_reference_tests(Endpoint& endpoint, const Options& options) {
    ReferenceTests tests(endpoint, options);
    if (options.write_ping_pong) {
        for (const std::uint32_t size : options.sizes()) tests.write_ping_pong(size);
        return tests.results();
    }
    if (options.write_only && endpoint.is_infiniband()) {
        tests.write_with_immediate();
    } else {
        tests.write_with_message();
    }
    if (options.write_only || !endpoint.offers_read()) return tests.results();
    tests.read_with_message();
    tests.message_ping_pong();
    return tests.results();
}

}  // namespace dtest
