// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lane: checks that the data that arrived is what was sent.
#include <cstring>

#include "tools/common/failure.hpp"
#include "tools/perf/lane.hpp"

namespace perf {

namespace {

/// Neighbouring bytes differ, and so do bytes one page, or one pattern length, apart.
unsigned char pattern_at(std::uint64_t position) {
    return static_cast<unsigned char>((position * 131 + (position >> 8) * 7 + (position >> 16)) ^
                                      0x5a);
}

}  // namespace

void Lane::fill() {
    if (!terms_.check) return;
    for (std::uint64_t i = 0; i < out_.length(); ++i) out_.data()[i] = pattern_at(i);
    for (std::uint64_t i = 0; i < in_.length(); ++i)
        in_.data()[i] = static_cast<unsigned char>(~pattern_at(i));
    if (measurement_.ping_pong()) in_.data()[measurement_.size - 1] = 0;
}

void Lane::verify(bool requester, std::uint64_t count) {
    if (!terms_.check || count == 0) return;
    const Operation operation = measurement_.operation;
    if (is_atomic(operation)) {
        if (requester && !measurement_.two_ways) return;
        for (unsigned i = 0; i < terms_.endpoints; ++i) {
            if (word(i, kAtomic) == count) continue;
            throw tools::Failure(
                "--check",
                tools::format("%llu after %s", static_cast<unsigned long long>(word(i, kAtomic)),
                              std::string(name_of(operation)).c_str()),
                tools::format("%llu", static_cast<unsigned long long>(count)),
                "report this as a fault of the provider");
        }
        return;
    }
    const bool arrives_here = measurement_.ping_pong() || measurement_.two_ways ||
                              requester == (operation == Operation::read);
    if (!arrives_here || operation == Operation::registration) return;
    // The last byte of a ping-pong by RDMA write is its signal.
    const bool signal = measurement_.ping_pong() && operation == Operation::write;
    for (std::uint64_t i = 0; i < measurement_.size - (signal ? 1 : 0); ++i) {
        if (in_.data()[i] == pattern_at(i)) continue;
        throw tools::Failure(
            "--check",
            tools::format("byte %llu of %s is 0x%02x", static_cast<unsigned long long>(i),
                          std::string(name_of(operation)).c_str(), in_.data()[i]),
            tools::format("0x%02x", pattern_at(i)), "report this as a fault of the provider");
    }
}

}  // namespace perf
