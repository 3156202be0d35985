// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/post.hpp"

#include "check/dat/audit.hpp"
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"

namespace check::dat {
namespace {

constexpr int kMostSegments = 32;

/// The segments in the model's form.
class Segments {
  public:
    /// Copies nothing if there are more than the endpoint takes: the provider refuses the post.
    Segments(const Posting& posting, int most) {
        if (!posting.local || posting.segments <= 0 || posting.segments > most ||
            posting.segments > kMostSegments)
            return;
        for (; count_ < posting.segments; ++count_) {
            const DAT_LMR_TRIPLET& segment = posting.local[count_];
            segments_[count_] = {segment.virtual_address, segment.segment_length,
                                 segment.lmr_context};
        }
    }
    std::span<const Segment> all() const { return {segments_, static_cast<std::size_t>(count_)}; }

  private:
    Segment segments_[kMostSegments];
    int count_ = 0;
};

/// @return the part of the peer's memory that the transfer uses: as many bytes as the segments
/// have.
Segment remote_of(const Posting& posting, std::span<const Segment> segments) {
    if (!posting.remote) return {};
    std::uint64_t length = 0;
    for (const Segment& segment : segments) length += segment.length;
    return {posting.remote->virtual_address, length, posting.remote->rmr_context};
}

Post post_of(const Posting& posting, std::span<const Segment> segments) {
    Post post{};
    post.call = posting.call;
    post.place = posting.place;
    post.segments = segments;
    post.cookie = posting.cookie.as_64;
    post.is_receive = posting.is_receive;
    post.is_target = posting.is_target;
    post.is_suppressed = (posting.flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0;
    post.is_fenced = (posting.flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) != 0;
    post.is_atomic = posting.is_atomic;
    post.remote = remote_of(posting, segments);
    post.remote_rights = posting.remote_rights;
    return post;
}

/// @param transfer out: unchanged if the transfer is not followed.
/// @return the IA; nullptr if the poster is not known.
Domain begin(const Checked& checked, const Posting& posting, const Transfer*& transfer,
             Found& found) {
    Domain domain = nullptr;
    with_endpoint(posting.poster, [&](Model& state, Object& poster) NO_THREAD_SAFETY_ANALYSIS {
        domain = poster.owner;
        Endpoint& endpoint = *poster.endpoint;
        const Segments segments(posting, posting.is_receive ? endpoint.most_receive_segments
                                                            : endpoint.most_request_segments);
        const Post post = post_of(posting, segments.all());
        const Transfer* begun = state.begin(poster, post, checked.policy, found);
        endpoint.has_unfollowed |= !posting.is_followed;
        if (posting.is_followed && code_after(checked, found) == kSuccess)
            transfer = begun;
        else
            state.take_back(poster, post, begun);
    });
    return domain;
}

/// @return whether the finding is about a region that has been learned now.
bool was_unseen(const Checked& checked, Domain domain, const Finding& finding) {
    return (finding.kind == Kind::kNotRegistered || finding.kind == Kind::kEnded) &&
           finding.segment != Finding::kRemoteSegment &&
           find_region(checked, domain, static_cast<DAT_LMR_CONTEXT>(finding.key));
}

}  // namespace

DAT_RETURN begin_post(const Checked& checked, const Posting& posting, const Transfer*& transfer) {
    ensure_known(checked, posting.poster);
    const DAT_RETURN refused = check_handles(checked, posting.call, {posting.poster});
    if (refused != kSuccess) return refused;
    for (int unseen = 0;; ++unseen) {
        Found found;
        const Domain domain = begin(checked, posting, transfer, found);
        if (found.empty()) [[likely]]
            return kSuccess;
        if (unseen == kMostSegments || !was_unseen(checked, domain, *found.begin()))
            return refuse(checked, domain, found, posting.call);
        if (transfer) take_back(posting, transfer);
        transfer = nullptr;
    }
}

void take_back(const Posting& posting, const Transfer* transfer) {
    with_endpoint(posting.poster, [&](Model& state, Object& poster) NO_THREAD_SAFETY_ANALYSIS {
        state.take_back(poster, post_of(posting, {}), transfer);
    });
}

namespace {

/// A request that only reads its segments.
Posting request(DAT_HANDLE poster, const char* call, Place place, DAT_COUNT segments,
                const DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie, DAT_UINT32 flags) {
    return {poster, call, place, segments, local, cookie, flags, false, false};
}

/// A receive always makes a completion.
Posting receive(DAT_HANDLE poster, const char* call, Place place, DAT_COUNT segments,
                const DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie) {
    return {poster, call, place, segments, local, cookie, 0, true, true};
}

}  // namespace

namespace entry {

DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    const Posting posting = request(ep, "dat_ep_post_send", __builtin_return_address(0), segments,
                                    local, cookie, flags);
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.ep_post_send_func(ep, segments, local, cookie, flags);
    });
}

DAT_RETURN ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    const Posting posting =
        receive(ep, "dat_ep_post_recv", __builtin_return_address(0), segments, local, cookie);
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.ep_post_recv_func(ep, segments, local, cookie, flags);
    });
}

DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                             DAT_COMPLETION_FLAGS flags) {
    Posting posting = request(ep, "dat_ep_post_rdma_read", __builtin_return_address(0), segments,
                              local, cookie, flags);
    posting.is_target = true;
    posting.remote = remote;
    posting.remote_rights = kRemoteRead;
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.ep_post_rdma_read_func(ep, segments, local, cookie, remote, flags);
    });
}

/// The target is a window, which the checks do not know.
DAT_RETURN ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET* local,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                                    DAT_COMPLETION_FLAGS flags) {
    ensure_known(checked_of(ep), ep);
    leave_unfollowed(ep);
    return Call<&DAT_PROVIDER::ep_post_rdma_read_to_rmr_func,
                Text("dat_ep_post_rdma_read_to_rmr")>::call(ep, local, cookie, remote, flags);
}

DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                              DAT_COMPLETION_FLAGS flags) {
    Posting posting = request(ep, "dat_ep_post_rdma_write", __builtin_return_address(0), segments,
                              local, cookie, flags);
    posting.remote = remote;
    posting.remote_rights = kRemoteWrite;
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.ep_post_rdma_write_func(ep, segments, local, cookie, remote, flags);
    });
}

DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT segments,
                                        DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                        DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidates,
                                        DAT_RMR_CONTEXT context) {
    const Posting posting = request(ep, "dat_ep_post_send_with_invalidate",
                                    __builtin_return_address(0), segments, local, cookie, flags);
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.ep_post_send_with_invalidate_func(ep, segments, local, cookie, flags,
                                                       invalidates, context);
    });
}

DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                         DAT_DTO_COOKIE cookie) {
    const Posting posting =
        receive(srq, "dat_srq_post_recv", __builtin_return_address(0), segments, local, cookie);
    return posted(posting, [&](const DAT_PROVIDER& inner) {
        return inner.srq_post_recv_func(srq, segments, local, cookie);
    });
}

}  // namespace entry
}  // namespace check::dat
