// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_extension_op: operations beyond DAT's own, whose arguments only the provider knows. Two
/// kinds of them load and unload a provider: open queries and close queries. Also dat_extension,
/// which was proposed before it.
#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>

#include <atomic>
#include <cstdarg>
#include <cstring>

#include "dat/api/dispatch.hpp"
#include "dat/api/extension.hpp"
#include "dat/api/guard.hpp"
#include "dat/registry/lease_guard.hpp"
#include "dat/registry/lifetime.hpp"
#include "dat/registry/open_failure.hpp"
#include "support/base/proposed_operation.hpp"

namespace dat {
namespace {

/// @param arguments those after the name: first where the handle is stored, which is the provider's
/// pointer and stays one, then the operation's own.
DAT_RETURN query_by_name(Registry& registry, DAT_NAME_PTR name, DAT_EXTENDED_OP operation,
                         std::va_list arguments) {
    const Key asked{name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, false};
    registry.report_file_once();
    const auto lease = registry.acquire(asked);
    if (!lease) {
        report_no_provider(registry, asked, lease.error());
        return error(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    }
    LeaseGuard guard(registry, *lease);
    if (!lease->provider->handle_extendedop_func) return error(DAT_NOT_IMPLEMENTED);
    note_extensions_offered();  // otherwise the close query would be refused
    std::va_list peek;
    va_copy(peek, arguments);
    const DAT_IA_HANDLE* opened = va_arg(peek, DAT_IA_HANDLE*);
    va_end(peek);
    const DAT_RETURN code = lease->provider->handle_extendedop_func(name, operation, arguments);
    if (code == DAT_SUCCESS && opened && *opened) guard.keep_for(*opened);
    return code;
}

DAT_RETURN open_query(DAT_EXTENDED_OP operation, std::va_list arguments) {
    const DAT_NAME_PTR name = va_arg(arguments, DAT_NAME_PTR);
    return guarded(support::TraceCall::handle_extendedop, nullptr, nullptr, [&]() -> DAT_RETURN {
        if (!name) return error(DAT_INVALID_HANDLE, DAT_INVALID_ARG3);
        if (strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
            return error(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        const auto registry = dat::registry();
        if (!registry) return error(DAT_INVALID_STATE);
        return query_by_name(*registry, name, operation, arguments);
    });
}

DAT_RETURN close_query(DAT_HANDLE handle, DAT_EXTENDED_OP operation, std::va_list arguments) {
    return guarded(support::TraceCall::handle_extendedop, handle, nullptr, [&]() -> DAT_RETURN {
        const auto registry = dat::registry();
        if (!registry) return error(DAT_INVALID_STATE);
        const DAT_RETURN code = call<&DAT_PROVIDER::handle_extendedop_func>(
            DAT_INVALID_HANDLE_IA, handle, operation, arguments);
        const auto lease = registry->lease_of(handle);
        if (code == DAT_SUCCESS && lease && registry->forget(handle)) registry->release(*lease);
        return code;
    });
}

/// Operations that the provider implements itself, whatever the device supports (iWARP offers no
/// extensions): the counters, and all of OpenDAT's range. The provider itself checks those of them
/// that post.
bool is_of_provider(DAT_EXTENDED_OP operation) {
    return operation == DAT_IB_QUERY_COUNTERS_OP || operation == DAT_IB_PRINT_COUNTERS_OP ||
           operation == DAT_IB_START_COUNTERS_OP || operation == DAT_IB_STOP_COUNTERS_OP ||
           operation >> 16 == DAT_OPENDAT_MEMORY_ALLOC_OP >> 16;
}

DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP operation, std::va_list arguments) {
    if (operation & DAT_OPEN_EXTENSION_BASE) [[unlikely]]
        return open_query(operation, arguments);
    if (operation & DAT_CLOSE_EXTENSION_BASE) [[unlikely]]
        return close_query(handle, operation, arguments);
    return call_any<&DAT_PROVIDER::handle_extendedop_func>(handle, operation, arguments);
}

}  // namespace

/// Sets dat_extensions only once: the program owns the variable and may store a value of its own.
void tell_program_of_extensions() {
    static std::atomic<bool> told{false};
    if (!told.exchange(true)) __atomic_store_n(&dat_extensions, 1, __ATOMIC_RELEASE);
}

}  // namespace dat

int dat_extensions = 0;

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...) {
    // Programs may try an operation although the IA offers no extensions; they expect this error.
    if (handle && !dat::extensions_offered() &&
        !(dat::is_of_provider(operation) && dat::ias_opened()))
        return dat::not_implemented<&DAT_PROVIDER::handle_extendedop_func>(handle);
    std::va_list arguments;
    va_start(arguments, operation);
    const DAT_RETURN code = dat::extended(handle, operation, arguments);
    va_end(arguments);
    return code;
}

DAT_RETURN dat_extension(DAT_HANDLE handle, DAT_EXT_OP operation, ...) {
    if (!dat::extensions_offered() || unsigned{operation} > DAT_EXT_CMP_AND_SWAP)
        return dat::not_implemented<&DAT_PROVIDER::handle_extendedop_func>(handle);
    std::va_list arguments;
    // The argument is an enumeration, which is passed as an unsigned int of the same width.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"
    va_start(arguments, operation);
#pragma GCC diagnostic pop
    const DAT_RETURN code = dat::call<&DAT_PROVIDER::handle_extendedop_func>(
        DAT_INVALID_HANDLE_EP, handle, static_cast<DAT_EXTENDED_OP>(support::proposed(operation)),
        arguments);
    va_end(arguments);
    return code;
}
