// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/audit.hpp"

#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>
#include <dat2/dat_opendat.h>
#include <dat2/dat_reg_extensions.h>

#include <span>

#include "check/dat/objects.hpp"
#include "support/base/proposed_operation.hpp"

namespace check::dat {
namespace {

using support::proposed;

using Page = std::span<const DAT_RETURN>;

// The codes that each page names. A subtype of 0xFFFF stands for all.
#define PAGE(call, ...) constexpr DAT_RETURN page_##call[] = {__VA_ARGS__};
#include "check/dat/page_codes.def"
#undef PAGE
constexpr auto& page_dat_ia_ha_related = page_dat_registry_providers_related;
constexpr auto& page_dat_handle_extendedop = page_dat_extension_op;

constexpr DAT_RETURN kSubtype = 0xffff;

bool names(Page page, DAT_RETURN code) {
    for (const DAT_RETURN known : page)
        if (known == code || ((known & kSubtype) == kSubtype && ((known ^ code) & ~kSubtype) == 0))
            return true;
    return false;
}

[[gnu::cold, gnu::noinline]] void tell_unnamed(const Checked& checked, const char* call,
                                               DAT_RETURN code) {
    Found found;
    found.add(Kind::kUnnamedCode).number = static_cast<std::uint32_t>(code);
    refuse(checked, nullptr, found, call);
}

const Checked& table_of(DAT_HANDLE handle) {
    return checked_of(handle);
}
/// For dat_ia_open(), which has no handle yet.
const Checked& table_of(const char*) {
    return any_checked();
}

template <auto slot, const auto& page, Text name, class Type = decltype(slot)>
struct Audited;
template <auto slot, const auto& page, Text name, class First, class... Rest>
struct Audited<slot, page, name, DAT_RETURN (*DAT_PROVIDER::*)(First, Rest...)> {
    /// Has no frame with a cleanup, since a cancellation may end the call.
    static DAT_RETURN call(First first, Rest... rest) {
        const Checked& checked = table_of(first);
        const DAT_RETURN code = (checked.provider.*slot)(first, rest...);
        if (!names(page, code)) [[unlikely]]
            tell_unnamed(checked, name.text, code);
        return code;
    }
};

/// An operation of an extension and the call whose page has its codes.
struct Operation {
    unsigned operation;
    const char* call;
    Page page;
};

// Two proposals have the same numbers, for handles of different kinds: an operation may have two
// pages.
#define OPERATION(number, call) \
    { number, #call, page_##call }
constexpr Operation kOperations[] = {
    OPERATION(DAT_IB_FETCH_AND_ADD_OP, dat_ib_post_fetch_and_add),
    OPERATION(DAT_IB_CMP_AND_SWAP_OP, dat_ib_post_cmp_and_swap),
    OPERATION(DAT_IB_RDMA_WRITE_IMMED_OP, dat_ib_post_rdma_write_immed),
    OPERATION(DAT_IB_SEND_IMMED_OP, dat_ib_post_send_immed),
    OPERATION(DAT_IB_UD_SEND_OP, dat_ib_post_send_ud),
    OPERATION(DAT_IB_QUERY_COUNTERS_OP, dat_ib_query_counters),
    OPERATION(DAT_IB_PRINT_COUNTERS_OP, dat_ib_print_counters),
    OPERATION(DAT_IB_START_COUNTERS_OP, dat_ib_start_counter),
    OPERATION(DAT_IB_STOP_COUNTERS_OP, dat_ib_stop_counter),
    OPERATION(DAT_IB_UD_CM_FREE_OP, dat_ib_ud_cm_free),
    OPERATION(DAT_IB_UD_AH_FREE_OP, dat_ib_ud_ah_free),
    OPERATION(DAT_IB_OPEN_QUERY_OP, dat_ib_open_query),
    OPERATION(DAT_IB_CLOSE_QUERY_OP, dat_ib_close_query),
    OPERATION(DAT_OPENDAT_MEMORY_ALLOC_OP, dat_opendat_memory_alloc),
    OPERATION(DAT_OPENDAT_MEMORY_FREE_OP, dat_opendat_memory_free),
    OPERATION(DAT_OPENDAT_LMR_FIND_OP, dat_opendat_lmr_find),
    OPERATION(DAT_OPENDAT_OBJECT_ID_OP, dat_opendat_object_id),
    OPERATION(DAT_OPENDAT_TRACE_LEVEL_QUERY_OP, dat_trclvl_query),
    OPERATION(DAT_OPENDAT_TRACE_LEVEL_MODIFY_OP, dat_trclvl_modify),
    OPERATION(proposed(DAT_EXT_FETCH_AND_ADD), dat_ep_post_fetch_and_add),
    OPERATION(proposed(DAT_EXT_CMP_AND_SWAP), dat_ep_post_cmp_and_swap),
    OPERATION(proposed(DAT_EXT_RDMA_WRITE_IMMED), dat_ep_post_rdma_write_immed),
    OPERATION(proposed(DAT_EXT_RECV_IMMED), dat_ep_post_recv_immed),
    OPERATION(DAT_IW_SSP_CREATE_OP, dat_iw_ssp_create),
    OPERATION(DAT_IW_SSP_FREE_OP, dat_iw_ssp_free),
    OPERATION(DAT_IW_SSP_QUERY_OP, dat_iw_ssp_query),
    OPERATION(DAT_IW_SOCKET_CONNECT_OP, dat_iw_socket_connect),
    OPERATION(DAT_REG_LMR_CREATE_WAIT_OP, dat_reg_lmr_create_wait),
    OPERATION(DAT_REG_LMR_CREATE_ASYNC_OP, dat_reg_lmr_create_async),
    OPERATION(DAT_REG_TICKET_CANCEL_OP, dat_reg_ticket_cancel),
    OPERATION(DAT_REG_EVD_ATTACH_OP, dat_reg_evd_attach),
    OPERATION(DAT_REG_QUERY_OP, dat_reg_query),
    OPERATION(DAT_REG_POLICY_MODIFY_OP, dat_reg_policy_modify),
    OPERATION(DAT_REG_LMR_ACCEPT_OP, dat_reg_lmr_accept),
    OPERATION(DAT_REG_LMR_OFFER_OP, dat_reg_lmr_offer),
    OPERATION(DAT_REG_LMR_REFUSE_OP, dat_reg_lmr_refuse),
    OPERATION(DAT_REG_LMR_BEGIN_USE_OP, dat_reg_lmr_begin_use),
    OPERATION(DAT_REG_LMR_END_USE_OP, dat_reg_lmr_end_use),
    OPERATION(DAT_REG_LMR_TOUCH_OP, dat_reg_lmr_touch),
    OPERATION(DAT_REG_LMR_RENEW_OP, dat_reg_lmr_renew),
    OPERATION(DAT_REG_LMR_QUERY_OP, dat_reg_lmr_query),
    OPERATION(DAT_REG_BRACKET_OPEN_OP, dat_reg_bracket_open),
    OPERATION(DAT_REG_BRACKET_CLOSE_OP, dat_reg_bracket_close),
};
#undef OPERATION

/// Tells a code that none of the operation's pages names, or, if it has none, dat_extension_op(3).
void check_operation(const Checked& checked, unsigned number, DAT_RETURN code) {
    const char* call = nullptr;
    for (const Operation& operation : kOperations) {
        if (operation.operation != number) continue;
        if (names(operation.page, code)) return;
        call = operation.call;
    }
    if (!call && names(page_dat_extension_op, code)) return;
    tell_unnamed(checked, call ? call : "dat_extension_op", code);
}

DAT_RETURN audited_operation(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list arguments) {
    // The handle of a query is the name of an IA.
    const Checked& checked = operation == DAT_IB_OPEN_QUERY_OP ? any_checked() : checked_of(handle);
    const DAT_RETURN code = checked.provider.handle_extendedop_func(handle, operation, arguments);
    if (code != kSuccess) check_operation(checked, static_cast<unsigned>(operation), code);
    return code;
}

template <auto slot, const auto& page, Text name>
struct Audited<slot, page, name,
               DAT_RETURN (*DAT_PROVIDER::*)(DAT_HANDLE, DAT_EXTENDED_OP, va_list)> {
    static constexpr auto call = &audited_operation;
};

}  // namespace

void audit(DAT_PROVIDER& table) {
#define CALL(name, path)    \
    if (table.name##_func)  \
        table.name##_func = \
            Audited<&DAT_PROVIDER::name##_func, page_dat_##name, Text("dat_" #name)>::call;
#define OWN_CALL(name, path)
#include "support/trace/trace_calls.def"
#undef OWN_CALL
#undef CALL
}

AuditedTaking::AuditedTaking(const Checked& checked, DAT_EVD_HANDLE evd)
    : checked_(checked), evd_(evd) {
    if (!checked.policy.checks_for(kAudit)) return;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* queue = state.objects.find_live(evd);
        if (!queue) return;
        is_alone_ = queue->takers++ == 0 && queue->may_lack_events;
    });
}

void AuditedTaking::end(const char* call, DAT_RETURN code) const {
    if (!checked_.policy.checks_for(kAudit)) return;
    Found found;
    Domain domain = nullptr;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* queue = state.objects.find_live(evd_);
        if (!queue) return;
        if (queue->takers > 0) --queue->takers;
        if (DAT_GET_TYPE(code) != DAT_QUEUE_EMPTY || !is_alone_) return;
        domain = queue->owner;
        queue->may_lack_events = false;
        state.find_lost(evd_, found);
    });
    refuse(checked_, domain, found, call);
}

