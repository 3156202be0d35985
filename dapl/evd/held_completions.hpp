// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The completions that an EVD has polled and whose events nobody has consumed, oldest first. Those
/// of one side of an EP are found without a search, so that ending thousands of EPs costs each of
/// them its own completions only. Not thread safe: the EVD's lock guards it.
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
    /// @param limit completions that it can hold. Throws std::bad_alloc.
    HeldCompletions(const Ia& ia, int limit);
    /// Moves into a larger one, which is made before the lock is taken, and leaves its own memory
    /// there, to be freed after the lock is dropped.
    void grow(HeldCompletions& larger);

    int count() const { return end_ - first_ - removed_; }
    /// @return how many completions may be written at end(): kBatch, or all that the limit allows.
    int make_room();
    ibv_wc* end() { return entries_.get() + end_; }
    /// The next `added` entries at end() make events: makes_event().
    void append(int added) { end_ += added; }
    /// Needs one.
    const ibv_wc& oldest() const { return entries_[first_]; }
    void remove_oldest() {
        ++first_;
        if (removed_ != 0) skip_removed();
    }
    /// Calls visit(completion) for all.
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
    /// Removes those of one side of an EP, oldest first, for which visit(completion) returns true,
    /// until it returns false. @return whether none are left.
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
    /// Entries that were moved or brought into the index since it was made.
    std::uint64_t work() const { return work_; }

    static constexpr int kBatch = 16;  ///< completions polled at once

  private:
    bool is_removed(int i) const { return entries_[i].wr_id == kRemoved; }
    bool is_known(const HeldChain& chain) const { return chain.index == index_; }
    /// The next one of the same side: nobody else uses this member of a completion.
    int next(int i) const { return static_cast<int>(entries_[i].vendor_err); }
    void remove(int i);
    void skip_removed();
    void close_gaps();
    void forget_index();
    void extend_index();
    HeldChain& chain_of(const Side& side);

    /// A marker's; those of markers are never held.
    static constexpr std::uint64_t kRemoved = ~(std::uint64_t{1} << 23);

    const Ia* ia_ = nullptr;
    /// Twice the limit, so that gaps are closed once in as many completions at most.
    std::unique_ptr<ibv_wc[]> entries_;
    int limit_ = 0;
    int size_ = 0;
    int first_ = 0;
    int end_ = 0;
    int removed_ = 0;          ///< behind first_
    int indexed_ = 0;          ///< the index has the entries before this one
    std::uint32_t index_ = 1;  ///< its number: positions of an earlier one mean nothing
    std::uint64_t work_ = 0;
};

}  // namespace dapl
