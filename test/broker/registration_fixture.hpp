// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registration tables for tests: each in its own directory, with members in this process and in
/// others.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "test/support/process.hpp"

namespace registration {

using namespace dapl::memory;
using test::Channel;
using test::Child;
using test::eventually;
using namespace std::chrono_literals;

inline constexpr Time kMillisecond = 1'000'000;
inline constexpr Time kSecond = 1'000'000'000;
inline constexpr const char* kAdapter = "adapter0";

/// @return a deadline later than any test wants to wait.
inline Time later() {
    return now() + 60 * kSecond;
}

/// The directory with the tables of one test.
class Place : public test::TemporaryDirectory {
  public:
    std::string file() const { return path() + "/registrations-" + kAdapter; }

    std::unique_ptr<Broker> join(const Terms& terms, std::uint32_t share = 1) const {
        auto broker = Broker::join(path(), kAdapter, terms, Member{share});
        if (!broker) throw std::runtime_error("join: " + broker.error().cause);
        return std::move(*broker);
    }
};

/// @return terms under which entries are revoked at once, unless there is a grace period.
inline Terms terms(std::uint64_t entries, const std::string& policy = "lru", Time grace = 0) {
    return {.entries = entries, .bytes = 0, .grace = grace, .low = 0, .high = 0, .policy = policy};
}

/// Takes an entry, which must be available.
inline SlotId take(Broker& broker, Class kind = Class::kRdma, std::uint64_t bytes = 4096) {
    auto slot = broker.try_take({kind, bytes});
    if (!slot) throw std::runtime_error("no entry: " + std::to_string(int(slot.error())));
    return *slot;
}

/// @return all pending upcalls of a process.
inline std::vector<Upcall> all(Broker& broker) {
    std::vector<Upcall> upcalls;
    while (auto upcall = broker.next()) upcalls.push_back(*upcall);
    return upcalls;
}

}  // namespace registration
