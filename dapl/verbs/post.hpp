// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posting to a send queue.
#pragma once

#include <infiniband/verbs.h>

namespace verbs {

/// @return what a failed post means: 0 if the request is in the queue all the same, else its errno.
int meaning_of_failed_post(int failed);

/// Posts a list of requests. @return 0 or an errno.
[[gnu::always_inline]] inline int post_send(ibv_qp* queue_pair, ibv_send_wr& first) {
    ibv_send_wr* refused;
    const int failed = ibv_post_send(queue_pair, &first, &refused);
    return failed == 0 ? 0 : meaning_of_failed_post(failed);
}

}  // namespace verbs
