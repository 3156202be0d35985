// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Doubly linked lists of rows of a table, by their numbers. They are derived from the rows: repair
/// builds them anew. Numbers come from memory that others write, so each is compared with the
/// count.
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

/// @tparam Row has a member `links`. Each function wants the table's lock.
template <class Row>
class List {
  public:
    List(Ends& ends, Row* rows, std::uint32_t count) : ends_(ends), rows_(rows), count_(count) {}

    void push_back(std::uint32_t index) {
        rows_[index].links = {kNone, ends_.last};
        (ends_.last < count_ ? rows_[ends_.last].links.next : ends_.first) = index;
        ends_.last = index;
    }
    /// Of one that is in it.
    void remove(std::uint32_t index) {
        const Links links = rows_[index].links;
        (links.previous < count_ ? rows_[links.previous].links.next : ends_.first) = links.next;
        (links.next < count_ ? rows_[links.next].links.previous : ends_.last) = links.previous;
        rows_[index].links = {kNone, kNone};
    }
    /// @return kNone when it is empty, or when its first one is no row.
    std::uint32_t first() const { return ends_.first < count_ ? ends_.first : kNone; }
    std::uint32_t after(std::uint32_t index) const {
        const std::uint32_t next = rows_[index].links.next;
        return next < count_ ? next : kNone;
    }
    /// `visit(index)` may take `index` out. Ends after as many steps as there are rows.
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
