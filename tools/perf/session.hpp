// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Two connected processes that run one pass after the other.
#pragma once

#include <memory>
#include <vector>

#include "tools/perf/loops.hpp"

namespace perf {

/// The work of both sides in a pass.
struct Outcome {
    Histogram ticks;
    std::uint64_t messages = 0;      ///< sent by both sides
    double seconds = 0;              ///< of this side
    double messages_per_second = 0;  ///< sum of both sides
};

/// Settings of one process that the other side need not know.
struct Local {
    std::string provider;
    std::vector<int> cpus;  ///< threads are pinned to these in turn; empty: not pinned
};

class Session {
  public:
    /// Creates a client and connects it to the server at the other end of the channel. @throws
    /// Failure
    static std::unique_ptr<Session> connect(Channel& channel, const Local& local,
                                            const Terms& terms, Device& device);
    /// Serves the client at the other end of the channel until it ends the session.
    static void serve(Channel& channel, const Local& local);

    /// Runs a pass on both sides.
    Outcome run(const Pass& pass);
    /// Disconnects both sides.
    void finish();
    /// Operations that both sides offer, one bit each.
    unsigned offered() const { return offered_; }
    bool memory_from_library() const { return lanes_.front()->memory_from_library(); }

  private:
    Session(Channel& channel, const Local& local, const Terms& terms, const Room& room,
            Device& device);
    std::vector<DAT_EP_HANDLE> endpoints() const;
    void exchange_places();
    void serve_pass(const std::string& text);
    void prepare(const Pass& pass);
    /// Runs each lane in a thread of its own, if there are several.
    Outcome run_lanes(const Pass& pass, bool requester);

    Channel& channel_;
    Local local_;
    Terms terms_;
    Device& device_;
    unsigned offered_ = 0;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace perf
