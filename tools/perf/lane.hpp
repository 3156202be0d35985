// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A lane is what one thread works with: its event dispatcher, endpoints and memory, which no other
/// thread touches. Posting and polling are here; the loops over them are in loops.cpp.
#pragma once

#include <dat2/udat.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/perf/channel.hpp"
#include "tools/perf/device.hpp"
#include "tools/perf/measurement.hpp"
#include "tools/perf/memory.hpp"
#include "tools/perf/spin.hpp"

namespace perf {

/// The check that a lane makes after it has waited for a while without success: whether the other
/// side is alive.
struct Watch {
    Device& device;
    const Channel& channel;
    double timeout_seconds;
};

class Lane {
  public:
    /// Creates everything up to unconnected endpoints with their receives posted.
    Lane(const Watch& watch, const Terms& terms, const Room& room);
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    const std::vector<DAT_EP_HANDLE>& endpoints() const { return ends_.endpoints; }
    /// The address of this lane's memory, as text for the lane of the other side, and the same from
    /// that lane.
    std::string place() const;
    void set_peer(const std::string& place);
    bool memory_from_library() const { return out_.from_library(); }
    unsigned char* out() const { return out_.data(); }
    unsigned char* in() const { return in_.data(); }

    /// Called before a pass: no request is outstanding, counts are zero. @param credits whether the
    /// receiver reports how much it has received, so that the sender can wait for it
    void begin(const Measurement& measurement, bool credits);
    /// Fills the source buffer with a pattern, and the destination with another.
    void fill();
    /// Throws when the other side's pattern has not arrived completely, or an atomic was lost.
    void verify(bool requester, std::uint64_t count);

    /// @return whether the endpoint may post another request now.
    bool has_room(unsigned endpoint) const;
    /// Posts the operation of the pass. @param last requests a completion whatever the signal rate
    void post(unsigned endpoint, bool last);

    enum class Kind : unsigned { receive, request, credit };
    struct Event {
        Kind kind;
        unsigned endpoint;
    };
    /// Consumes an event if there is one; a consumed receive is posted again.
    bool try_take(Event& event);
    /// Waits for an event, by polling or blocking as the measurement requires.
    Event take();
    /// Waits until a receive completes.
    void take_receive();
    /// Waits until the last byte that the peer writes is `value`.
    void await_byte(unsigned char value);
    /// Waits until all requests of the endpoint are complete.
    void drain(unsigned endpoint);
    unsigned outstanding(unsigned endpoint) const { return states_[endpoint].outstanding; }
    /// Sets the last byte of the source buffer.
    void set_last_byte(unsigned char value) { out_.data()[measurement_.size - 1] = value; }
    /// Registers the source buffer, writes all of it if the measurement says so, and deregisters
    /// it.
    void register_once();

    /// The state of one wait: yields the processor now and then, checks the watch more rarely, and
    /// throws after the timeout.
    class Patience {
      public:
        Patience(Lane& lane, SpinWait::For what) : lane_(lane), wait_(lane.patience_, what) {}
        void idle() {
            if (wait_.idle() && ++yields_ % kYieldsBeforeLook == 0) look();
        }
        /// Called after a wait that blocked for its whole slice.
        void slice_passed() { look(); }

      private:
        static constexpr unsigned kYieldsBeforeLook = 64;
        void look();
        const Lane& lane_;
        SpinWait wait_;
        unsigned yields_ = 0;
        double began_us_ = 0;
    };

  private:
    /// State of one endpoint. Each endpoint has cache lines of its own in the words region.
    struct State {
        unsigned outstanding = 0;    ///< posted and not known to be complete
        unsigned unsignalled = 0;    ///< posted since the last request with a completion
        unsigned owed = 0;           ///< receives to be posted again
        std::uint64_t posted = 0;    ///< in this pass
        std::uint64_t received = 0;  ///< in this pass
    };
    /// Freed before the regions of the receives, also when the constructor throws.
    struct Ends {
        Ends() = default;
        ~Ends();
        Ends(const Ends&) = delete;
        Ends& operator=(const Ends&) = delete;
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        std::vector<DAT_EP_HANDLE> endpoints;
    };
    enum Word : unsigned { kAtomic, kCreditIn, kCreditOut, kWords };
    static constexpr std::size_t kLine = 64;

    void create_endpoints();
    void post_receive(unsigned endpoint);
    void count_receive(unsigned endpoint);
    void post_owed(State& state, unsigned endpoint);
    DAT_RETURN post_operation(unsigned endpoint, std::uint64_t cookie, DAT_COMPLETION_FLAGS flags);
    Event digest(const DAT_EVENT& event);
    [[noreturn]] void event_failed(const DAT_EVENT& event);
    static std::size_t word_offset(unsigned endpoint, Word word) {
        return (std::size_t{endpoint} * kWords + word) * kLine;
    }
    volatile std::uint64_t& word(unsigned endpoint, Word word) const {
        return *reinterpret_cast<volatile std::uint64_t*>(words_.data() +
                                                          word_offset(endpoint, word));
    }

    Watch watch_;
    Terms terms_;
    Measurement measurement_;
    bool credits_ = false;
    DAT_LMR_TRIPLET local_{};         ///< of the pass
    DAT_RMR_TRIPLET remote_{};        ///< of the pass, except for atomics
    support::PollPatience patience_;  ///< of the pass
    std::vector<State> states_;
    Region out_;
    Region in_;
    Region words_;
    RemoteRegion peer_out_;
    RemoteRegion peer_in_;
    RemoteRegion peer_words_;
    Ends ends_;
};

}  // namespace perf
