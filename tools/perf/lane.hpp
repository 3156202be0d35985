// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What one thread works with: its event dispatcher, endpoints and memory, which no other thread
/// touches. Posting and taking events are here; the loops over them are in loops.cpp.
#pragma once

#include <dat2/udat.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/perf/channel.hpp"
#include "tools/perf/device.hpp"
#include "tools/perf/measurement.hpp"
#include "tools/perf/memory.hpp"

namespace perf {

/// Whom a lane asks, when it has waited in vain for a while, whether there is anybody to wait for.
struct Watch {
    Device& device;
    const Channel& channel;
    double timeout_seconds;
};

class Lane {
  public:
    /// Creates everything up to unconnected endpoints with their receives posted.
    Lane(const Watch& watch, const Terms& terms, const Room& room);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    const std::vector<DAT_EP_HANDLE>& endpoints() const { return endpoints_; }
    /// Where this lane's memory is, as text for the lane of the other side, and what that one says.
    std::string place() const;
    void set_peer(const std::string& place);
    bool memory_from_library() const { return out_.from_library(); }
    unsigned char* out() const { return out_.data(); }
    unsigned char* in() const { return in_.data(); }

    /// Before a pass: nothing is under way, counts are zero. @param credits whether the receiver
    ///     tells how much it has received, so that the sender can wait for it
    void begin(const Measurement& measurement, bool credits);
    /// Fills what is sent with a pattern, and where it goes with another.
    void fill();
    /// Throws when the other side's pattern is not where it belongs, or an atomic was lost.
    void verify(bool requester, std::uint64_t count);

    /// @return whether the endpoint may post another request now.
    bool has_room(unsigned endpoint) const;
    /// Posts the operation of the pass. @param last asks for a completion whatever the signal rate
    void post(unsigned endpoint, bool last);

    enum class Kind : unsigned { receive, request, credit };
    struct Event {
        Kind kind;
        unsigned endpoint;
    };
    /// Takes an event if there is one; a receive is posted again.
    bool try_take(Event& event);
    /// Waits for an event, as the pass says: polling or blocking.
    Event take();
    /// Waits until a receive has come.
    void take_receive();
    /// Waits until the last byte that the peer writes is `value`.
    void await_byte(unsigned char value);
    /// Waits until all requests of the endpoint are complete.
    void drain(unsigned endpoint);
    unsigned outstanding(unsigned endpoint) const { return states_[endpoint].outstanding; }
    /// Marks the last byte of what is sent.
    void set_last_byte(unsigned char value) { out_.data()[measurement_.size - 1] = value; }
    /// Registers what is sent, with a write of it if the pass says so, and deregisters it.
    void register_once();

    /// Of one wait: gives the processor up now and then, asks the watch more rarely, and throws
    /// when the time is over.
    class Patience {
      public:
        explicit Patience(const Lane& lane) : lane_(lane) {}
        void idle() {
            if (++polls_ % kPollsBeforeYield == 0) yield();
        }
        /// After a wait that blocked for its whole slice.
        void slice_passed() { look(); }

      private:
        static constexpr unsigned kPollsBeforeYield = 64;
        static constexpr unsigned kYieldsBeforeLook = 64;
        void yield();
        void look();
        const Lane& lane_;
        unsigned polls_ = 0;
        double began_us_ = 0;
    };

  private:
    /// Of one endpoint. Each has cache lines of its own in the words region.
    struct State {
        unsigned outstanding = 0;    ///< posted and not known to be complete
        unsigned unsignalled = 0;    ///< posted since the last one that asked for a completion
        std::uint64_t posted = 0;    ///< in this pass
        std::uint64_t received = 0;  ///< in this pass
    };
    enum Word : unsigned { kAtomic, kCreditIn, kCreditOut, kWords };
    static constexpr std::size_t kLine = 64;

    void create_endpoints();
    void post_receive(unsigned endpoint);
    void count_receive(unsigned endpoint);
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
    DAT_LMR_TRIPLET local_{};   ///< of the pass
    DAT_RMR_TRIPLET remote_{};  ///< of the pass, but for atomics
    DAT_EVD_HANDLE evd_ = DAT_HANDLE_NULL;
    std::vector<DAT_EP_HANDLE> endpoints_;
    std::vector<State> states_;
    Region out_;
    Region in_;
    Region words_;
    RemoteRegion peer_out_;
    RemoteRegion peer_in_;
    RemoteRegion peer_words_;
};

}  // namespace perf
