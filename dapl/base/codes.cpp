// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/base/codes.hpp"

#include <cerrno>

namespace dapl {

DAT_RETURN from_errno(int error_number) {
    // siw's library returns the error of its system call as the kernel does: negative.
    switch (error_number < 0 ? -error_number : error_number) {
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case ENOSPC:
            return raw(DAT_INSUFFICIENT_RESOURCES);
        case EOVERFLOW:
            return raw(DAT_LENGTH_ERROR);
        case EACCES:
            return raw(DAT_PRIVILEGES_VIOLATION);
        case EPERM:
            return raw(DAT_PROTECTION_VIOLATION);
        case EINVAL:
            return raw(DAT_INVALID_PARAMETER);
        case EBUSY:  // a peer is in the middle of a transfer
            return raw(DAT_INVALID_STATE);
        case EISCONN:
            return raw(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED);
        case ECONNREFUSED:
            return raw(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
        case ETIMEDOUT:
            return raw(DAT_TIMEOUT_EXPIRED);
        case ENETUNREACH:
            return raw(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
        case EADDRINUSE:
            return raw(DAT_CONN_QUAL_IN_USE);
        case EALREADY:
            return raw(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_ACTCONNPENDING);
        case EAGAIN:
            return raw(DAT_QUEUE_EMPTY);
        case EINTR:
            return raw(DAT_INTERRUPTED_CALL);
        case EAFNOSUPPORT:
            return raw(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        default:
            return raw(DAT_INTERNAL_ERROR);
    }
}

}  // namespace dapl
