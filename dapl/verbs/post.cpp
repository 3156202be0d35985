// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/verbs/post.hpp"

#include <cerrno>

namespace verbs {

/// siw's library puts the request into the queue and then rings the kernel by write(), whose result
/// it returns. The kernel refuses the ring with ENOTCONN while a connection ends, but completes, as
/// flushed, what it then finds in the queue.
int meaning_of_failed_post(int failed) {
    if (failed != -1) return failed < 0 ? -failed : failed;
    return errno == ENOTCONN ? 0 : errno;
}

}  // namespace verbs
