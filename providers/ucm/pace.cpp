// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/pace.hpp"

#include <utility>

namespace dapl::ucm {

void Pace::enter(Opener& opener) {
    const bool was_empty = waiting_.empty();
    waiting_.splice(waiting_.end(), opener.entry_);
    opener.state_ = Opener::State::kWaiting;
    if (!was_empty) return;
    let_out();
    if (!waiting_.empty()) loop_.arm(*this, Clock::now() + kTick);
}

void Pace::leave(Opener& opener) {
    const auto state = opener.state_;
    opener.state_ = Opener::State::kOutside;
    if (state == Opener::State::kWaiting)
        opener.entry_.splice(opener.entry_.begin(), waiting_, opener.place_);
    if (state != Opener::State::kUnanswered) return;
    one_has_left_ = true;
    if (opener.round_ != round_) return;
    --unanswered_;
    let_out();
}

void Pace::let_out() {
    while (unanswered_ < kMostUnanswered && !waiting_.empty()) {
        Opener& next = *waiting_.front();
        next.entry_.splice(next.entry_.begin(), waiting_, next.place_);
        ++unanswered_;
        next.state_ = Opener::State::kUnanswered;
        next.round_ = round_;
        next.open();
    }
}

void Pace::expired() {
    if (!std::exchange(one_has_left_, false)) {
        ++round_;
        unanswered_ = 0;
    }
    let_out();
    if (!waiting_.empty()) loop_.arm(*this, Clock::now() + kTick);
}

}  // namespace dapl::ucm
