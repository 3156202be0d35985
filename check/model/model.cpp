// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/model.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "check/model/mapping.hpp"

namespace check {
namespace {

/// In pages that the kernel clears in a forked child, which then has no model.
struct Root {
    std::atomic<Model*> model;
};
std::atomic<Root*> known_root{nullptr};

Root& root() {
    Root* known = known_root.load(std::memory_order_acquire);
    if (known) return *known;
    void* pages = map_pages(sizeof(Root));
    if (madvise(pages, sizeof(Root), MADV_WIPEONFORK) != 0) {
        munmap(pages, sizeof(Root));
        throw std::bad_alloc();
    }
    if (known_root.compare_exchange_strong(known, static_cast<Root*>(pages)))
        return *static_cast<Root*>(pages);
    munmap(pages, sizeof(Root));
    return *known;
}

void set_suppressed(Endpoint& endpoint) {
    endpoint.suppressed = 0;
    for (auto last = endpoint.requests.rbegin();
         last != endpoint.requests.rend() && last->is_suppressed; ++last)
        ++endpoint.suppressed;
}

/// @return the oldest transfer with this cookie, rather one that makes completions.
TransferList::iterator completed(TransferList& list, std::uint64_t cookie) {
    const auto search = [&](bool is_suppressed) {
        return std::find_if(list.begin(), list.end(), [=](const Transfer& transfer) {
            return transfer.cookie == cookie && transfer.is_suppressed == is_suppressed;
        });
    };
    const auto found = search(false);
    return found == list.end() ? search(true) : found;
}

}  // namespace

Model& model() {
    Root& state = root();
    Model* known = state.model.load(std::memory_order_acquire);
    if (known) [[likely]]
        return *known;
    void* pages = map_pages(sizeof(Model));
    auto* made = new (pages) Model;
    if (state.model.compare_exchange_strong(known, made)) return *made;
    made->~Model();
    munmap(pages, sizeof(Model));
    return *known;
}

std::size_t Model::Hash::operator()(const Name& name) const {
    constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;
    const auto place = reinterpret_cast<std::uintptr_t>(name.place);
    const auto domain = reinterpret_cast<std::uintptr_t>(name.domain);
    return (place ^ (domain << 7) ^ static_cast<std::size_t>(name.kind)) * kOdd >> 16;
}

Object* Model::queue_of(const Object& poster, bool is_receive) {
    const Endpoint& endpoint = *poster.endpoint;
    return objects.find_live(is_receive ? endpoint.receive_queue : endpoint.request_queue);
}

/// Two targets may be one as long as only one of the transfers brings data: a receive for immediate
/// data or for an empty message fills nothing.
void Model::check_overlap(const TransferList& list, const Transfer& done, Found& found) {
    if (done.overlapped_call) {
        Finding& finding = found.add(Kind::kOverlap);
        finding.address = done.pieces[0].memory;
        finding.length = done.pieces[0].length;
        finding.other_call = done.call;
        finding.other.place = done.place;
        finding.what = done.overlapped_call;
        finding.made.place = done.overlapped_place;
    }
    for (int i = 0; i < done.pieces_count; ++i) {
        if (!done.pieces[i].is_target) continue;
        Transfer* next = targets.overlapping(done.pieces[i].memory, done.pieces[i].length, list);
        if (!next) continue;
        next->overlapped_call = done.call;
        next->overlapped_place = done.place;
    }
}

void Model::add_pieces(Object& poster, const Post& post, const Policy& policy, Transfer& transfer,
                       Found& found) {
    const unsigned rights = post.is_target ? kLocalWrite : 0u;
    bool is_clean = true;
    int index = -1;
    for (const Segment& segment : post.segments) {
        ++index;
        if (segment.length == 0) continue;
        const void* zone = poster.endpoint->zone;
        const bool tells = is_clean && policy.checks_for(kMemory);
        Found ignored;
        const Region* region =
            tells ? regions.check(poster.owner, segment, rights, zone, found)
                  : regions.check_registration(poster.owner, segment, rights, zone, ignored);
        if (!region) {
            if (tells) (found.end() - 1)->segment = index;
            is_clean = false;
            continue;
        }
        if (transfer.pieces_count == kMostPieces || !(policy.checks & (kBuffers | kOrder)))
            continue;
        Piece& piece = transfer.pieces[transfer.pieces_count++];
        piece = {region->memory + (segment.address - region->first),
                 segment.length,
                 segment.key,
                 0,
                 false,
                 post.is_target};
        if (policy.checks_for(kBuffers) && !post.is_target && !(region->rights & kRemoteWrite) &&
            !targets.overlaps(piece.memory, piece.length))
            piece.is_summed = sum_of(piece.memory, piece.length, piece.sum);
    }
}

void Model::check_remote(const Object& poster, const Post& post, Found& found) {
    if (post.remote.length == 0 || !poster.endpoint->peer) return;
    const Object* peer = objects.find_live(poster.endpoint->peer);
    if (!peer || !peer->endpoint || peer->endpoint->is_over) return;
    if (!remote_regions.find(peer->owner, post.remote.key)) return;
    if (!remote_regions.check(peer->owner, post.remote, post.remote_rights, peer->endpoint->zone,
                              found))
        (found.end() - 1)->segment = Finding::kRemoteSegment;
}

void Model::find_peer(const void* handle, Object& poster) {
    Endpoint& endpoint = *poster.endpoint;
    endpoint.peer = nullptr;
    objects.for_each(nullptr, [&](const void* other_handle, const Object& other) {
        const Endpoint* candidate = other.is_live ? other.endpoint : nullptr;
        if (!candidate || candidate == &endpoint || candidate->is_over) return;
        if (candidate->local_name != endpoint.remote_name ||
            candidate->remote_name != endpoint.local_name || endpoint.local_name == 0)
            return;
        endpoint.peer = other_handle;
        other.endpoint->peer = handle;
    });
}

void Model::check_queue(Object& poster, const Post& post, Found& found) {
    const Object* queue = queue_of(poster, post.is_receive);
    if (queue && !post.is_suppressed && queue->outstanding >= queue->length) {
        Finding& finding = found.add(Kind::kQueueTooSmall);
        finding.number = queue->outstanding + 1;
        finding.limit = queue->length;
        finding.made = queue->made;
    }
    const Endpoint& endpoint = *poster.endpoint;
    if (post.is_receive || !post.is_suppressed || endpoint.request_slots == 0) return;
    const std::uint64_t told_at = endpoint.request_slots + (endpoint.may_be_full ? 1 : 0);
    if (endpoint.suppressed + 1 < told_at) return;
    Finding& finding = found.add(Kind::kNeverSignalled);
    finding.number = endpoint.request_slots;
    finding.made = poster.made;
}

void Model::check_fence(const Endpoint& endpoint, const Post& post, const Transfer& transfer,
                        Found& found) {
    if (post.is_receive || post.is_target || post.is_fenced) return;
    for (int i = 0; i < transfer.pieces_count; ++i) {
        const Piece& piece = transfer.pieces[i];
        const Transfer* read = targets.overlapping(piece.memory, piece.length, endpoint.requests);
        if (!read) continue;
        Finding& finding = found.add(Kind::kUnfencedRead);
        finding.segment = i;
        finding.address = piece.memory;
        finding.length = piece.length;
        finding.other_call = read->call;
        finding.other.place = read->place;
        return;
    }
}

/// iWARP (MPA) lets the side that connects speak first, and has no retries where a receive lacks.
/// A peer that uses memory here is not seen, so nothing is known if there is memory for it.
void Model::check_portability(const Object& poster, const Post& post, Found& found) {
    const Endpoint& endpoint = *poster.endpoint;
    const bool is_read = post.is_target && !post.is_receive;
    const Need need = is_read ? Need::kReadSegments : Need::kSegments;
    const Object* adapter = objects.find_live(poster.owner);
    if (!(adapter && adapter->knows_limits) && !is_everywhere(need, post.segments.size())) {
        Finding& finding = found.add(Kind::kElsewhere);
        finding.need = need;
        finding.number = post.segments.size();
    }
    const bool sends_first = !post.is_receive && endpoint.is_accepting && !endpoint.has_received;
    const bool is_late = post.is_receive && endpoint.may_receive && !endpoint.had_receive;
    if ((!sends_first && !is_late) || (adapter && adapter->shares_memory) ||
        remote_regions.has_remote(poster.owner))
        return;
    found.add(is_late ? Kind::kLateReceive : Kind::kSendsFirst).made = poster.made;
}

Transfer* Model::begin(Object& poster, const Post& post, const Policy& policy, Found& found) {
    Endpoint& endpoint = *poster.endpoint;
    TransferList& list = post.is_receive ? endpoint.receives : endpoint.requests;
    Transfer& transfer = list.emplace_back();
    transfer.call = post.call;
    transfer.place = post.place;
    transfer.cookie = post.cookie;
    transfer.is_suppressed = post.is_suppressed;
    transfer.remote = post.remote;
    endpoint.end_is_told = false;
    add_pieces(poster, post, policy, transfer, found);
    if (policy.checks_for(kMemory)) check_remote(poster, post, found);
    if (policy.checks_for(kQueues)) check_queue(poster, post, found);
    if (policy.checks_for(kOrder)) {
        check_fence(endpoint, post, transfer, found);
        if (post.is_atomic && post.remote.address % sizeof(std::uint64_t) != 0)
            found.add(Kind::kMisaligned).address = post.remote.address;
    }
    if (policy.checks_for(kPortability)) check_portability(poster, post, found);
    if (post.is_receive)
        endpoint.had_receive = true;
    else
        endpoint.may_receive = !endpoint.is_datagram;
    targets.add(list, transfer);
    if (!post.is_receive) endpoint.suppressed = post.is_suppressed ? endpoint.suppressed + 1 : 0;
    Object* queue = queue_of(poster, post.is_receive);
    if (queue && !post.is_suppressed) ++queue->outstanding;
    return &transfer;
}

void Model::drop(Object& poster, bool is_receive, TransferList::iterator transfer) {
    Object* queue = queue_of(poster, is_receive);
    if (queue && !transfer->is_suppressed && queue->outstanding > 0) --queue->outstanding;
    targets.remove(*transfer);
    (is_receive ? poster.endpoint->receives : poster.endpoint->requests).erase(transfer);
}

void Model::take_back(Object& poster, const Post& post, const Transfer* transfer) {
    Endpoint& endpoint = *poster.endpoint;
    TransferList& list = post.is_receive ? endpoint.receives : endpoint.requests;
    for (auto last = list.end(); last != list.begin();) {
        if (&*--last != transfer) continue;
        drop(poster, post.is_receive, last);
        break;
    }
    if (!post.is_receive) set_suppressed(endpoint);
}

void Model::check_unchanged(Domain owner, const Transfer& transfer, Found& found) {
    for (int i = 0; i < transfer.pieces_count; ++i) {
        const Piece& piece = transfer.pieces[i];
        std::uint64_t sum;
        if (!piece.is_summed) continue;
        const bool can_be_read = sum_of(piece.memory, piece.length, sum);
        if (can_be_read && sum == piece.sum) continue;
        const Region* region = regions.find(owner, piece.key);
        // The end of a region has been told; memory that is only protected may be unchanged.
        const bool is_gone =
            !can_be_read && region && region->is_live && !is_mapped(piece.memory, piece.length);
        if (!can_be_read && !is_gone) continue;
        if (targets.overlaps(piece.memory, piece.length)) continue;
        if (remote_regions.peers_may_write(owner, piece.memory, piece.length)) continue;
        Finding& finding = found.add(is_gone ? Kind::kUnmapped : Kind::kChanged);
        if (region) finding.made = region->made;
        finding.key = piece.key;
        finding.segment = i;
        finding.address = piece.memory;
        finding.length = piece.length;
        finding.other_call = transfer.call;
        finding.other.place = transfer.place;
        return;
    }
}

void Model::add_refusal(const Endpoint& endpoint, const Transfer& done, Found& found) {
    if (endpoint.peer && objects.find_live(endpoint.peer)) return;
    Finding& finding = found.add(Kind::kRefused);
    finding.segment = Finding::kRemoteSegment;
    finding.address = done.remote.address;
    finding.length = done.remote.length;
    finding.key = done.remote.key;
    finding.other_call = done.call;
    finding.other.place = done.place;
}

void Model::add_no_receive(const Endpoint& endpoint, const Transfer& done, Found& found) {
    Finding& finding = found.add(Kind::kNoReceive);
    finding.other_call = done.call;
    finding.other.place = done.place;
    const Object* peer = endpoint.peer ? objects.find_live(endpoint.peer) : nullptr;
    if (peer) finding.made = peer->made;
}

void Model::complete(Object& poster, const Completion& completion, const Policy& policy,
                     Found& found) {
    Endpoint& endpoint = *poster.endpoint;
    const bool is_receive = completion.is_receive;
    TransferList& list = is_receive ? endpoint.receives : endpoint.requests;
    const auto done = completed(list, completion.cookie);
    if (done == list.end()) {
        if (!policy.checks_for(kAudit) || endpoint.has_unfollowed || endpoint.is_datagram) return;
        Finding& finding = found.add(Kind::kUnknownCompletion);
        finding.number = completion.cookie;
        finding.made = poster.made;
        return;
    }
    if (completion.was_refused && policy.checks_for(kMemory)) add_refusal(endpoint, *done, found);
    if (completion.lacked_receive && policy.checks_for(kQueues))
        add_no_receive(endpoint, *done, found);
    if (policy.checks_for(kBuffers)) check_unchanged(poster.owner, *done, found);
    targets.remove(*done);
    if (policy.checks_for(kBuffers) && completion.length > 0) check_overlap(list, *done, found);
    // Requests end in order, and those before make no completions of their own.
    if (!is_receive)
        while (list.begin() != done && list.front().is_suppressed)
            drop(poster, false, list.begin());
    const bool ends_run = !done->is_suppressed;
    drop(poster, is_receive, done);
    if (!is_receive && !ends_run) set_suppressed(endpoint);
}

void Model::end_transfers(Object& poster) {
    Endpoint& endpoint = *poster.endpoint;
    while (!endpoint.receives.empty()) drop(poster, true, endpoint.receives.begin());
    while (!endpoint.requests.empty()) drop(poster, false, endpoint.requests.begin());
    endpoint.suppressed = 0;
}

bool Model::find_lost(const void* queue, Found& found) {
    const auto count = [](const TransferList& list) {
        return std::count_if(list.begin(), list.end(),
                             [](const Transfer& transfer) { return !transfer.is_suppressed; });
    };
    objects.for_each(nullptr, [&](const void*, const Object& object) NO_THREAD_SAFETY_ANALYSIS {
        const Endpoint* endpoint = object.is_live ? object.endpoint : nullptr;
        if (!endpoint || !endpoint->end_is_told || endpoint->has_unfollowed || !found.empty())
            return;
        auto lost = endpoint->request_queue == queue ? count(endpoint->requests) : 0;
        if (endpoint->receive_queue == queue && !endpoint->shared)
            lost += count(endpoint->receives);
        if (lost == 0) return;
        Finding& finding = found.add(Kind::kLostTransfers);
        finding.number = static_cast<std::uint64_t>(lost);
        finding.made = object.made;
    });
    return !found.empty();
}

bool Model::is_over(const void* handle, const Object& poster) {
    if (poster.endpoint->request_queue) return poster.endpoint->is_over;
    bool is_used = false;
    objects.for_each(poster.owner, [&](const void*, const Object& object) {
        const Endpoint* user = object.endpoint;
        is_used = is_used || (user && user->shared == handle && !user->is_over);
    });
    return !is_used;
}

bool Model::find_use(Domain owner, std::uint64_t key, Found& found) {
    const Transfer* user = nullptr;
    const auto look = [&](const TransferList& list) {
        for (const Transfer& transfer : list)
            for (int i = 0; i < transfer.pieces_count && !user; ++i)
                if (transfer.pieces[i].key == key && !transfer.is_suppressed) user = &transfer;
    };
    objects.for_each(owner,
                     [&](const void* handle, const Object& object) NO_THREAD_SAFETY_ANALYSIS {
                         if (user || !object.endpoint || is_over(handle, object)) return;
                         look(object.endpoint->receives);
                         look(object.endpoint->requests);
                     });
    if (!user) return false;
    Finding& finding = found.add(Kind::kFreedInFlight);
    finding.other_call = user->call;
    finding.other.place = user->place;
    finding.key = key;
    if (const Region* region = regions.find(owner, key)) finding.made = region->made;
    return true;
}

void note_over(const void* endpoint) {
    with_endpoint(endpoint, [](Model&, Object& object) { object.endpoint->is_over = true; });
}

bool Model::count(Domain domain, Kind kind, Place place) {
    return ++counts_[Name{domain, kind, place}] == 1;
}

std::uint64_t Model::take_counts(Domain domain, Counts& counts) {
    std::uint64_t places = 0;
    for (auto next = counts_.begin(); next != counts_.end();) {
        if (next->first.domain != domain) {
            ++next;
            continue;
        }
        counts[static_cast<unsigned>(next->first.kind)] += next->second;
        ++places;
        next = counts_.erase(next);
    }
    return places;
}

}  // namespace check
