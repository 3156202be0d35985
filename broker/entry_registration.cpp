// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The operations of dat2/dat_reg_extensions.h.
#include <dat2/dat_reg_extensions.h>

#include <unistd.h>
#include <algorithm>
#include <cstring>

#include "broker/brackets.hpp"
#include "broker/client.hpp"
#include "broker/entry.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/merging.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"

namespace dapl::memory::entry {
namespace {

constexpr Time kPerMicrosecond = 1000;

Time until(DAT_TIMEOUT timeout) {
    if (timeout == 0) return 0;
    return timeout == DAT_TIMEOUT_INFINITE ? kNever : now() + timeout * kPerMicrosecond;
}

DAT_LMR_PARAM parameters_of(const DAT_REG_LMR_PARAM& asked) {
    DAT_LMR_PARAM parameters{};
    parameters.mem_type = asked.mem_type;
    parameters.region_desc = asked.region_desc;
    parameters.length = asked.length;
    parameters.pz_handle = asked.pz_handle;
    parameters.mem_priv = asked.mem_priv;
    parameters.va_type = asked.va_type;
    return parameters;
}

/// Checks `param`, the second argument of the calls: whatever is invalid in it is reported as
/// DAT_INVALID_ARG2.
support::Result<Asked> checked(const Ia& ia, const DAT_REG_LMR_PARAM* asked) {
    if (!asked || static_cast<unsigned>(asked->reg_class) > DAT_REG_CLASS_PINNED)
        return support::failure(bad_argument(2));
    const DAT_LMR_PARAM parameters = parameters_of(*asked);
    Pz* pz = from_handle<Pz>(asked->pz_handle);
    const DAT_LMR_HANDLE unused = nullptr;
    const support::Result<Memory> memory = check_lmr(&ia, pz, parameters, &unused);
    if (!memory) {
        const bool is_argument = DAT_GET_TYPE(memory.error().code) == DAT_INVALID_PARAMETER;
        return support::failure(is_argument ? bad_argument(2) : memory.error().code);
    }
    return Asked{pz, *memory, parameters, static_cast<Class>(asked->reg_class)};
}

DAT_RETURN create_waiting(Ia& ia, int old_cancel_state, va_list arguments) {
    const auto* asked = va_arg(arguments, const DAT_REG_LMR_PARAM*);
    const auto timeout = va_arg(arguments, DAT_TIMEOUT);
    auto* lmr = va_arg(arguments, DAT_LMR_HANDLE*);
    auto* lmr_context = va_arg(arguments, DAT_LMR_CONTEXT*);
    auto* rmr_context = va_arg(arguments, DAT_RMR_CONTEXT*);
    const auto wanted = checked(ia, asked);
    if (!wanted) return dapl::code_of(wanted);
    if (!lmr) return bad_argument(4);
    const DAT_RETURN code =
        registrations_of(ia)->create(*wanted, {until(timeout), old_cancel_state}, lmr);
    if (code != DAT_SUCCESS) return code;
    const DAT_LMR_PARAM& made = object_of<Lmr>(*lmr).parameters;
    if (lmr_context) *lmr_context = made.lmr_context;
    if (rmr_context) *rmr_context = made.rmr_context;
    return DAT_SUCCESS;
}

DAT_RETURN create_later(Ia& ia, va_list arguments) {
    const auto* asked = va_arg(arguments, const DAT_REG_LMR_PARAM*);
    auto* cookie = va_arg(arguments, DAT_PVOID);
    auto* ticket = va_arg(arguments, DAT_REG_TICKET*);
    const auto wanted = checked(ia, asked);
    if (!wanted) return dapl::code_of(wanted);
    if (!ticket) return bad_argument(4);
    return registrations_of(ia)->create_later(*wanted, cookie, ticket);
}

DAT_RETURN attach(Ia& ia, DAT_EVD_HANDLE handle) {
    Evd* evd = from_handle<Evd>(handle);
    if (handle && (!evd || &evd->ia != &ia)) return bad_handle(DAT_INVALID_HANDLE1);
    if (evd && !evd->takes(DAT_EVD_SOFTWARE_FLAG)) return bad_argument(2);
    registrations_of(ia)->attach(evd);
    return DAT_SUCCESS;
}

DAT_RETURN query(Ia& ia, DAT_REG_STATISTICS* statistics) {
    if (!statistics) return bad_argument(2);
    const TableStatus table = registrations_of(ia)->client.broker().status();
    std::memset(statistics, 0, sizeof *statistics);
    statistics->capacity_entries = table.terms.entries;
    statistics->capacity_bytes = table.terms.bytes;
    statistics->used_entries = table.entries;
    statistics->used_bytes = table.bytes;
    statistics->waiting_entries = table.waiting;
    statistics->grace = table.terms.grace / kPerMicrosecond;
    table.policy.copy(statistics->policy, sizeof statistics->policy - 1);
    for (const ProcessStatus& process : table.processes) {
        if (process.pid != getpid()) continue;
        statistics->own_entries += process.entries;
        statistics->own_bytes += process.bytes;
        statistics->granted += process.granted;
        statistics->refused += process.refused;
        statistics->revoked += process.revoked;
        statistics->released += process.released;
    }
    return DAT_SUCCESS;
}

DAT_RETURN ia_op(Ia& ia, unsigned operation, int old_cancel_state, va_list arguments) {
    switch (operation) {
        case DAT_REG_LMR_CREATE_WAIT_OP:
            return create_waiting(ia, old_cancel_state, arguments);
        case DAT_REG_LMR_CREATE_ASYNC_OP:
            return create_later(ia, arguments);
        case DAT_REG_TICKET_CANCEL_OP:
            return registrations_of(ia)->cancel(va_arg(arguments, DAT_REG_TICKET));
        case DAT_REG_EVD_ATTACH_OP:
            return attach(ia, va_arg(arguments, DAT_EVD_HANDLE));
        case DAT_REG_QUERY_OP:
            return query(ia, va_arg(arguments, DAT_REG_STATISTICS*));
        default: {
            const char* name = va_arg(arguments, const char*);
            const bool changed = name && registrations_of(ia)->client.broker().set_policy(name);
            return changed ? kSuccess : bad_argument(2);
        }
    }
}

DAT_RETURN renew(Registrations& registrations, Registration& gone, int old_cancel_state,
                 va_list arguments) {
    const auto timeout = va_arg(arguments, DAT_TIMEOUT);
    auto* lmr_context = va_arg(arguments, DAT_LMR_CONTEXT*);
    auto* rmr_context = va_arg(arguments, DAT_RMR_CONTEXT*);
    const DAT_RETURN code = registrations.restore(gone, {until(timeout), old_cancel_state});
    if (code != DAT_SUCCESS) return code;
    const RegistrationLock lock(gone);
    if (lmr_context) *lmr_context = gone.context.load();
    if (rmr_context) *rmr_context = gone.remote_context;
    return DAT_SUCCESS;
}

DAT_RETURN offer(Registrations& registrations, Registration& announced, DAT_LMR_HANDLE handle) {
    const Lmr* other = from_handle<Lmr>(handle);
    Registration* offered =
        other && &other->ia == &registrations.ia ? registrations.of(*other) : nullptr;
    if (!offered || offered == &announced) return bad_argument(2);
    return registrations.offer(announced, *offered);
}

DAT_RETURN lmr_op(const Lmr& lmr, unsigned operation, int old_cancel_state, va_list arguments) {
    Registrations& registrations = *registrations_of(lmr.ia);
    Registration* named = registrations.of(lmr);
    if (!named) return bad_handle(DAT_INVALID_HANDLE_LMR);
    switch (operation) {
        case DAT_REG_LMR_ACCEPT_OP:
            return registrations.accept(*named);
        case DAT_REG_LMR_OFFER_OP:
            return offer(registrations, *named, va_arg(arguments, DAT_LMR_HANDLE));
        case DAT_REG_LMR_REFUSE_OP:
            return registrations.refuse(*named, va_arg(arguments, DAT_UINT64));
        case DAT_REG_LMR_BEGIN_USE_OP:
            return registrations.begin_explicit_use(*named, va_arg(arguments, DAT_UINT64));
        case DAT_REG_LMR_END_USE_OP:
            return registrations.end_explicit_use(*named);
        case DAT_REG_LMR_TOUCH_OP:
            return registrations.touch(*named);
        case DAT_REG_LMR_RENEW_OP:
            return renew(registrations, *named, old_cancel_state, arguments);
        default: {
            auto* status = va_arg(arguments, DAT_REG_LMR_STATUS*);
            if (!status) return bad_argument(2);
            registrations.query(*named, *status);
            return DAT_SUCCESS;
        }
    }
}

DAT_RETURN open_bracket(Ep& ep, int old_cancel_state, va_list arguments) {
    const auto* buffer = va_arg(arguments, const DAT_LMR_TRIPLET*);
    const auto privileges = static_cast<DAT_MEM_PRIV_FLAGS>(va_arg(arguments, unsigned));
    const auto timeout = va_arg(arguments, DAT_TIMEOUT);
    auto* bracket = va_arg(arguments, DAT_REG_BRACKET_HANDLE*);
    auto* advertised = va_arg(arguments, DAT_RMR_TRIPLET*);
    if (!buffer) return bad_argument(2);
    if (!bracket) return bad_argument(5);
    if (!advertised) return bad_argument(6);
    return registrations_of(ep.ia)->brackets->open(
        ep, *buffer, privileges, {until(timeout), old_cancel_state}, *bracket, *advertised);
}

DAT_RETURN operate(DAT_HANDLE handle, unsigned operation, int old_cancel_state, va_list arguments) {
    if (operation == DAT_REG_BRACKET_OPEN_OP) {
        Ep* ep = from_handle<Ep>(handle);
        return ep ? open_bracket(*ep, old_cancel_state, arguments)
                  : bad_handle(DAT_INVALID_HANDLE_EP);
    }
    if (operation == DAT_REG_BRACKET_CLOSE_OP) {
        Bracket* bracket = from_handle<Bracket>(handle);
        return bracket ? bracket->of.brackets->close(*bracket) : bad_handle(DAT_INVALID_HANDLE1);
    }
    if (operation <= DAT_REG_POLICY_MODIFY_OP) {
        Ia* ia = from_handle<Ia>(handle);
        return ia ? ia_op(*ia, operation, old_cancel_state, arguments)
                  : bad_handle(DAT_INVALID_HANDLE_IA);
    }
    const Lmr* lmr = from_handle<Lmr>(handle);
    return lmr ? lmr_op(*lmr, operation, old_cancel_state, arguments)
               : bad_handle(DAT_INVALID_HANDLE_LMR);
}

}  // namespace

DAT_RETURN handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP extended, va_list arguments) {
    const unsigned operation = extended;
    const bool of_ia =
        operation >= DAT_REG_LMR_CREATE_WAIT_OP && operation <= DAT_REG_POLICY_MODIFY_OP;
    const bool of_lmr = operation >= DAT_REG_LMR_ACCEPT_OP && operation <= DAT_REG_LMR_QUERY_OP;
    const bool of_bracket =
        operation == DAT_REG_BRACKET_OPEN_OP || operation == DAT_REG_BRACKET_CLOSE_OP;
    if (!of_ia && !of_lmr && !of_bracket)
        return dapl::entry::handle_extendedop(handle, extended, arguments);
    return uncancelled([&](int old_cancel_state) {
        return operate(handle, operation, old_cancel_state, arguments);
    });
}

}  // namespace dapl::memory::entry
