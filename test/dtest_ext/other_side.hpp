// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The other process, over TCP: the two go through the same steps, and tell each other at each what
/// the step needs. So what is checked is never what the check depends on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "test/dtest/record.hpp"
#include "test/dtest_ext/options.hpp"
#include "tools/common/socket.hpp"

namespace dtest_ext {

/// What a side tells at a step.
struct Note {
    std::string text;  ///< at most 191 characters arrive
    std::array<std::uint64_t, 4> numbers{};
};

class OtherSide {
  public:
    /// A server waits for its client, to whom it tells where it is. All functions throw a Failure
    /// when the other side is not there, ends or stands still.
    OtherSide(const Options& options, const dtest::Record& mine);
    /// A client learns where its server is.
    explicit OtherSide(const Options& options);
    OtherSide(OtherSide&&) = default;

    /// What the server has told.
    const dtest::Record& record() const { return record_; }
    /// Both sides tell; returns when both have come to the step of this name.
    Note exchange(const std::string& step, const Note& mine = {}) const;
    /// @return whether it has ended.
    bool gone() const { return tools::peer_closed(socket_); }

  private:
    tools::Socket socket_;
    dtest::Record record_;
    double patience_seconds_;
};

}  // namespace dtest_ext
