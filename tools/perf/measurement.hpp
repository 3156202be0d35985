// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A measurement, and what both ends must agree on before the measurement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perf {

enum class Test : unsigned { latency, bandwidth, rate };
enum class Operation : unsigned {
    send,
    write,
    write_immediate,
    read,
    fetch_add,
    compare_swap,
    registration,        ///< register and deregister, without a transfer
    registration_write,  ///< register, write all of it, deregister
};

constexpr std::array<std::string_view, 3> kTestNames = {"latency", "bandwidth", "rate"};
constexpr std::array<std::string_view, 8> kOperationNames = {
    "send",      "write",        "write-immediate", "read",
    "fetch-add", "compare-swap", "register",        "register-write"};
constexpr unsigned kOperations = kOperationNames.size();

inline std::string_view name_of(Test test) {
    return kTestNames[static_cast<unsigned>(test)];
}
inline std::string_view name_of(Operation operation) {
    return kOperationNames[static_cast<unsigned>(operation)];
}

constexpr std::uint64_t kAtomicSize = 8;
constexpr std::uint64_t kLargestSize = 1 << 30;

inline bool is_atomic(Operation operation) {
    return operation == Operation::fetch_add || operation == Operation::compare_swap;
}
inline bool is_registration(Operation operation) {
    return operation == Operation::registration || operation == Operation::registration_write;
}
/// @return whether each operation consumes one receive of the other side.
inline bool takes_receive(Operation operation) {
    return operation == Operation::send || operation == Operation::write_immediate;
}

/// One line of the result.
struct Measurement {
    Test test = Test::latency;
    Operation operation = Operation::send;
    std::uint64_t size = 0;  ///< bytes
    bool blocking = false;
    bool two_ways = false;  ///< both sides are requesters; never with latency

    /// @return whether latency is half a round trip; otherwise it is from post to completion. No
    /// call can block until a plain RDMA write arrives, so a blocking one is measured at its own
    /// completion.
    bool ping_pong() const {
        return test == Test::latency &&
               (takes_receive(operation) || (operation == Operation::write && !blocking));
    }
};

/// Bytes of memory that one side needs: `out` for data that leaves it, `in` for data that arrives.
struct Room {
    std::uint64_t out = 0;
    std::uint64_t in = 0;

    void include(const Room& other) {
        out = other.out > out ? other.out : out;
        in = other.in > in ? other.in : in;
    }
};

/// Memory that a measurement needs at the client, which requests it, and at the server.
struct Rooms {
    Room client;
    Room server;

    void include(const Measurement& measurement);
};

enum class Memory : unsigned { best, library, ordinary };
constexpr std::array<std::string_view, 3> kMemoryNames = {"best", "library", "ordinary"};

/// The terms that the client sends to the server before the first measurement.
struct Terms {
    unsigned threads = 1;
    unsigned endpoints = 1;  ///< of each thread
    unsigned depth = 128;    ///< requests of an endpoint that are posted and not complete
    unsigned signal_rate = 32;
    unsigned timeout_seconds = 30;
    bool check = false;
    Memory memory = Memory::best;
    Rooms rooms;

    /// @return the number of receives that an endpoint has posted.
    unsigned receives() const { return 2 * depth; }
};

/// One run of a measurement, which both sides begin together.
struct Pass {
    Measurement measurement;
    std::uint64_t count = 0;  ///< operations of each endpoint
};

/// Their form on the side channel: words separated by a space. Input from a peer is checked.
std::string encode(const Terms& terms);
std::optional<Terms> decode_terms(const std::string& text);
std::string encode(const Pass& pass);
std::optional<Pass> decode_pass(const std::string& text);

}  // namespace perf