namespace {

/// @return how a user would call the event.
const char* text_of(DAT_EVENT_NUMBER number) {
    switch (number) {
        case DAT_CONNECTION_EVENT_ESTABLISHED:
            return "the establishment of the connection";
        default:
            return "the end of the connection";
    }
}

/// Completions of an endpoint whose end has been told are in their queues.
void expect_completions(Model& state, Endpoint& endpoint) REQUIRES(state.mutex) {
    endpoint.end_is_told = true;
    for (const void* handle : {endpoint.receive_queue, endpoint.request_queue})
        if (Object* queue = handle ? state.objects.find_live(handle) : nullptr)
            queue->may_lack_events = true;
}

}  // namespace

void audit_connection(const Checked& checked, const char* call, const DAT_EVENT& event) {
    if (!checked.policy.checks_for(kAudit)) return;
    const DAT_EVENT_NUMBER number = event.event_number;
    const Connection told =
        number == DAT_CONNECTION_EVENT_ESTABLISHED ? Connection::kEstablished : Connection::kEnded;
    Found found;
    Domain domain = nullptr;
    with_endpoint(event.event_data.connect_event_data.ep_handle,
                  [&](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
                      Endpoint& endpoint = *object.endpoint;
                      if (endpoint.is_datagram) return;
                      domain = object.owner;
                      const Connection before = endpoint.connection;
                      if (before == Connection::kEnded || before == told) {
                          Finding& finding = found.add(Kind::kToldTwice);
                          finding.what = text_of(number);
                          finding.made = object.made;
                      }
                      endpoint.connection = told;
                      if (number == DAT_CONNECTION_EVENT_DISCONNECTED)
                          expect_completions(state, endpoint);
                  });
    refuse(checked, domain, found, call);
}

void expect_connection(DAT_EP_HANDLE ep) {
    with_endpoint(ep, [](Model&, Object& object) {
        object.endpoint->connection = Connection::kUnknown;
        object.endpoint->end_is_told = false;
    });
}

void leave_unfollowed(DAT_EP_HANDLE ep) {
    with_endpoint(ep, [](Model&, Object& object) { object.endpoint->has_unfollowed = true; });
}

}  // namespace check::dat
