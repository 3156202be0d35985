// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which pages regions hold, and on which path: one path per page, however regions overlap, so that
/// an atomic operation of one peer and that of another never meet on one word by different ways.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace softverbs {

/// Addresses of whole pages.
struct PageRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool empty() const { return begin >= end; }
    std::uint64_t length() const { return empty() ? 0 : end - begin; }
    bool operator==(const PageRange&) const = default;
};

/// Not thread safe.
class PageRuns {
  public:
    struct Run {
        std::uint64_t end;
        std::uint32_t holders;  ///< regions
        bool shared;            ///< on path S
    };

    /// One holder more for each page. Pages that nobody held go on path S where `shared` says so;
    /// the others stay where they are.
    void hold(PageRange pages, bool shared);
    /// One holder less. @return the pages on path S that nobody holds any more.
    std::vector<PageRange> release(PageRange pages);
    /// The pages of a range that are held on one path, in order, neighbours joined.
    std::vector<PageRange> held(PageRange pages, bool shared) const;
    /// Whether nobody but one holder has any of the pages.
    bool held_once_at_most(PageRange pages) const;
    /// Changes the path of pages that are held.
    void set_path(PageRange pages, bool shared);
    bool empty() const { return runs_.empty(); }

  private:
    using Runs = std::map<std::uint64_t, Run>;
    /// Makes a run begin at `at` when one goes across it.
    void split(std::uint64_t at);
    Runs::const_iterator first_behind(std::uint64_t at) const;
    Runs runs_;  ///< by first address; do not overlap
};

/// A set of pages. Not thread safe.
class PageSet {
  public:
    void add(PageRange pages);
    void remove(PageRange pages);
    bool empty() const { return ranges_.empty(); }
    std::vector<PageRange> all() const;
    /// The parts of a range that are in the set.
    std::vector<PageRange> within(PageRange pages) const;

  private:
    std::map<std::uint64_t, std::uint64_t> ranges_;  ///< begin, end; neighbours are joined
};

}  // namespace softverbs
