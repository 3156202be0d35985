// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Posts of dat_extension_op. Other operations pass through.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_opendat.h>

#include "check/dat/audit.hpp"
#include "check/dat/entry.hpp"
#include "check/dat/objects.hpp"
#include "check/dat/post.hpp"
#include "support/base/processor.hpp"
#include "support/base/proposed_operation.hpp"

namespace check::dat {
namespace {

using support::proposed;

void read_transfer(Posting& posting, const char* call, va_list arguments) {
    posting.call = call;
    posting.segments = va_arg(arguments, DAT_COUNT);
    posting.local = va_arg(arguments, DAT_LMR_TRIPLET*);
}

void read_write(Posting& posting, va_list arguments) {
    read_transfer(posting, "dat_ib_post_rdma_write_immed", arguments);
    posting.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    posting.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    posting.remote_rights = kRemoteWrite;
    va_arg(arguments, DAT_UINT32);
    posting.flags = va_arg(arguments, unsigned);
}

void read_send(Posting& posting, va_list arguments) {
    read_transfer(posting, "dat_ib_post_send_immed", arguments);
    posting.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    va_arg(arguments, DAT_UINT32);
    posting.flags = va_arg(arguments, unsigned);
}

/// @param operands how many numbers stand before the segment.
void read_atomic(Posting& posting, const char* call, int operands, va_list arguments) {
    posting.call = call;
    for (; operands > 0; --operands) va_arg(arguments, DAT_UINT64);
    posting.segments = 1;
    posting.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    posting.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    posting.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    posting.remote_rights = kRemoteRead | kRemoteWrite;
    posting.flags = va_arg(arguments, unsigned);
    posting.is_target = true;
    posting.is_atomic = true;
}

/// @return false if the operation posts nothing.
bool read(Posting& posting, unsigned operation, va_list arguments) {
    posting.is_followed = operation < DAT_OPENDAT_PROPOSED_OP;
    switch (operation) {
        case DAT_IB_FETCH_AND_ADD_OP:
        case proposed(DAT_EXT_FETCH_AND_ADD):
            read_atomic(posting, "dat_ib_post_fetch_and_add", 1, arguments);
            return true;
        case DAT_IB_CMP_AND_SWAP_OP:
        case proposed(DAT_EXT_CMP_AND_SWAP):
            read_atomic(posting, "dat_ib_post_cmp_and_swap", 2, arguments);
            return true;
        case DAT_IB_RDMA_WRITE_IMMED_OP:
            read_write(posting, arguments);
            return true;
        case DAT_IB_SEND_IMMED_OP:
            read_send(posting, arguments);
            return true;
        case DAT_IB_UD_SEND_OP:
            read_transfer(posting, "dat_ib_post_send_ud", arguments);
            posting.is_followed = false;
            return true;
        case proposed(DAT_EXT_RDMA_WRITE_IMMED):
            read_transfer(posting, "dat_ep_post_rdma_write_immed_data", arguments);
            return true;
        case proposed(DAT_EXT_RECV_IMMED):
            read_transfer(posting, "dat_ep_post_recv_immed_data", arguments);
            posting.is_receive = true;
            posting.is_target = true;
            return true;
        default:
            return false;
    }
}

/// The caller is dat_extension_op() in libdat2. To walk the stack takes as long as a post.
Place place_of(va_list arguments) {
    const Place place = support::return_address_of(arguments);
    return place ? place : calling_place();
}

/// Registration brackets are among the other operations.
bool may_share(unsigned operation) {
    return operation < DAT_OPENDAT_MEMORY_ALLOC_OP || operation > DAT_OPENDAT_PROPOSED_OP;
}

}  // namespace

DAT_RETURN entry::handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP operation,
                                    va_list arguments) {
    // The handle of a query is the name of an IA.
    if (operation == DAT_IB_OPEN_QUERY_OP)
        return any_checked().inner.handle_extendedop_func(handle, operation, arguments);
    Posting posting{};
    posting.poster = handle;
    va_list copy;
    va_copy(copy, arguments);
    const bool posts = read(posting, static_cast<unsigned>(operation), copy);
    va_end(copy);
    if (posts) posting.place = place_of(arguments);
    if (operation == DAT_IW_SOCKET_CONNECT_OP) expect_connection(handle);
    if (!posts && may_share(static_cast<unsigned>(operation))) note_sharing(handle);
    const auto pass = [&](const DAT_PROVIDER& inner) {
        return inner.handle_extendedop_func(handle, operation, arguments);
    };
    return posts ? posted(posting, pass) : pass(checked_of(handle).inner);
}

}  // namespace check::dat
