// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The other process, over TCP: the two go through the same steps and exchange what each step
/// needs. This keeps the coordination independent of the provider under test.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "test/dtest/record.hpp"
#include "test/dtest_ext/options.hpp"
#include "tools/common/socket.hpp"

namespace dtest_ext {

/// What a side sends at a step.
struct Note {
    std::string text;  ///< at most 191 characters arrive
    std::array<std::uint64_t, 4> numbers{};
};

class OtherSide {
  public:
    /// Server: waits for its client and sends it `mine`, the server's address. All functions throw
    /// a Failure when the other side is not there, ends or makes no progress.
    OtherSide(const Options& options, const dtest::Record& mine);
    /// Client: connects to the server and receives its record.
    explicit OtherSide(const Options& options);
    OtherSide(OtherSide&&) = default;

    /// @return the server's record.
    const dtest::Record& record() const { return record_; }
    /// Sends `mine` and returns the other side's note once both sides have reached this step.
    Note exchange(const std::string& step, const Note& mine = {}) const;
    /// @return whether the other side has ended.
    bool gone() const { return tools::peer_closed(socket_); }

  private:
    tools::Socket socket_;
    dtest::Record record_;
    double patience_seconds_;
};

}  // namespace dtest_ext
