// SPDX-License-Identifier: BSD-2-Clause
#include "providers/exchange/timed_queue.hpp"

namespace dapl::exchange {

void TimedQueue::enter(Member& member) {
    if (oldest_first_.size() >= most_)
        expel_oldest(std::to_string(most_) + " newer peers are waiting");
    const bool was_empty = oldest_first_.empty();
    member.place_ = oldest_first_.insert(oldest_first_.end(), {&member, Clock::now() + time_});
    member.is_member_ = true;
    if (was_empty) loop_.arm(*this, member.place_->deadline);
}

void TimedQueue::leave(Member& member) {
    if (!member.is_member_) return;
    oldest_first_.erase(member.place_);
    member.is_member_ = false;
}

bool TimedQueue::expel_oldest(const std::string& why) {
    if (oldest_first_.empty()) return false;
    Member& oldest = *oldest_first_.front().member;
    leave(oldest);
    oldest.expelled(why);
    return true;
}

void TimedQueue::expired() {
    const auto now = Clock::now();
    while (!oldest_first_.empty() && oldest_first_.front().deadline <= now)
        expel_oldest(std::to_string(time_.count()) + " ms have passed");
    if (!oldest_first_.empty()) loop_.arm(*this, oldest_first_.front().deadline);
}

}  // namespace dapl::exchange
