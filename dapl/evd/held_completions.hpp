// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The completions that an EVD has polled and whose events have not been dequeued yet, oldest
/// first. Those of one side of an EP are found without a search, so that each of thousands of EPs
/// that end costs only its own completions. Not thread safe: the EVD's lock guards it.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "dapl/transfer/side.hpp"

namespace dapl {

class Ia;

class HeldCompletions {
  public:
    HeldCompletions() = default;
    /// @param limit number of completions that it can hold. Throws std::bad_alloc.
    HeldCompletions(const Ia& ia, int limit);
    /// Moves the completions to a larger object, which is made before the lock is taken, and leaves
    /// the old memory there, to be freed after the lock is released.
    void grow(HeldCompletions& larger);

    int count() const { return end_ - first_ - removed_; }
    /// Makes space at end(). @return how many completions may be written there: kBatch, or as many
    /// as the limit allows.
    int make_room();
    ibv_wc* end() { return entries_.get() + end_; }
    /// Adds the next `added` entries at end(), all of which make events: makes_event().
    void append(int added) { end_ += added; }
    /// @return the oldest; there must be one.
    const ibv_wc& oldest() const { return entries_[first_]; }
    void remove_oldest() {
        ++first_;
        if (removed_ != 0) skip_removed();
    }
    /// Calls visit(completion) for each.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (int i = first_; i < end_; ++i)
            if (!is_removed(i)) visit(entries_[i]);
    }

    /// The same for those of one side of an EP.
    template <class Visit>
    void for_each_of(const Side& side, const Visit& visit) {
        const HeldChain chain = chain_of(side);
        if (!is_known(chain)) return;
        for (int i = chain.first;; i = next(i)) {
            if (i >= first_) visit(entries_[i]);
            if (i == chain.last) return;
        }
    }
    /// Calls visit(completion) for those of one side of an EP, oldest first, and removes each for
    /// which it returns true, until it returns false. @return whether none are left.
    template <class Visit>
    bool remove_of(Side& side, const Visit& visit) {
        HeldChain& chain = chain_of(side);
        while (is_known(chain)) {
            const int i = chain.first;
            if (i >= first_ && !visit(entries_[i])) return false;
            if (i >= first_) remove(i);
            if (i == chain.last) break;
            chain.first = next(i);
        }
        chain = {};
        return true;
    }
    /// @return the newest of one side of an EP, or nullptr.
    const ibv_wc* newest_of(const Side& side);
    /// @return number of entries that were moved or indexed since it was made.
    std::uint64_t work() const { return work_; }

    static constexpr int kBatch = 16;  ///< completions polled at once

  private:
    bool is_removed(int i) const { return entries_[i].wr_id == kRemoved; }
    bool is_known(const HeldChain& chain) const { return chain.index == index_; }
    /// @return the next one of the same side, kept in vendor_err: nobody else uses that member.
    int next(int i) const { return static_cast<int>(entries_[i].vendor_err); }
    void remove(int i);
    void skip_removed();
    void close_gaps();
    void forget_index();
    void extend_index();
    HeldChain& chain_of(const Side& side);

    /// wr_id of a removed entry: that of a marker, whose completions are never held.
    static constexpr std::uint64_t kRemoved = ~(std::uint64_t{1} << 23);

    const Ia* ia_ = nullptr;
    /// Over twice the limit, so that gaps are closed at most once per `limit_` completions.
    std::unique_ptr<ibv_wc[]> entries_;
    int limit_ = 0;
    int size_ = 0;
    int first_ = 0;
    int end_ = 0;
    int removed_ = 0;          ///< number of removed entries after first_
    int indexed_ = 0;          ///< entries before this one are in the index
    std::uint32_t index_ = 1;  ///< number of the index: positions of an earlier one mean nothing
    std::uint64_t work_ = 0;
};

}  // namespace dapl
