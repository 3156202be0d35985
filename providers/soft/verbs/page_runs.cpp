// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/page_runs.hpp"

#include <algorithm>

namespace softverbs {

void PageRuns::split(std::uint64_t at) {
    auto next = runs_.upper_bound(at);
    if (next == runs_.begin()) return;
    auto run = std::prev(next);
    if (run->first == at || run->second.end <= at) return;
    Run rest = run->second;
    run->second.end = at;
    runs_.emplace_hint(next, at, rest);
}

/// The first run that ends behind `at`.
PageRuns::Runs::const_iterator PageRuns::first_behind(std::uint64_t at) const {
    auto run = runs_.upper_bound(at);
    if (run != runs_.begin() && std::prev(run)->second.end > at) --run;
    return run;
}

void PageRuns::hold(PageRange pages, bool shared) {
    if (pages.empty()) return;
    split(pages.begin);
    split(pages.end);
    std::uint64_t at = pages.begin;
    for (auto run = runs_.lower_bound(pages.begin); at < pages.end; ++run) {
        const std::uint64_t gap_end =
            run == runs_.end() ? pages.end : std::min(run->first, pages.end);
        if (at < gap_end)
            run = runs_.emplace(at, Run{gap_end, 1, shared}).first;
        else
            ++run->second.holders;
        at = run->second.end;
    }
}

std::vector<PageRange> PageRuns::release(PageRange pages) {
    std::vector<PageRange> freed;
    if (pages.empty()) return freed;
    split(pages.begin);
    split(pages.end);
    for (auto run = runs_.lower_bound(pages.begin); run != runs_.end() && run->first < pages.end;) {
        if (--run->second.holders != 0) {
            ++run;
            continue;
        }
        if (run->second.shared) {
            if (!freed.empty() && freed.back().end == run->first)
                freed.back().end = run->second.end;
            else
                freed.push_back({run->first, run->second.end});
        }
        run = runs_.erase(run);
    }
    return freed;
}

std::vector<PageRange> PageRuns::held(PageRange pages, bool shared) const {
    std::vector<PageRange> found;
    for (auto run = first_behind(pages.begin); run != runs_.end() && run->first < pages.end;
         ++run) {
        if (run->second.shared != shared) continue;
        const PageRange part{std::max(run->first, pages.begin),
                             std::min(run->second.end, pages.end)};
        if (!found.empty() && found.back().end == part.begin)
            found.back().end = part.end;
        else
            found.push_back(part);
    }
    return found;
}

bool PageRuns::held_once_at_most(PageRange pages) const {
    for (auto run = first_behind(pages.begin); run != runs_.end() && run->first < pages.end; ++run)
        if (run->second.holders > 1) return false;
    return true;
}

void PageRuns::set_path(PageRange pages, bool shared) {
    split(pages.begin);
    split(pages.end);
    for (auto run = runs_.lower_bound(pages.begin); run != runs_.end() && run->first < pages.end;
         ++run)
        run->second.shared = shared;
}

void PageSet::add(PageRange pages) {
    if (pages.empty()) return;
    auto at = ranges_.upper_bound(pages.begin);
    if (at != ranges_.begin() && std::prev(at)->second >= pages.begin) --at;
    while (at != ranges_.end() && at->first <= pages.end) {
        pages.begin = std::min(pages.begin, at->first);
        pages.end = std::max(pages.end, at->second);
        at = ranges_.erase(at);
    }
    ranges_.emplace(pages.begin, pages.end);
}

void PageSet::remove(PageRange pages) {
    for (const PageRange& part : within(pages)) {
        const auto whole = std::prev(ranges_.upper_bound(part.begin));
        const std::uint64_t end = whole->second;
        if (whole->first == part.begin)
            ranges_.erase(whole);
        else
            whole->second = part.begin;
        if (part.end < end) ranges_.emplace(part.end, end);
    }
}

std::vector<PageRange> PageSet::all() const {
    std::vector<PageRange> found;
    for (const auto& [begin, end] : ranges_) found.push_back({begin, end});
    return found;
}

std::vector<PageRange> PageSet::within(PageRange pages) const {
    std::vector<PageRange> found;
    auto at = ranges_.upper_bound(pages.begin);
    if (at != ranges_.begin() && std::prev(at)->second > pages.begin) --at;
    for (; at != ranges_.end() && at->first < pages.end; ++at)
        found.push_back({std::max(at->first, pages.begin), std::min(at->second, pages.end)});
    return found;
}

}  // namespace softverbs
