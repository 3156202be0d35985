// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posting a transfer: the checks that all kinds share, the slot, the device.
#pragma once

#include "dapl/base/dat.hpp"

#include <infiniband/verbs.h>

#include <cstdint>

namespace dapl {

class Ep;
class Ia;

/// A request on its way to the device. Lives on the stack of the call that posts it.
struct Request {
    std::uint32_t operation;  ///< DAT_DTOS or DAT_IB_DTOS
    DAT_COUNT segments;
    DAT_LMR_TRIPLET* local;
    DAT_DTO_COOKIE cookie;
    const DAT_RMR_TRIPLET* remote;  ///< nullptr for a send
    unsigned flags;                 ///< DAT_COMPLETION_FLAGS
    std::uint32_t immediate = 0;    ///< or, of a send, the context to invalidate
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    bool invalidates = false;     ///< a send with invalidation
    bool is_plain_write = false;  ///< a write with immediate data, but for that
    /// A write: it is complete only when its data has been placed at the peer.
    bool confirms = false;
};

/// Posts any kind of request; thread safe, never blocks.
/// @param check_state whether the EP has to be in a state that takes requests.
DAT_RETURN post_request(Ep& ep, const Request& request, bool check_state);

/// The same of an ordinary receive.
DAT_RETURN post_plain_receive(Ep& ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie);

/// Posts a receive that completes with an extension's event, whatever message takes it; as
/// dat_ep_post_recv() otherwise.
DAT_RETURN post_immediate_receive(Ep& ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                                  DAT_DTO_COOKIE cookie);

/// @param flags DAT_COMPLETION_FLAGS. @return what a device knows of them, as ibv_send_flags.
unsigned send_flags(unsigned flags);

/// Checks a scatter list before the device sees it. @return DAT_SUCCESS and the sum of the lengths,
/// or the code of what no device is asked.
DAT_RETURN measure(const Ia& ia, int max_segments, DAT_COUNT segments, const DAT_LMR_TRIPLET* local,
                   DAT_SEG_LENGTH& length);
/// Hands a receive to the device by post(ibv_recv_wr&), which is errno. Some devices (siw) take
/// none without a segment: an empty one stands for it.
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

/// The consumer's scatter list goes to the device as it is.
inline ibv_sge* as_scatter_list(DAT_LMR_TRIPLET* local) {
    return reinterpret_cast<ibv_sge*>(local);
}

}  // namespace dapl
