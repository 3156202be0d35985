// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/report.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <iterator>
#include <string>

#include "check/model/finding_log.hpp"
#include "support/base/guard.hpp"
#include "support/log/log.hpp"

namespace check {
namespace {

constexpr const char* kCheckNames[] = {"memory", "buffers",     "queues", "order",
                                       "life",   "portability", "audit"};

const char* word_of(Check check) {
    int bit = 0;
    while (check != 1u << bit) ++bit;
    return kCheckNames[bit];
}

std::string segment_of(const Finding& finding) {
    if (finding.segment == Finding::kRemoteSegment)
        return fmt::format("the remote segment ({:#x}, {} bytes)", finding.address, finding.length);
    if (finding.segment == Finding::kAskedSegment)
        return fmt::format("what the peer asked for ({:#x}, {} bytes)", finding.address,
                           finding.length);
    return fmt::format("segment {} ({:#x}, {} bytes)", finding.segment, finding.address,
                       finding.length);
}

std::string nearest_to(const Finding& finding, const Words& words) {
    if (finding.other_length == 0) return {};
    const bool holds = finding.address >= finding.other_address &&
                       finding.address - finding.other_address < finding.other_length;
    return fmt::format("; {} region has {} {:#x} ({:#x}, {} bytes) and was registered at {}",
                       holds ? "the buffer's" : "the nearest", words.key, finding.other_key,
                       finding.other_address, finding.other_length, name_of(finding.other.place));
}

/// Writes messages with a place in front, and repeats them in the log of findings.
struct Teller {
    const Finding& finding;
    const Words& words;
    std::string place;

