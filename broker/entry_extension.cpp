// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Extension operations that post, on adapter instances with the broker. The arguments after each
/// operation's number are those that dapl/ia/extension.cpp reads.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>

#include "broker/entry.hpp"
#include "broker/uses.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"

namespace dapl::memory::entry {
namespace {

constexpr unsigned proposed(DAT_EXT_OP operation) {
    return unsigned{DAT_OPENDAT_PROPOSED_OP} + unsigned{operation};
}

DAT_RETURN forward(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...) {
    std::va_list arguments;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"
    va_start(arguments, operation);
#pragma GCC diagnostic pop
    const DAT_RETURN code = dapl::entry::handle_extendedop(handle, operation, arguments);
    va_end(arguments);
    return code;
}

/// @param post called with the translated segments.
template <class Post>
DAT_RETURN with_uses(DAT_HANDLE handle, Use use, bool receive, DAT_COUNT segments,
                     const DAT_LMR_TRIPLET* local, const Post& post) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    Uses uses(*registrations_of(ep->ia), use);
    const DAT_RETURN refused = uses.begin(segments, local);
    if (refused != DAT_SUCCESS) return refused;
    return uses.post(*ep, receive, [&] { return post(uses.local()); });
}

DAT_RETURN fetch_and_add(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto add = va_arg(arguments, DAT_UINT64);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    auto* remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    const auto flags = va_arg(arguments, unsigned);
    return with_uses(ep, Use::kRequest, false, 1, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, add, named, cookie, remote, flags);
    });
}

DAT_RETURN compare_and_swap(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto compare = va_arg(arguments, DAT_UINT64);
    const auto swap = va_arg(arguments, DAT_UINT64);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    auto* remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    const auto flags = va_arg(arguments, unsigned);
    return with_uses(ep, Use::kRequest, false, 1, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, compare, swap, named, cookie, remote, flags);
    });
}

DAT_RETURN write_with_immediate(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto segments = va_arg(arguments, DAT_COUNT);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    auto* remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    const auto immediate = va_arg(arguments, DAT_UINT32);
    const auto flags = va_arg(arguments, unsigned);
    // The proposal's operation has one more argument.
    const bool extended =
        operation == static_cast<DAT_EXTENDED_OP>(proposed(DAT_EXT_RDMA_WRITE_IMMED));
    const unsigned more = extended ? va_arg(arguments, unsigned) : 0;
    return with_uses(ep, Use::kRequest, false, segments, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, segments, named, cookie, remote, immediate, flags, more);
    });
}

DAT_RETURN send_with_immediate(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto segments = va_arg(arguments, DAT_COUNT);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    const auto immediate = va_arg(arguments, DAT_UINT32);
    const auto flags = va_arg(arguments, unsigned);
    return with_uses(ep, Use::kRequest, false, segments, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, segments, named, cookie, immediate, flags);
    });
}

DAT_RETURN receive(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto segments = va_arg(arguments, DAT_COUNT);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    return with_uses(ep, Use::kHold, true, segments, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, segments, named, cookie);
    });
}

DAT_RETURN send_datagram(DAT_HANDLE ep, DAT_EXTENDED_OP operation, va_list arguments) {
    const auto segments = va_arg(arguments, DAT_COUNT);
    auto* local = va_arg(arguments, DAT_LMR_TRIPLET*);
    auto* to = va_arg(arguments, DAT_IB_ADDR_HANDLE*);
    const auto cookie = va_arg(arguments, DAT_DTO_COOKIE);
    const auto flags = va_arg(arguments, unsigned);
    return with_uses(ep, Use::kHold, false, segments, local, [=](DAT_LMR_TRIPLET* named) {
        return forward(ep, operation, segments, named, to, cookie, flags);
    });
}

}  // namespace

DAT_RETURN handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list arguments) {
    switch (operation) {
        case DAT_IB_FETCH_AND_ADD_OP:
        case proposed(DAT_EXT_FETCH_AND_ADD):
            return fetch_and_add(handle, operation, arguments);
        case DAT_IB_CMP_AND_SWAP_OP:
        case proposed(DAT_EXT_CMP_AND_SWAP):
            return compare_and_swap(handle, operation, arguments);
        case DAT_IB_RDMA_WRITE_IMMED_OP:
        case proposed(DAT_EXT_RDMA_WRITE_IMMED):
            return write_with_immediate(handle, operation, arguments);
        case DAT_IB_SEND_IMMED_OP:
            return send_with_immediate(handle, operation, arguments);
        case proposed(DAT_EXT_RECV_IMMED):
            return receive(handle, operation, arguments);
        case DAT_IB_UD_SEND_OP:
            return send_datagram(handle, operation, arguments);
        default:
            break;
    }
    const DAT_RETURN code = registration_op(handle, operation, arguments);
    return code == error(DAT_NOT_IMPLEMENTED)
               ? dapl::entry::handle_extendedop(handle, operation, arguments)
               : code;
}

}  // namespace dapl::memory::entry
