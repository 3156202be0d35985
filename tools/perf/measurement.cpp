// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/measurement.hpp"

#include <sstream>

namespace perf {

namespace {

constexpr unsigned kMostThreads = 256;
constexpr unsigned kMostEndpoints = 4096;
constexpr unsigned kDeepest = 1 << 16;
constexpr unsigned kLongestTimeout = 86400;

bool in_range(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    return value >= least && value <= most;
}

/// @return whether all words were read and none is left.
bool at_end(std::istringstream& words) {
    std::string more;
    return !words.fail() && !(words >> more);
}

bool is_room(const Room& room) {
    return room.out <= kLargestSize && room.in <= kLargestSize;
}

}  // namespace

void Rooms::include(const Measurement& measurement) {
    const std::uint64_t size = measurement.size;
    const bool to_peer = measurement.operation == Operation::send ||
                         measurement.operation == Operation::write ||
                         measurement.operation == Operation::write_immediate ||
                         is_registration(measurement.operation);
    const Room requester = to_peer ? Room{size, 0} : Room{0, size};
    const Room target = to_peer ? Room{0, size} : Room{size, 0};
    client.include(requester);
    server.include(target);
    if (measurement.two_ways || measurement.ping_pong()) {
        client.include(target);
        server.include(requester);
    }
}

std::string encode(const Terms& terms) {
    std::ostringstream words;
    words << terms.threads << ' ' << terms.endpoints << ' ' << terms.depth << ' '
          << terms.signal_rate << ' ' << terms.timeout_seconds << ' ' << terms.check << ' '
          << static_cast<unsigned>(terms.memory);
    for (const Room& room : {terms.rooms.client, terms.rooms.server})
        words << ' ' << room.out << ' ' << room.in;
    return words.str();
}

std::optional<Terms> decode_terms(const std::string& text) {
    std::istringstream words(text);
    Terms terms;
    unsigned memory = 0;
    words >> terms.threads >> terms.endpoints >> terms.depth >> terms.signal_rate >>
        terms.timeout_seconds >> terms.check >> memory >> terms.rooms.client.out >>
        terms.rooms.client.in >> terms.rooms.server.out >> terms.rooms.server.in;
    if (!at_end(words) || !in_range(terms.threads, 1, kMostThreads) ||
        !in_range(terms.endpoints, 1, kMostEndpoints) || !in_range(terms.depth, 1, kDeepest) ||
        !in_range(terms.signal_rate, 1, terms.depth) ||
        !in_range(terms.timeout_seconds, 1, kLongestTimeout) || memory >= kMemoryNames.size() ||
        !is_room(terms.rooms.client) || !is_room(terms.rooms.server))
        return std::nullopt;
    terms.memory = static_cast<Memory>(memory);
    return terms;
}

std::string encode(const Pass& pass) {
    const Measurement& measurement = pass.measurement;
    std::ostringstream words;
    words << static_cast<unsigned>(measurement.test) << ' '
          << static_cast<unsigned>(measurement.operation) << ' ' << measurement.size << ' '
          << measurement.blocking << ' ' << measurement.two_ways << ' ' << pass.count;
    return words.str();
}

std::optional<Pass> decode_pass(const std::string& text) {
    std::istringstream words(text);
    Pass pass;
    Measurement& measurement = pass.measurement;
    unsigned test = 0;
    unsigned operation = 0;
    words >> test >> operation >> measurement.size >> measurement.blocking >>
        measurement.two_ways >> pass.count;
    if (!at_end(words) || test >= kTestNames.size() || operation >= kOperations ||
        !in_range(measurement.size, 1, kLargestSize))
        return std::nullopt;
    measurement.test = static_cast<Test>(test);
    measurement.operation = static_cast<Operation>(operation);
    return pass;
}

}  // namespace perf
