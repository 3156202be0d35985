// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Doubly linked lists of rows of a table, linked by index. They are derived from the rows, and
/// repair() rebuilds them. The indices are in memory that other processes write, so each is checked
/// against the number of rows.
#pragma once

#include <cstdint>

namespace dapl::memory {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Links {
    std::uint32_t next, previous;
};

struct Ends {
    std::uint32_t first, last;
};
inline constexpr Ends kEmpty{kNone, kNone};

/// @tparam Row has a member `links`. Each function requires the table's lock.
template <class Row>
class List {
  public:
    List(Ends& ends, Row* rows, std::uint32_t count) : ends_(ends), rows_(rows), count_(count) {}

    void push_back(std::uint32_t index) {
        rows_[index].links = {kNone, ends_.last};
        (ends_.last < count_ ? rows_[ends_.last].links.next : ends_.first) = index;
        ends_.last = index;
    }
    /// Removes a row, which has to be in the list.
    void remove(std::uint32_t index) {
        const Links links = rows_[index].links;
        (links.previous < count_ ? rows_[links.previous].links.next : ends_.first) = links.next;
        (links.next < count_ ? rows_[links.next].links.previous : ends_.last) = links.previous;
        rows_[index].links = {kNone, kNone};
    }
    /// @return the first row; kNone if the list is empty or the index is out of range.
    std::uint32_t first() const { return ends_.first < count_ ? ends_.first : kNone; }
    std::uint32_t after(std::uint32_t index) const {
        const std::uint32_t next = rows_[index].links.next;
        return next < count_ ? next : kNone;
    }
    /// Calls `visit(index)` for each row, which it may remove. Stops after as many steps as there
    /// are rows, so that it ends even if the links form a cycle.
    template <class Visit>
    void each(Visit visit) const {
        std::uint32_t steps = 0;
        for (std::uint32_t index = first(); index != kNone && steps < count_; ++steps) {
            const std::uint32_t next = after(index);
            visit(index);
            index = next;
        }
    }

  private:
    Ends& ends_;
    Row* rows_;
    std::uint32_t count_;
};

}  // namespace dapl::memory
