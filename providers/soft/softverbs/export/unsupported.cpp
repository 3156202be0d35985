// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The names of unsupported.def, which fail with EOPNOTSUPP. Programs are linked so that every
/// imported name must exist when they start, even those they never call.
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

/// The same as poll(): there are no rsockets here, and rping calls rpoll() for other descriptors.
EXPORTED int rpoll(pollfd* descriptors, nfds_t count, int timeout) {
    return poll(descriptors, count, timeout);
}

/// Fails, since no descriptor is an rsocket.
EXPORTED int rclose(int) {
    errno = EBADF;
    return -1;
}
