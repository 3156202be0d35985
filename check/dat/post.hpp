// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks around posts.
#pragma once

#include "check/dat/checked.hpp"

namespace check::dat {

/// A transfer as the program posts it.
struct Posting {
    DAT_HANDLE poster;  ///< an EP or SRQ
    const char* call;
    Place place;
    DAT_COUNT segments;
    const DAT_LMR_TRIPLET* local;
    DAT_DTO_COOKIE cookie;
    DAT_UINT32 flags;
    bool is_receive;
    bool is_target;                           ///< writes to its segments
    const DAT_RMR_TRIPLET* remote = nullptr;  ///< the peer's memory that it uses
    unsigned remote_rights = 0;
    bool is_atomic = false;
    bool is_followed = true;  ///< its completion says which transfer it is of
};

/// @return kSuccess, or the code with which the post must fail. @param transfer out: to pass to
/// took_back().
DAT_RETURN begin_post(const Checked& checked, const Posting& posting, const Transfer*& transfer);
/// The provider has refused the post.
void take_back(const Posting& posting, const Transfer* transfer);

/// @param post posts the transfer in the provider.
template <class Provider>
DAT_RETURN posted(const Posting& posting, const Provider& post) {
    const Checked& checked = checked_of(posting.poster);
    const Transfer* transfer = nullptr;
    DAT_RETURN code = begin_post(checked, posting, transfer);
    if (code != kSuccess) return code;
    code = post(checked.inner);
    if (code != kSuccess && transfer) [[unlikely]]
        take_back(posting, transfer);
    return code;
}

}  // namespace check::dat
