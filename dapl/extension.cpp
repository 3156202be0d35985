// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_extension_op: the InfiniBand operations that there are.
#include <dat2/dat_ib_extensions.h>

#include "dapl/codes.hpp"
#include "dapl/entry.hpp"
#include "dapl/post.hpp"

namespace dapl::entry {
namespace {

constexpr DAT_RETURN kUnknownOperation = raw(DAT_NOT_IMPLEMENTED);

/// What follows the operation's own numbers in the list of an atomic operation.
void read_atomic(Request& request, va_list arguments) {
    request.segments = 1;
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    request.flags = va_arg(arguments, unsigned);
}

DAT_RETURN fetch_and_add(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_FETCH_ADD;
    request.compare_add = va_arg(arguments, DAT_UINT64);
    read_atomic(request, arguments);
    return post_request(ep, request, false);
}

DAT_RETURN compare_and_swap(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_CMP_SWAP;
    request.compare_add = va_arg(arguments, DAT_UINT64);
    request.swap = va_arg(arguments, DAT_UINT64);
    read_atomic(request, arguments);
    return post_request(ep, request, false);
}

DAT_RETURN write_with_immediate(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_RDMA_WRITE_IMMED;
    request.segments = va_arg(arguments, DAT_COUNT);
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    request.immediate = va_arg(arguments, DAT_UINT32);
    request.flags = va_arg(arguments, unsigned);
    return post_request(ep, request, false);
}

}  // namespace

DAT_RETURN handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list arguments) {
    switch (operation) {
        case DAT_IB_FETCH_AND_ADD_OP:
            return fetch_and_add(handle, arguments);
        case DAT_IB_CMP_AND_SWAP_OP:
            return compare_and_swap(handle, arguments);
        case DAT_IB_RDMA_WRITE_IMMED_OP:
            return write_with_immediate(handle, arguments);
        default:
            return kUnknownOperation;
    }
}

}  // namespace dapl::entry
