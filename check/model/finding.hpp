// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Findings of the checks, as values without text: they are made under the model's lock, where
/// nothing may be allocated, and told after it.
#pragma once

#include <cstdint>

#include "check/model/needs.hpp"
#include "check/model/place.hpp"

namespace check {

/// The checks that a user can choose; bits of Policy::checks.
enum Check : unsigned {
    kMemory = 1,
    kBuffers = 2,
    kQueues = 4,
    kOrder = 8,
    kLife = 16,
    kPortability = 32,
    kAllChecks = 63,  ///< of the program
    kAudit = 64       ///< of the provider
};

enum class Action { kReport, kFail, kAbort };

/// Names what messages speak of, in the words of the interface that the program uses.
struct Words {
    const char* key;     ///< by which segments name a region
    const char* owner;   ///< of objects
    const char* zone;    ///< what a region and its user have in common
    const char* poster;  ///< where transfers are posted
    const char* users;   ///< what has a zone
    const char* queue;   ///< where completions come
};

/// Says which checks an adapter instance or device gets, and what follows from a finding.
struct Policy {
    unsigned checks = 0;
    Action action = Action::kReport;
    const Words* words = nullptr;
    bool checks_for(Check check) const { return (checks & check) != 0; }
};

enum class Kind : unsigned {
    kNotRegistered,
    kRange,
    kRight,
    kZone,
    kEnded,
    kUnmapped,
    kRefused,
    kChanged,
    kOverlap,
    kFreedInFlight,
    kQueueTooSmall,
    kNeverSignalled,
    kEndlessWait,
    kUnacknowledged,
    kNoReceive,
    kIgnored,
    kLeft,
    kUsedAfterFree,
    kOtherOwner,
    kPrivateData,
    kForked,
    kInUse,
    kUnfencedRead,
    kMisaligned,
    kElsewhere,
    kSendsFirst,
    kLateReceive,
    kUnnamedCode,
    kUnknownCompletion,
    kLostTransfers,
    kToldTwice
};
inline constexpr unsigned kKinds = 31;

/// @return the check to which a kind belongs.
constexpr Check check_of(Kind kind) {
    return kind <= Kind::kRefused         ? kMemory
           : kind <= Kind::kFreedInFlight ? kBuffers
           : kind <= Kind::kIgnored       ? kQueues
           : kind <= Kind::kInUse         ? kLife
           : kind <= Kind::kMisaligned    ? kOrder
           : kind <= Kind::kLateReceive   ? kPortability
                                          : kAudit;
}

/// Identifies an adapter instance or device: keys and findings are counted for each.
using Domain = const void*;

/// Describes one finding. The kind decides which members are set. Text is constant.
struct Finding {
    Kind kind{};
    const char* call = "";  ///< the program's call
    static constexpr int kRemoteSegment = -1;
    static constexpr int kAskedSegment = -2;  ///< memory here that a peer asked for
    int segment = 0;                          ///< its index, or one of these
    std::uint64_t address = 0;                ///< of the segment
    std::uint64_t length = 0;                 ///< of the segment
    std::uint64_t key = 0;                    ///< of the segment
    const char* what = "";        ///< the right that lacks, the kind of an object, or an event
    std::uint64_t number = 0;     ///< what was counted
    std::uint64_t limit = 0;      ///< what may be counted
    Need need{};                  ///< of what the program uses more than other transports have
    std::uint64_t other_key = 0;  ///< of the nearest region, if other_length is not 0
    std::uint64_t other_address = 0;
    std::uint64_t other_length = 0;
    const char* other_call = "";  ///< the call that posted the other transfer
    const char* other_what = "";  ///< the kind of the other object
    Origin made;                  ///< the region, object or transfer
    Origin ended;                 ///< likewise
    Origin other;                 ///< the nearest region, or the other object
};

/// The findings of one call, at most one of each check. Not initialised beyond `count`.
class Found {
  public:
    Finding& add(Kind kind) {
        Finding& added = items_[count_ < kMost ? count_++ : kMost - 1];
        added = Finding{};
        added.kind = kind;
        return added;
    }
    bool empty() const { return count_ == 0; }
    const Finding* begin() const { return items_; }
    const Finding* end() const { return items_ + count_; }
    Finding* begin() { return items_; }
    Finding* end() { return items_ + count_; }
    Found() {}  // NOLINT: the items are written when they are added

  private:
    static constexpr int kMost = 4;
    union {
        Finding items_[kMost];
    };
    int count_ = 0;
};

}  // namespace check
