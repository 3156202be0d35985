// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_extension_op: the operations of InfiniBand (dat_ib_extensions.h) and iWARP
/// (dat_iw_extensions.h), those of OpenDAT (dat_opendat.h), and those of the proposal
/// (dat_extensions.h).
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_opendat.h>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/socket_connect.hpp"
#include "dapl/ep/ud_post.hpp"
#include "dapl/ia/trace_levels.hpp"
#include "dapl/listen/ssp.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/provider/entry.hpp"
#include "support/base/proposed_operation.hpp"

namespace dapl::entry {
namespace {

using support::proposed;
using support::TraceCall;

constexpr DAT_RETURN kUnknownOperation = raw(DAT_NOT_IMPLEMENTED);
/// Every adapter instance has an async EVD; the consumer does not get that of a query.
constexpr DAT_COUNT kQueryAsyncLength = 1;

/// @return the endpoint to which extensions are posted, or nullptr with the code in `refused`.
Ep* endpoint(DAT_HANDLE handle, DAT_RETURN& refused) {
    Ep* ep = from_called_handle<Ep>(handle);
    refused = !ep                      ? bad_handle(DAT_INVALID_HANDLE_EP)
              : ep->ia.is_infiniband() ? kSuccess
                                       : error(DAT_NOT_IMPLEMENTED);
    return refused == DAT_SUCCESS ? ep : nullptr;
}

DAT_RETURN post(DAT_HANDLE handle, TraceCall call, const Request& request, bool check_state) {
    DAT_RETURN refused;
    Ep* ep = endpoint(handle, refused);
    return recorded(handle, call, request, ep ? post_request(*ep, request, check_state) : refused);
}

/// A wrong length or alignment is refused here, since the device would break the connection.
DAT_RETURN post_atomic(DAT_HANDLE handle, const Request& request) {
    DAT_RETURN refused;
    Ep* ep = endpoint(handle, refused);
    if (!ep) return refused;
    if (!ep->ia.has_atomics()) return raw(DAT_MODEL_NOT_SUPPORTED);
    if (request.local && request.local->segment_length != sizeof(DAT_UINT64))
        return error(DAT_LENGTH_ERROR);
    if (request.remote && request.remote->virtual_address % sizeof(DAT_UINT64) != 0)
        return error(DAT_INVALID_ADDRESS);
    return post_request(*ep, request, false);
}

/// @param arguments those that follow the operation's own operands.
DAT_RETURN post_atomic(DAT_HANDLE handle, TraceCall call, Request& request, va_list arguments) {
    request.segments = 1;
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    request.flags = va_arg(arguments, unsigned);
    return recorded(handle, call, request, post_atomic(handle, request));
}

DAT_RETURN fetch_and_add(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_FETCH_ADD;
    request.compare_add = va_arg(arguments, DAT_UINT64);
    return post_atomic(ep, TraceCall::ib_post_fetch_and_add, request, arguments);
}

DAT_RETURN compare_and_swap(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_CMP_SWAP;
    request.compare_add = va_arg(arguments, DAT_UINT64);
    request.swap = va_arg(arguments, DAT_UINT64);
    return post_atomic(ep, TraceCall::ib_post_cmp_and_swap, request, arguments);
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
    return post(ep, TraceCall::ib_post_rdma_write_immed, request, false);
}

DAT_RETURN send_with_immediate(DAT_HANDLE ep, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_SEND_IMMED;
    request.segments = va_arg(arguments, DAT_COUNT);
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.immediate = va_arg(arguments, DAT_UINT32);
    request.flags = va_arg(arguments, unsigned);
    return post(ep, TraceCall::ib_post_send_immed, request, true);
}

/// The RDMA write of the proposal: a flag decides whether immediate data is sent.
DAT_RETURN proposed_write(DAT_HANDLE handle, va_list arguments) {
    Request request{};
    request.segments = va_arg(arguments, DAT_COUNT);
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    request.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
    request.immediate = va_arg(arguments, DAT_UINT32);
    const unsigned extended = va_arg(arguments, unsigned);
    request.flags = va_arg(arguments, unsigned);
    constexpr unsigned kKnown = DAT_EXT_WRITE_IMMED_FLAG | DAT_EXT_WRITE_CONFIRM_FLAG;
    if (extended & ~kKnown) return bad_argument(7);
    request.operation = DAT_IB_DTO_RDMA_WRITE_IMMED;
    const bool immediate = (extended & DAT_EXT_WRITE_IMMED_FLAG) != 0;
    const bool confirmed = (extended & DAT_EXT_WRITE_CONFIRM_FLAG) != 0;
    Ep* ep = from_called_handle<Ep>(handle);
    const bool carries_number = ep && ep->ia.is_infiniband();
    request.is_plain_write = !immediate || !carries_number;
    request.followed_by = confirmed                      ? FollowedBy::kConfirmation
                          : immediate && !carries_number ? FollowedBy::kNumber
                                                         : FollowedBy::kNothing;
    DAT_RETURN code;
    if (!ep)
        code = bad_handle(DAT_INVALID_HANDLE_EP);
    else if (confirmed && !carries_number)
        code = raw(DAT_MODEL_NOT_SUPPORTED);
    else
        code = post_request(*ep, request, false);
    return recorded(handle, TraceCall::ib_post_rdma_write_immed, request, code);
}

DAT_RETURN proposed_receive(DAT_HANDLE handle, va_list arguments) {
    Request request{};
    request.operation = DAT_IB_DTO_RECV_IMMED;
    request.segments = va_arg(arguments, DAT_COUNT);
    request.local = va_arg(arguments, DAT_LMR_TRIPLET*);
    request.cookie = va_arg(arguments, DAT_DTO_COOKIE);
    Ep* ep = from_called_handle<Ep>(handle);
    const DAT_RETURN code =
        ep ? post_immediate_receive(*ep, request) : bad_handle(DAT_INVALID_HANDLE_EP);
    return recorded(handle, TraceCall::ep_post_recv_immed, request, code);
}

/// Opens an adapter instance that only the operations for open and close of a query know, and
/// queries its attributes.
DAT_RETURN open_query(const DAT_NAME_PTR name, va_list arguments) {
    auto* handle = va_arg(arguments, DAT_IA_HANDLE*);
    const auto ia_mask = va_arg(arguments, DAT_IA_ATTR_MASK);
    auto* ia_attributes = va_arg(arguments, DAT_IA_ATTR*);
    const auto provider_mask = va_arg(arguments, DAT_PROVIDER_ATTR_MASK);
    auto* provider_attributes = va_arg(arguments, DAT_PROVIDER_ATTR*);
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    if (!handle) return bad_argument(4);
    const DAT_RETURN refused = ia_open(name, kQueryAsyncLength, &async, &ia);
    if (refused != DAT_SUCCESS) return refused;
    const DAT_RETURN code =
        ia_query(ia, nullptr, ia_mask, ia_attributes, provider_mask, provider_attributes);
    if (code == DAT_SUCCESS)
        *handle = ia;
    else
        ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
    return code;
}

DAT_RETURN allocate_memory(DAT_HANDLE handle, va_list arguments) {
    const auto size = va_arg(arguments, DAT_VLEN);
    auto* address = va_arg(arguments, void**);
    return uncancelled([=](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        const DAT_RETURN code = ia->provided_memory.allocate(size, address);
        if (code != DAT_SUCCESS) return code;
        ia->counters.count(DCNT_IA_MEM_ALLOC);
        ia->counters.count(DCNT_IA_MEM_ALLOC_DATA, size);
        return DAT_SUCCESS;
    });
}

DAT_RETURN free_memory(DAT_HANDLE handle, va_list arguments) {
    void* address = va_arg(arguments, void*);
    return uncancelled([=](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        const DAT_RETURN code = ia->provided_memory.free(address);
        if (code == DAT_SUCCESS) ia->counters.count(DCNT_IA_MEM_FREE);
        return code;
    });
}

DAT_RETURN find_by_context(DAT_HANDLE handle, va_list arguments) {
    const auto context = va_arg(arguments, DAT_LMR_CONTEXT);
    auto* found = va_arg(arguments, DAT_LMR_HANDLE*);
    return uncancelled([=](int) -> DAT_RETURN {
        Ia* ia = from_handle<Ia>(handle);
        if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
        if (!found) return bad_argument(3);
        Lmr* lmr = find_lmr(*ia, context);
        if (!lmr) return bad_argument(2);
        *found = lmr->handle();
        return DAT_SUCCESS;
    });
}

DAT_RETURN object_id(DAT_HANDLE handle, DAT_UINT64* id) {
    const std::uint64_t found = id_of(handle);
    if (found == 0) return bad_handle(DAT_INVALID_HANDLE1);
    if (!id) return bad_argument(2);
    *id = found;
    return DAT_SUCCESS;
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
        case DAT_IB_SEND_IMMED_OP:
            return send_with_immediate(handle, arguments);
        case proposed(DAT_EXT_RDMA_WRITE_IMMED):
            return proposed_write(handle, arguments);
        case proposed(DAT_EXT_RECV_IMMED):
            return proposed_receive(handle, arguments);
        case proposed(DAT_EXT_FETCH_AND_ADD):
            return fetch_and_add(handle, arguments);
        case proposed(DAT_EXT_CMP_AND_SWAP):
            return compare_and_swap(handle, arguments);
        case DAT_IB_UD_SEND_OP:
            return post_send_ud(handle, arguments);
        case DAT_IB_UD_CM_FREE_OP:
            return free_ud_exchange(handle, arguments);
        case DAT_IB_UD_AH_FREE_OP:
            return free_ud_address(handle, arguments);
        case DAT_IB_QUERY_COUNTERS_OP: {
            const int which = va_arg(arguments, int);
            auto* values = va_arg(arguments, DAT_UINT64*);
            return query_counters(handle, which, values, va_arg(arguments, int) != 0);
        }
        case DAT_IB_PRINT_COUNTERS_OP: {
            const int which = va_arg(arguments, int);
            return print_counters(handle, which, va_arg(arguments, int) != 0);
        }
        case DAT_IB_START_COUNTERS_OP:
            return start_counter(handle, static_cast<DAT_IA_COUNTER_TYPE>(va_arg(arguments, int)));
        case DAT_IB_STOP_COUNTERS_OP:
            return stop_counter(handle, static_cast<DAT_IA_COUNTER_TYPE>(va_arg(arguments, int)));
        case DAT_IB_OPEN_QUERY_OP:  // libdat2 passes the name on as the handle
            return open_query(static_cast<DAT_NAME_PTR>(handle), arguments);
        case DAT_IB_CLOSE_QUERY_OP:
            return ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
        case DAT_IW_SSP_CREATE_OP:
            return create_ssp(handle, arguments);
        case DAT_IW_SSP_FREE_OP:
            return free_ssp(handle);
        case DAT_IW_SSP_QUERY_OP:
            return query_ssp(handle, arguments);
        case DAT_IW_SOCKET_CONNECT_OP:
            return connect_over_socket(handle, arguments);
        case DAT_OPENDAT_MEMORY_ALLOC_OP:
            return allocate_memory(handle, arguments);
        case DAT_OPENDAT_MEMORY_FREE_OP:
            return free_memory(handle, arguments);
        case DAT_OPENDAT_TRACE_LEVEL_QUERY_OP:
            return query_trace_level(handle, va_arg(arguments, int*));
        case DAT_OPENDAT_TRACE_LEVEL_MODIFY_OP:
            return modify_trace_level(handle, va_arg(arguments, int));
        case DAT_OPENDAT_LMR_FIND_OP:
            return find_by_context(handle, arguments);
        case DAT_OPENDAT_OBJECT_ID_OP:
            return object_id(handle, va_arg(arguments, DAT_UINT64*));
        default:
            return kUnknownOperation;
    }
}

}  // namespace dapl::entry
