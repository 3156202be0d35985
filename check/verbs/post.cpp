// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/post.hpp"

#include <atomic>
#include <functional>

#include "check/verbs/context.hpp"
#include "check/verbs/objects.hpp"
#include "check/verbs/routed.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace check::verbs {
namespace {

constexpr int kMostSegments = 32;

/// The segments of a request in the model's form.
struct Segments {
    /// Copies nothing if there are more than the queue takes: the device refuses the post.
    Segments(const ibv_sge* list, int asked, int most) {
        if (asked <= 0 || asked > most || asked > kMostSegments) return;
        for (; count < asked; ++count) {
            segments[count] = {list[count].addr, list[count].length, list[count].lkey};
            bytes += list[count].length;
        }
    }
    std::span<const Segment> all() const { return {segments, static_cast<std::size_t>(count)}; }

    Segment segments[kMostSegments];
    int count = 0;
    std::uint64_t bytes = 0;
};

bool is_atomic(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool has_data(ibv_wr_opcode opcode) {
    return opcode != IBV_WR_LOCAL_INV && opcode != IBV_WR_BIND_MW;
}

unsigned remote_rights_of(ibv_wr_opcode opcode) {
    if (is_atomic(opcode)) return kRemoteAtomic;
    if (opcode == IBV_WR_RDMA_READ) return kRemoteRead;
    const bool writes = opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    return writes ? kRemoteWrite : 0u;
}

Segment remote_of(const ibv_send_wr& wr, std::uint64_t bytes) {
    constexpr std::uint64_t kAtomicBytes = 8;
    if (is_atomic(wr.opcode)) return {wr.wr.atomic.remote_addr, kAtomicBytes, wr.wr.atomic.rkey};
    return {wr.wr.rdma.remote_addr, bytes, wr.wr.rdma.rkey};
}

/// Data that is sent inline is copied by the post, and its keys are not used.
Post post_of(const ibv_send_wr& wr, const Segments& segments, const Endpoint& endpoint) {
    Post post{};
    if (!(wr.send_flags & IBV_SEND_INLINE)) post.segments = segments.all();
    post.cookie = wr.wr_id;
    post.is_target = wr.opcode == IBV_WR_RDMA_READ || is_atomic(wr.opcode);
    post.is_suppressed = !endpoint.signals_all && !(wr.send_flags & IBV_SEND_SIGNALED);
    post.is_fenced = (wr.send_flags & IBV_SEND_FENCE) != 0;
    post.is_atomic = is_atomic(wr.opcode);
    post.remote_rights = remote_rights_of(wr.opcode);
    if (post.remote_rights != 0) post.remote = remote_of(wr, segments.bytes);
    return post;
}

Post post_of(const ibv_recv_wr& wr, const Segments& segments, const Endpoint&) {
    Post post{};
    post.segments = segments.all();
    post.cookie = wr.wr_id;
    post.is_receive = true;
    post.is_target = true;
    return post;
}

Segments segments_of(const ibv_send_wr& wr, const Endpoint& endpoint) {
    return {wr.sg_list, has_data(wr.opcode) ? wr.num_sge : 0, endpoint.most_request_segments};
}

Segments segments_of(const ibv_recv_wr& wr, const Endpoint& endpoint) {
    return {wr.sg_list, wr.num_sge, endpoint.most_receive_segments};
}

/// A window gets a key that a region may have had.
void forget_key(Model& state, const ibv_send_wr& wr) REQUIRES(state.mutex) {
    if (wr.opcode == IBV_WR_BIND_MW) state.remote_regions.forget_ended(kProcess, wr.bind_mw.rkey);
}

void forget_key(Model&, const ibv_recv_wr&) {}

bool uses_remote(const ibv_send_wr& wr) {
    return remote_rights_of(wr.opcode) != 0;
}

bool uses_remote(const ibv_recv_wr&) {
    return false;
}

void take_back_last(Model& state, Object& poster, bool is_receive, int count)
    REQUIRES(state.mutex) {
    TransferList& list = is_receive ? poster.endpoint->receives : poster.endpoint->requests;
    Post post{};
    post.is_receive = is_receive;
    for (; count > 0 && !list.empty(); --count) state.take_back(poster, post, &list.back());
}

template <class Request>
int length_of(const Request* list) {
    int length = 0;
    for (; list; list = list->next) ++length;
    return length;
}

/// Says what must be known before the requests can be checked.
enum class Unknown { kNothing, kPoster, kPeer };

template <class Request>
Unknown begin_all(const void* handle, const char* call, Place place, const Request* list,
                  Found& found, bool& fails) {
    constexpr bool is_receive = std::is_same_v<Request, ibv_recv_wr>;
    Unknown unknown = Unknown::kNothing;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* poster = state.objects.find_live(handle);
        if (!poster || !poster->endpoint) {
            unknown = Unknown::kPoster;
            return;
        }
        Endpoint& endpoint = *poster->endpoint;
        if (uses_remote(*list) && !endpoint.knows_peer) {
            unknown = Unknown::kPeer;
            return;
        }
        int begun = 0;
        for (const Request* wr = list; wr; wr = wr->next, ++begun) {
            const Segments segments = segments_of(*wr, endpoint);
            Post post = post_of(*wr, segments, endpoint);
            post.call = call;
            post.place = place;
            forget_key(state, *wr);
            state.begin(*poster, post, policy(), found);
        }
        fails = !found.empty() && policy().action == Action::kFail;
        if (fails || !endpoint.is_followed) take_back_last(state, *poster, is_receive, begun);
    });
    return unknown;
}

