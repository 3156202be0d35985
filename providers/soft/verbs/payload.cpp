// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/payload.hpp"

#include <algorithm>
#include <cerrno>

#include "providers/soft/verbs/region_exchange.hpp"

namespace softverbs {
namespace {

std::uint64_t number(const std::uint8_t* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

/// @return where all of the range is here, nullptr when it is not on one stretch of shared pages.
std::uint8_t* find_or_map(PeerPages& pages, const RemoteRange& range) {
    if (std::uint8_t* found = pages.find(range.shared, range.address, range.length)) return found;
    std::uint64_t piece = 0;
    std::uint8_t* first = pages.map(range.shared, range.address, range.length, piece);
    return piece == range.length ? first : nullptr;
}

bool all_here(PeerPages& pages, const Plan& plan, std::uint8_t** places) {
    for (std::uint32_t i = 0; i < plan.num_remote; ++i) {
        places[i] = find_or_map(pages, plan.remote[i]);
        if (!places[i]) return false;
    }
    return true;
}

bool any_shared(const Plan& plan) {
    const auto remotes = plan.remotes();
    return std::any_of(remotes.begin(), remotes.end(), [](const RemoteRange& range) {
        return range.shared.begin < range.address + range.length &&
               range.address < range.shared.end;
    });
}

/// The first bytes of a range, as many as take one path.
struct Piece {
    std::uint8_t* here = nullptr;  ///< nullptr: path P
    std::uint64_t length = 0;
};

Piece next_piece(PeerPages& pages, const RemoteRange& range, std::uint64_t done) {
    const std::uint64_t address = range.address + done;
    const std::uint64_t left = range.length - done;
    Piece piece;
    piece.here = pages.map(range.shared, address, left, piece.length);
    if (piece.here) return piece;
    const bool ahead = address < range.shared.begin;
    piece.length = ahead ? std::min(left, range.shared.begin - address) : left;
    return piece;
}

/// One path after the other, in order of the bytes: a system call has placed its bytes when it
/// returns, and plain stores are seen in their order by whoever sees what a later call placed.
template <class Here, class There>
int move_pieces(const Target& target, const Plan& plan, Here here, There there) {
    std::uint64_t offset = 0;
    for (const RemoteRange& range : plan.remotes()) {
        for (std::uint64_t done = 0; done < range.length;) {
            const Piece piece = next_piece(*target.pages, range, done);
            Plan part;
            part.length = piece.length;
            part.num_local = cut_locals(plan, offset, piece.length, part.local);
            part.num_remote = 1;
            part.remote[0] = range;
            part.remote[0].length = piece.length;
            part.remote[0].address = piece.here ? number(piece.here) : range.address + done;
            if (piece.here) {
                here(part);
            } else if (const int cause = there(target.peer->pid(), part)) {
                return cause;
            }
            done += piece.length;
            offset += piece.length;
        }
    }
    return 0;
}

void count_all(const Target& target, const Plan& plan) {
    for (const RemoteRange& range : plan.remotes()) count_traffic(target, range);
}

}  // namespace

Way choose_way(const Target& target, Plan& plan) {
    if (target.path == CopyPath::kLocal) return Way::kHere;
    std::uint8_t* places[kMaxSge];
    if (target.pages && all_here(*target.pages, plan, places)) {
        for (std::uint32_t i = 0; i < plan.num_remote; ++i)
            plan.remote[i].address = number(places[i]);
        return Way::kHere;
    }
    return target.path == CopyPath::kAgent ? Way::kAgent : Way::kProcessVm;
}

Way choose_atomic_way(const Target& target, Plan& plan) {
    const RemoteRange& word = plan.remote[0];
    if (target.path == CopyPath::kLocal) return Way::kHere;
    if (word.shared.atomics_by_agent) return Way::kAgent;
    const Way way = choose_way(target, plan);
    // A word on shared pages that cannot be mapped here: others use the processor's atomics on it,
    // and so does the agent.
    return way == Way::kProcessVm && any_shared(plan) ? Way::kAgent : way;
}

int write_to_target(const Target& target, const Plan& plan) {
    if (target.pages && any_shared(plan))
        return move_pieces(target, plan, write_local, write_process);
    count_all(target, plan);
    return write_process(target.peer->pid(), plan);
}

int read_from_target(const Target& target, const Plan& plan) {
    if (target.pages && any_shared(plan))
        return move_pieces(target, plan, read_local, read_process);
    count_all(target, plan);
    return read_process(target.peer->pid(), plan);
}

}  // namespace softverbs
