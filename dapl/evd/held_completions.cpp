// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/held_completions.hpp"

#include <algorithm>
#include <utility>

#include "dapl/evd/completion.hpp"

namespace dapl {

HeldCompletions::HeldCompletions(const Ia& ia, int limit)
    : ia_(&ia),
      entries_(
          std::make_unique_for_overwrite<ibv_wc[]>(2 * static_cast<std::size_t>(limit) + kBatch)),
      limit_(limit),
      size_(2 * limit + kBatch) {}

void HeldCompletions::grow(HeldCompletions& larger) {
    for_each([&](const ibv_wc& completion) { *larger.end() = completion, larger.append(1); });
    // Invalidates the chains of the sides, whose positions are those in this object.
    larger.index_ = index_ + 1;
    larger.work_ = work_;
    std::swap(*this, larger);
}

int HeldCompletions::make_room() {
    if (first_ == end_) {
        first_ = end_ = 0;
        forget_index();
    } else if (size_ - end_ < kBatch) {
        close_gaps();
    }
    return std::min(kBatch, limit_ - count());
}

void HeldCompletions::close_gaps() {
    int kept = 0;
    work_ += static_cast<std::uint64_t>(end_ - first_);
    for (int i = first_; i < end_; ++i)
        if (!is_removed(i)) entries_[kept++] = entries_[i];
    first_ = removed_ = 0;
    end_ = kept;
    forget_index();
}

void HeldCompletions::remove(int i) {
    entries_[i].wr_id = kRemoved;
    ++removed_;
    skip_removed();
}

void HeldCompletions::skip_removed() {
    for (; first_ < end_ && is_removed(first_); ++first_) --removed_;
}

void HeldCompletions::forget_index() {
    if (indexed_ != 0 && ++index_ == 0) index_ = 1;
    indexed_ = 0;
}

void HeldCompletions::extend_index() {
    for (int i = std::max(indexed_, first_); i < end_; ++i) {
        ++work_;
        if (is_removed(i)) continue;
        HeldChain& chain = side_of(*ia_, entries_[i]).held;
        if (is_known(chain))
            entries_[chain.last].vendor_err = static_cast<std::uint32_t>(i);
        else
            chain = {index_, i, i};
        chain.last = i;
    }
    indexed_ = end_;
}

HeldChain& HeldCompletions::chain_of(const Side& side) {
    extend_index();
    return side.held;
}

const ibv_wc* HeldCompletions::newest_of(const Side& side) {
    const HeldChain& chain = chain_of(side);
    return is_known(chain) && chain.last >= first_ ? &entries_[chain.last] : nullptr;
}

}  // namespace dapl
