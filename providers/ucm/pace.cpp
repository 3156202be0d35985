// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/pace.hpp"

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
    if (state != Opener::State::kUnanswered || opener.tick_ != tick_) return;
    --unanswered_;
    let_out();
}

void Pace::let_out() {
    while (unanswered_ < kMostUnanswered && !waiting_.empty()) {
        Opener& next = *waiting_.front();
        next.entry_.splice(next.entry_.begin(), waiting_, next.place_);
        ++unanswered_;
        next.state_ = Opener::State::kUnanswered;
        next.tick_ = tick_;
        next.open();
    }
}

void Pace::expired() {
    ++tick_;
    unanswered_ = 0;
    let_out();
    if (!waiting_.empty()) loop_.arm(*this, Clock::now() + kTick);
}

}  // namespace dapl::ucm