    template <const support::Message& message, class... Arguments>
    void say(const Arguments&... arguments) const {
        const std::string where = fmt::format("{} at {}", finding.call, place);
        support::report<message>(where, arguments...);
        log_finding({message.id, word_of(check_of(finding.kind)), finding.call, place,
                     fmt::format(fmt::runtime(message.text), where, arguments...)});
    }
    void tell_memory() const;
    void tell_buffers() const;
    void tell_queues() const;
    void tell_life() const;
    void tell_order() const;
    void tell_portability() const;
    void tell_audit() const;
    void tell() const;
};

void Teller::tell_memory() const {
    const std::string segment = segment_of(finding);
    const std::string made = name_of(finding.made.place);
    switch (finding.kind) {
        case Kind::kNotRegistered:
            return say<support::kCheckNotRegistered>(segment, words.key, finding.key, words.owner,
                                                     nearest_to(finding, words));
        case Kind::kRange:
            return say<support::kCheckRange>(segment, words.key, finding.key, finding.number,
                                             finding.limit, made, nearest_to(finding, words));
        case Kind::kRight:
            return say<support::kCheckRight>(segment, finding.what, words.key, finding.key, made);
        case Kind::kZone:
            return say<support::kCheckZone>(segment, words.key, finding.key, made, words.zone,
                                            words.users);
        case Kind::kRefused:
            return say<support::kCheckRefused>(
                segment, words.key, finding.key,
                fmt::format("{} at {}", finding.other_call, name_of(finding.other.place)));
        case Kind::kUnmapped:
            return say<support::kCheckUnmapped>(segment, words.key, finding.key, made);
        default:
            return say<support::kCheckEnded>(segment, words.key, finding.key, made,
                                             name_of(finding.ended.place),
                                             milliseconds_since(finding.ended));
    }
}

void Teller::tell_buffers() const {
    const std::string posted =
        fmt::format("{} at {}", finding.other_call, name_of(finding.other.place));
    const std::string made = name_of(finding.made.place);
    if (finding.kind == Kind::kChanged)
        say<support::kCheckChanged>(segment_of(finding), posted);
    else if (finding.kind == Kind::kOverlap)
        say<support::kCheckOverlap>(posted, finding.address, finding.length, finding.what, made);
    else
        say<support::kCheckFreedInFlight>(words.key, finding.key, made, posted);
}

void Teller::tell_queues() const {
    const std::string made = name_of(finding.made.place);
    if (finding.kind == Kind::kQueueTooSmall)
        say<support::kCheckQueueTooSmall>(finding.number, words.queue, made, finding.limit);
    else if (finding.kind == Kind::kNeverSignalled)
        say<support::kCheckNeverSignalled>(finding.number, words.poster, made);
    else if (finding.kind == Kind::kUnacknowledged)
        say<support::kCheckUnacknowledged>(finding.number, finding.what, made);
    else if (finding.kind == Kind::kIgnored)
        say<support::kCheckIgnored>(words.queue, made, finding.number, finding.what);
    else if (finding.kind == Kind::kNoReceive)
        say<support::kCheckNoReceive>(
            fmt::format("{} at {}", finding.other_call, name_of(finding.other.place)),
            finding.made.place ? fmt::format(", the {} made at {}", words.poster, made)
                               : std::string());
    else
        say<support::kCheckEndlessWait>(*finding.what ? finding.what : words.queue, made);
}

void Teller::tell_life() const {
    const std::string made = name_of(finding.made.place);
    if (finding.kind == Kind::kLeft)
        say<support::kCheckLeft>(finding.what, made, finding.number);
    else if (finding.kind == Kind::kUsedAfterFree)
        say<support::kCheckUsedAfterFree>(finding.what, made, name_of(finding.ended.place),
                                          milliseconds_since(finding.ended));
    else if (finding.kind == Kind::kOtherOwner)
        say<support::kCheckOtherIa>(finding.what, made, words.owner);
    else if (finding.kind == Kind::kForked)
        say<support::kCheckForked>(finding.what);
    else if (finding.kind == Kind::kInUse)
        say<support::kCheckInUse>(finding.what, made, finding.other_what,
                                  name_of(finding.other.place));
    else
        say<support::kCheckPrivateData>(finding.number, finding.limit);
}

void Teller::tell_order() const {
    if (finding.kind == Kind::kUnfencedRead)
        say<support::kCheckUnfenced>(
            segment_of(finding),
            fmt::format("{} at {}", finding.other_call, name_of(finding.other.place)));
    else
        say<support::kCheckMisaligned>(finding.address);
}

void Teller::tell_portability() const {
    const std::string made = name_of(finding.made.place);
    if (finding.kind == Kind::kElsewhere)
        say<support::kCheckElsewhere>(text_of(finding.need, finding.number),
                                      those_without(finding.need, finding.number));
    else if (finding.kind == Kind::kSendsFirst)
        say<support::kCheckSendsFirst>(made);
    else
        say<support::kCheckLateReceive>(made);
}

void Teller::tell_audit() const {
    const std::string made = name_of(finding.made.place);
    if (finding.kind == Kind::kUnnamedCode)
        say<support::kCheckUnnamedCode>(finding.number, finding.call);
    else if (finding.kind == Kind::kUnknownCompletion)
        say<support::kCheckUnknownCompletion>(finding.number, words.poster, made);
    else if (finding.kind == Kind::kLostTransfers)
        say<support::kCheckLostTransfers>(finding.number, words.poster, made, words.queue);
    else
        say<support::kCheckToldTwice>(finding.what, words.poster, made);
}

void Teller::tell() const {
    switch (check_of(finding.kind)) {
        case kMemory:
            return tell_memory();
        case kBuffers:
            return tell_buffers();
        case kQueues:
            return tell_queues();
        case kOrder:
            return tell_order();
        case kPortability:
            return tell_portability();
        case kAudit:
            return tell_audit();
        default:
            return tell_life();
    }
}

bool is_first(const Finding& finding, Domain domain, Place place) {
    Model& state = model();
    const support::MutexLock lock(state.mutex);
    return state.count(domain, finding.kind, place);
}

}  // namespace

void tell(Found& found, const char* call, Domain domain, const Policy& policy) {
    const support::CancellationDisabled disabled;
    const Place place = calling_place();
    for (Finding& finding : found) {
        finding.call = call;
        // Objects that were left are told by where they were made, all at one close.
        const Place counted = finding.kind == Kind::kLeft ? finding.made.place : place;
        if (!is_first(finding, domain, counted)) continue;
        Teller{finding, *policy.words, name_of(place)}.tell();
        if (policy.action == Action::kAbort) std::abort();
    }
}

void tell_counts(Domain domain, const std::string& name) {
    Counts counts{};
    std::uint64_t places;
    {
        Model& state = model();
        const support::MutexLock lock(state.mutex);
        places = state.take_counts(domain, counts);
    }
    if (places == 0) return;
    const support::CancellationDisabled disabled;
    std::uint64_t all = 0;
    std::uint64_t of_check[std::size(kCheckNames)] = {};
    for (unsigned kind = 0; kind < kKinds; ++kind) {
        all += counts[kind];
        of_check[std::countr_zero(unsigned{check_of(static_cast<Kind>(kind))})] += counts[kind];
    }
    std::string list;
    for (std::size_t i = 0; i < std::size(kCheckNames); ++i)
        if (of_check[i])
            list += fmt::format("{}{} {}", list.empty() ? "" : ", ", kCheckNames[i], of_check[i]);
    support::report<support::kCheckCounts>(name, all, places, list);
}

}  // namespace check
