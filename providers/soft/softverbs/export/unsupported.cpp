// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Programs are linked so that every imported name must be there when they start, also those they
/// never call: the names of unsupported.def answer that there is no such operation.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include <cerrno>

#include "providers/soft/softverbs/export/export.hpp"

// The headers wrap some of the names in macros.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define UNSUPPORTED(type, name, parameters, failure) \
    EXPORTED type name parameters {                  \
        errno = EOPNOTSUPP;                          \
        return failure;                              \
    }
#include "providers/soft/softverbs/export/unsupported.def"
#undef UNSUPPORTED

/// rping waits with rpoll for descriptors that are no rsockets; there are none here, so it is poll.
EXPORTED int rpoll(pollfd* descriptors, nfds_t count, int timeout) {
    return poll(descriptors, count, timeout);
}

/// No descriptor is an rsocket.
EXPORTED int rclose(int) {
    errno = EBADF;
    return -1;
}
