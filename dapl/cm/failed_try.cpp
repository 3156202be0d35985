// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cm/failed_try.hpp"

#include <atomic>

#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl::cm {
namespace {

constexpr int kToldOfAKind = 3;

/// @param kind what failed, in the plural, for the note that further ones are suppressed.
template <const support::Message& message>
void tell(const FailedTry& failed, std::atomic<int>& count, const char* kind) {
    const bool all = support::trace_level() >= static_cast<int>(support::Level::kTrace);
    const int number = count.fetch_add(1, std::memory_order_relaxed) + 1;
    if (number > kToldOfAKind && !all) return;
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(failed.spent).count();
    support::report<message>(to_text(failed.peer), to_text(failed.own), failed.step, failed.answer,
                             failed.tries, milliseconds);
    if (number == kToldOfAKind && !all) support::report<support::kFurtherTriesHidden>(number, kind);
}

std::atomic<int> unreachable{0};
std::atomic<int> refused{0};
std::atomic<int> timed_out{0};

}  // namespace

void tell_unreachable(const FailedTry& failed) {
    tell<support::kPeerUnreachable>(failed, unreachable, "peers could not be reached");
}
void tell_refused(const FailedTry& failed) {
    tell<support::kPeerRefuses>(failed, refused, "connections were refused");
}
void tell_timed_out(const FailedTry& failed) {
    tell<support::kPeerTimedOut>(failed, timed_out, "connections took longer than was allowed");
}

}  // namespace dapl::cm
