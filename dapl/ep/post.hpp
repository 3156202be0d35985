// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posting of requests and receives: checks, slot, and post to the device.
#pragma once

#include "dapl/base/dat.hpp"

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "dapl/transfer/slot_ring.hpp"
#include "support/trace/trace_points.hpp"

namespace dapl {

class Ep;
class Ia;

/// A second request, posted behind the first. The event is for both: it comes with the second.
enum class FollowedBy : std::uint8_t {
    kNothing,
    kConfirmation,  ///< a read, so that the request completes when its data is placed at the peer
    kNumber         ///< a send of the immediate data, which a write of this transport cannot carry
};

/// A request to be posted, or a receive: then operation, segments, local, cookie and use count.
/// Lives on the stack of the call that posts it.
struct Request {
    std::uint32_t operation;  ///< DAT_DTOS or DAT_IB_DTOS
    DAT_COUNT segments;
    DAT_LMR_TRIPLET* local;
    DAT_DTO_COOKIE cookie;
    const DAT_RMR_TRIPLET* remote;  ///< nullptr for a send
    unsigned flags;                 ///< DAT_COMPLETION_FLAGS
    std::uint32_t immediate = 0;    ///< immediate data, or the context that a send invalidates
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    bool invalidates = false;     ///< a send with invalidation
    bool is_plain_write = false;  ///< posted as an RDMA write without immediate data
    FollowedBy followed_by = FollowedBy::kNothing;
    TransferUse* use = nullptr;  ///< set by a decorator
};

/// Posts any kind of request; thread safe, never blocks.
/// @param check_state whether the EP has to be in a state that accepts requests.
DAT_RETURN post_request(Ep& ep, const Request& request, bool check_state);

/// Posts an ordinary receive; thread safe, never blocks.
DAT_RETURN post_ordinary_receive(Ep& ep, const Request& receive);

/// Posts a receive that completes with an extension event, whatever message arrives; otherwise like
/// dat_ep_post_recv().
DAT_RETURN post_immediate_receive(Ep& ep, const Request& receive);

/// Records a post, while the data path is traced. @return code.
DAT_RETURN traced_post(DAT_EP_HANDLE ep, support::TraceCall call, const Request& request,
                       DAT_RETURN code);
/// Does so if the data path is traced, for posts that have no way of their own for that.
inline DAT_RETURN recorded(DAT_EP_HANDLE ep, support::TraceCall call, const Request& request,
                           DAT_RETURN code) {
    return support::data_path_traced() ? traced_post(ep, call, request, code) : code;
}

/// The corresponding ibv_send_flags, indexed by DAT_COMPLETION_FLAGS.
inline constexpr auto kSendFlags = [] {
    std::array<std::uint8_t, 16> result{};
    for (unsigned flags = 0; flags < result.size(); ++flags)
        result[flags] = static_cast<std::uint8_t>(
            (flags & DAT_COMPLETION_SUPPRESS_FLAG ? 0 : IBV_SEND_SIGNALED) |
            (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? IBV_SEND_SOLICITED : 0) |
            (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG ? IBV_SEND_FENCE : 0));
    return result;
}();

inline unsigned send_flags(unsigned flags) {
    return kSendFlags[flags % kSendFlags.size()];
}

/// Checks a scatter list. @return DAT_SUCCESS and the sum of the lengths, or the error, in which
/// case the device is not called.
DAT_RETURN measure(const Ia& ia, int max_segments, DAT_COUNT segments, const DAT_LMR_TRIPLET* local,
                   DAT_SEG_LENGTH& length);
/// Posts a receive through post(ibv_recv_wr&), which returns errno. Some devices (siw) refuse a
/// receive without segments: it is then posted with one empty segment.
template <class Post>
[[gnu::always_inline]] inline int post_receive(ibv_recv_wr& work, const Post& post) {
    const int failed = post(work);
    if (failed == 0 || work.num_sge != 0) [[likely]]
        return failed;
    ibv_sge nothing{};
    work.sg_list = &nothing;
    work.num_sge = 1;
    return post(work);
}

/// The consumer's scatter list is passed to the device as it is: the layouts are the same.
inline ibv_sge* as_scatter_list(DAT_LMR_TRIPLET* local) {
    return reinterpret_cast<ibv_sge*>(local);
}

}  // namespace dapl
