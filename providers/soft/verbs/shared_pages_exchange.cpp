// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ordinary memory on path S: its pages are exchanged for pages of the page file, in place, and
/// exchanged back when the last region is gone.
///
/// While writers are held up this thread touches its stack and calls the kernel, nothing else: what
/// it would allocate or change might lie in the very pages.
#include <sys/mman.h>

#include <algorithm>

#include "providers/soft/verbs/exchange_rules.hpp"
#include "providers/soft/verbs/page_exchange.hpp"
#include "providers/soft/verbs/page_file.hpp"
#include "providers/soft/verbs/shared_pages.hpp"
#include "providers/soft/verbs/write_guard.hpp"

namespace softverbs {
namespace {

/// Writers wait no longer than this many bytes take, and the second copy is no larger.
constexpr std::uint64_t kStep = 16 << 20;

bool is_ordinary(const Mapping& mapping) {
    const bool is_named_otherwise =
        !mapping.name.empty() && mapping.name != "[heap]" && mapping.name.rfind("[anon", 0) != 0;
    return !mapping.shared && mapping.inode == 0 && mapping.readable && mapping.writable &&
           !is_named_otherwise;
}

/// Nothing of ours may change while writers are held up, this stack included.
bool holds_this_stack(PageRange pages) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    constexpr std::uint64_t kRoom = 1 << 20;
    return pages.begin < here + kRoom && here < pages.end + kRoom;
}

}  // namespace

/// The longest stretch of private anonymous memory.
PageRange SharedPages::ordinary_part(PageRange pages) {
    PageRange longest;
    PageRange part{pages.begin, pages.begin};
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const std::optional<Mapping> mapping = memory_.find(at);
        const std::uint64_t end = mapping ? std::min(mapping->end, pages.end) : at + kPage;
        if (mapping && is_ordinary(*mapping))
            part.end = end;
        else
            part = {end, end};
        if (part.length() > longest.length()) longest = part;
        at = end;
    }
    return longest;
}

/// Those that are still mapped from the page file, each at its own place.
std::vector<PageRange> SharedPages::pages_of_file(PageRange pages) {
    std::vector<PageRange> found;
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const std::optional<Mapping> mapping = memory_.find(at);
        const std::uint64_t end = mapping ? std::min(mapping->end, pages.end) : at + kPage;
        if (mapping && mapping->shared && mapping->inode == page_file_inode_ &&
            mapping->offset == mapping->begin) {
            found.push_back({at, end});
        }
        at = end;
    }
    return found;
}

/// @return what was exchanged: the pages up to the first failure.
PageRange SharedPages::exchange_steps(PageRange pages, bool guarded) {
    PageRange done{pages.begin, pages.begin};
    while (done.end < pages.end) {
        const PageRange step{done.end, std::min(done.end + kStep, pages.end)};
        WriteGuard guard;
        if (guarded && guard.hold(step) != 0) break;
        if (make_shared(page_file_, step, guarded) != 0) break;
        done.end = step.end;
    }
    return done;
}

Placement SharedPages::exchange_ordinary(PageRange whole, bool on_application_thread) {
    const PageRange pages = ordinary_part(whole);
    if (pages.empty() || holds_this_stack(pages)) return {{}, PageReason::kNotPrivate};
    if (page_file_ < 0) return {{}, PageReason::kFailed};
    const Permission permission = may_exchange(memory_, on_application_thread);
    if (!permission.granted()) return {{}, permission.reason};
    const PageRange done = exchange_steps(pages, permission.guarded);
    if (done.empty()) return {{}, PageReason::kFailed};
    exchanged_.add(done);
    return {done, PageReason::kExchanged};
}

PageReason SharedPages::exchange_verdict(bool on_application_thread) {
    support::MutexLock lock(mutex_);
    return may_exchange(memory_, on_application_thread).reason;
}

Placement SharedPages::exchange(std::uint64_t address, std::uint64_t length, const Placement& now,
                                bool on_application_thread) {
    const PageRange whole{(address + kPage - 1) & ~(kPage - 1), (address + length) & ~(kPage - 1)};
    support::MutexLock lock(mutex_);
    if (now.reason != PageReason::kNotWorthIt || whole.empty()) return now;
    // Another region that holds some of the pages has them on path P.
    if (!runs_.held_once_at_most(whole)) return {{}, PageReason::kOverlap};
    const Placement placement = exchange_ordinary(whole, on_application_thread);
    if (!placement.shared.empty()) runs_.set_path(placement.shared, true);
    return placement;
}

bool SharedPages::restore_steps(PageRange pages, bool guarded) {
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const PageRange step{at, std::min(at + kStep, pages.end)};
        {
            WriteGuard guard;
            if (guarded && guard.hold(step) != 0) return false;
            if (make_private(page_file_, step) != 0) return false;
        }
        discard_pages(page_file_, step);
        exchanged_.remove(step);
        at = step.end;
    }
    return true;
}

/// What may not be given back now stays as it is, and is tried again when its pages are registered
/// the next time.
void SharedPages::restore(PageRange pages, bool on_application_thread) {
    const std::vector<PageRange> ours = pages_of_file(pages);
    // What the application has put elsewhere or taken away is no concern of ours any more.
    exchanged_.remove(pages);
    for (const PageRange& part : ours) exchanged_.add(part);
    const Permission permission = may_restore(on_application_thread);
    if (!permission.granted()) return;
    for (const PageRange& part : ours) {
        if (!restore_steps(part, permission.guarded)) return;
    }
}

}  // namespace softverbs
