// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/payload.hpp"

namespace softverbs {
namespace {

/// @return where the whole range is mapped in this process, or nullptr when it is not in one
/// stretch of shared pages or cannot be mapped.
template <class Range>
std::uint8_t* find_or_map(PeerPages& pages, const Range& range) {
    if (std::uint8_t* found = pages.find(range.shared, range.address, range.length)) return found;
    return pages.map(range.shared, range.address, range.length);
}

/// Fills in `here` of each range, which inline data have from the beginning.
/// @return whether plain copies reach all of them.
template <class Range>
bool resolve(PeerPages& pages, Range* ranges, std::uint32_t count) {
    bool all = true;
    for (std::uint32_t i = 0; i < count; ++i) {
        Range& range = ranges[i];
        if (!range.here && range.length != 0) range.here = find_or_map(pages, range);
        all = all && (range.here || range.length == 0);
    }
    return all;
}

bool resolve_both(PeerPages& own, const Target& target, Plan& plan) {
    return resolve(*target.pages, plan.remote, plan.num_remote) && resolve_local(own, plan);
}

}  // namespace

bool resolve_local(PeerPages& own, Plan& plan) {
    return resolve(own, plan.local, plan.num_local);
}

Path choose_path(PeerPages& own, const Target& target, Plan& plan) {
    if (resolve_both(own, target, plan)) return Path::kPlain;
    return target.has_process_vm ? Path::kProcessVm : Path::kAgent;
}

/// A word on shared pages that cannot be mapped here goes to the agent: other requesters use the
/// processor's atomics on it, and so does the agent.
Path choose_atomic_path(const Target& target, Plan& plan) {
    RemoteRange& word = plan.remote[0];
    if (word.shared.atomics_by_agent) return Path::kAgent;
    word.here = find_or_map(*target.pages, word);
    if (word.here) return Path::kPlain;
    const bool is_shared = word.shared.begin != word.shared.end;
    return target.has_process_vm && !is_shared ? Path::kProcessVm : Path::kAgent;
}

int write_piece(PeerPages& own, const Target& target, Plan& piece) {
    if (!resolve_both(own, target, piece)) return write_process(target.image(), piece);
    write_plain(piece);
    return 0;
}

int read_piece(PeerPages& own, const Target& target, Plan& piece) {
    if (!resolve_both(own, target, piece)) return read_process(target.image(), piece);
    read_plain(piece);
    return 0;
}

}  // namespace softverbs