void learn_poster(ibv_qp* qp) {
    learn(qp, Maker::kLibrary);
}

void learn_poster(ibv_srq* srq) {
    learn(srq, kMostSegments, false, Maker::kLibrary);
}

/// @return whether the poster is of the parent of this process.
bool is_parents(const ibv_context* context, Found& found) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (!state.objects.find_live(context)) found.add(Kind::kForked).what = kContext;
    });
    return !found.empty();
}

/// Tells if a datagram goes to an address handle that is destroyed. @return whether one does, so
/// that the device must not get the list: it reads the handle.
bool has_ended_part(const char* call, const ibv_qp* qp, const ibv_send_wr* list) {
    if (qp->qp_type != IBV_QPT_UD) return false;
    for (; list; list = list->next)
        if (is_gone(call, list->wr.ud.ah)) return true;
    return false;
}

bool has_ended_part(const char*, const void*, const ibv_recv_wr*) {
    return false;
}

template <class Poster, class Request>
int begin(Poster* poster, const char* call, Place place, const Request* list) {
    if (!list) return 0;
    if (has_ended_part(call, poster, list)) return EINVAL;
    constexpr int kTries = 3;
    for (int tries = 0; tries < kTries; ++tries) {
        Found found;
        bool fails = false;
        const Unknown unknown = begin_all(poster, call, place, list, found, fails);
        if (unknown == Unknown::kNothing) return found.empty() ? 0 : refuse(found, call);
        if (unknown == Unknown::kPoster && is_parents(poster->context, found))
            return policy().checks_for(kLife) ? refuse(found, call) : 0;
        unknown == Unknown::kPoster ? learn_poster(poster) : learn_peer(poster);
    }
    return 0;
}

template <class Poster, class Request>
void take_back_from(const Poster* poster, const Request* refused) {
    constexpr bool is_receive = std::is_same_v<Request, ibv_recv_wr>;
    with_endpoint(poster, [&](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        if (object.endpoint->is_followed)
            take_back_last(state, object, is_receive, length_of(refused));
    });
}

/// @param post calls the device.
template <class Poster, class Request, class Device>
int posted(Poster* poster, const char* call, Place place, Request* list, Request** bad,
           const Device& post) {
    if (const int refused = begin(poster, call, place, list)) {
        if (bad) *bad = list;
        errno = refused;
        return refused;
    }
    Request* first_bad = list;
    const int code = post(&first_bad);
    if (code == 0) [[likely]]
        return 0;
    if (bad) *bad = first_bad;
    take_back_from(poster, first_bad);
    return code;
}

}  // namespace

int begin_requests(ibv_qp* qp, const char* call, Place place, const ibv_send_wr* list) {
    return begin(qp, call, place, list);
}

void take_back(ibv_qp* qp, const ibv_send_wr* refused) {
    take_back_from(qp, refused);
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
    return posted(qp, "ibv_post_send", __builtin_return_address(0), list, bad,
                  [=](ibv_send_wr** first) { return originals().post_send(qp, list, first); });
}

int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return posted(qp, "ibv_post_recv", __builtin_return_address(0), list, bad,
                  [=](ibv_recv_wr** first) { return originals().post_recv(qp, list, first); });
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return posted(srq, "ibv_post_srq_recv", __builtin_return_address(0), list, bad,
                  [=](ibv_recv_wr** first) { return originals().post_srq_recv(srq, list, first); });
}

namespace {

std::atomic<decltype(ibv_qp_ex::wr_complete)> complete_list{nullptr};
std::atomic<decltype(ibv_qp_ex::wr_abort)> abort_list{nullptr};

/// The list is the builder's, whose lock ibv_wr_start has taken.
int wr_complete(ibv_qp_ex* extended) NO_THREAD_SAFETY_ANALYSIS {
    ibv_qp* const qp = &extended->qp_base;
    softverbs::SendBuilder& builder = *softverbs::QueuePair::of(qp).builder();
    const ibv_send_wr* list = builder.cause() == 0 ? builder.first() : nullptr;
    const int count = length_of(list);
    const int refused = begin_requests(qp, "ibv_wr_complete", __builtin_return_address(0), list);
    if (refused != 0) {
        abort_list.load()(extended);
        return errno = refused;
    }
    const int code = complete_list.load()(extended);
    if (code == 0 || count == 0) return code;
    with_endpoint(qp, [=](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        take_back_last(state, object, false, count);
    });
    return code;
}

}  // namespace

void watch(ibv_qp_ex* qp) {
    if (qp->wr_complete == wr_complete) return;
    complete_list = qp->wr_complete;
    abort_list = qp->wr_abort;
    qp->wr_complete = wr_complete;
}

}  // namespace check::verbs
