// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Trace levels: this library's own, and the provider's through an extension operation.
#include <dat2/dat_opendat.h>
#include <dat2/dat_trclvl.h>

#include <cstdarg>

#include "dat/api/dispatch.hpp"
#include "dat/api/guard.hpp"
#include "support/log/log.hpp"
#include "support/trace/trace_level.hpp"

namespace dat {
namespace {

/// @return the provider table of an IA, nullptr for anything else. The IA may be an open one, or
/// come from an open query, whose handle is the provider's pointer.
const DAT_PROVIDER* provider_of_ia(DAT_IA_HANDLE object) {
    const DAT_PROVIDER* provider = provider_of(object);
    DAT_HANDLE_TYPE type{};
    const bool known = provider && provider->get_handle_type_func &&
                       provider->get_handle_type_func(object, &type) == DAT_SUCCESS;
    return known && type == DAT_HANDLE_TYPE_IA ? provider : nullptr;
}

/// Calls the extension slot itself: the provider has been looked up already.
DAT_RETURN ask_provider(const DAT_PROVIDER& provider, DAT_IA_HANDLE object, int operation, ...) {
    if (!provider.handle_extendedop_func) return error(DAT_NOT_IMPLEMENTED);
    std::va_list arguments;
    va_start(arguments, operation);
    const DAT_RETURN code =
        provider.handle_extendedop_func(object, static_cast<DAT_EXTENDED_OP>(operation), arguments);
    va_end(arguments);
    return code;
}

bool lacks_operation(DAT_RETURN code) {
    return DAT_GET_TYPE(code) == DAT_NOT_IMPLEMENTED;
}

DAT_RETURN query_levels(DAT_IA_HANDLE object, int* dat_level, int* dapl_level) {
    const DAT_PROVIDER* provider = provider_of_ia(object);
    if (!provider) return error(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (dapl_level) {
        int level = support::kUnknownTraceLevel;
        const DAT_RETURN code =
            ask_provider(*provider, object, DAT_OPENDAT_TRACE_LEVEL_QUERY_OP, &level);
        if (code != DAT_SUCCESS && !lacks_operation(code)) return code;
        *dapl_level = level;
    }
    if (dat_level) *dat_level = support::trace_level();
    return DAT_SUCCESS;
}

DAT_RETURN modify_levels(DAT_IA_HANDLE object, int dat_level, int dapl_level) {
    const DAT_PROVIDER* provider = provider_of_ia(object);
    if (!provider) return error(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (dat_level != support::kUnknownTraceLevel && !support::is_trace_level(dat_level))
        return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
    if (dapl_level != support::kUnknownTraceLevel && !support::is_trace_level(dapl_level))
        return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
    if (dapl_level != support::kUnknownTraceLevel) {
        const DAT_RETURN code =
            ask_provider(*provider, object, DAT_OPENDAT_TRACE_LEVEL_MODIFY_OP, dapl_level);
        if (lacks_operation(code)) return error(DAT_NOT_IMPLEMENTED);
        if (code != DAT_SUCCESS) return code;
    }
    if (dat_level != support::kUnknownTraceLevel) support::set_trace_level(dat_level);
    return DAT_SUCCESS;
}

/// @return the provider's handle of the IA.
DAT_IA_HANDLE object_of(DAT_IA_HANDLE handle) {
    return is_ia_number(handle) ? provider_ia(handle) : handle;
}

}  // namespace
}  // namespace dat

DAT_RETURN dat_trclvl_query(DAT_IA_HANDLE ia_handle, int* dat_level, int* dapl_level) {
    return dat::guarded(support::TraceCall::trclvl_query, ia_handle, nullptr, [&] {
        return dat::query_levels(dat::object_of(ia_handle), dat_level, dapl_level);
    });
}

DAT_RETURN dat_trclvl_modify(DAT_IA_HANDLE ia_handle, int dat_level, int dapl_level) {
    return dat::guarded(support::TraceCall::trclvl_modify, ia_handle, nullptr, [&] {
        return dat::modify_levels(dat::object_of(ia_handle), dat_level, dapl_level);
    });
}
