// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one place where a handle becomes a call into its provider.
#pragma once

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <pthread.h>

#include <cstdint>

#include "dat/registry/ia_handles.hpp"
#include "dat/registry/waits.hpp"
#include "support/trace/trace_slots.hpp"

namespace dat {

constexpr DAT_RETURN error(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype = DAT_NO_SUBTYPE) {
    return DAT_CLASS_ERROR | static_cast<DAT_RETURN>(type) | static_cast<DAT_RETURN>(subtype);
}

/// Numbers that can be integers of open IAs are never addresses: the system maps nothing there.
inline bool is_ia_number(DAT_HANDLE handle) {
    return reinterpret_cast<std::uintptr_t>(handle) <= kMaxOpenIas;
}

/// @return the table that the object's first word points at; nullptr for what no object can be:
/// NULL, a small integer, a misaligned pointer, and an object of a provider that was unloaded (its
/// first word is NULL then).
inline const DAT_PROVIDER* provider_of(DAT_HANDLE handle) {
    const bool misaligned = reinterpret_cast<std::uintptr_t>(handle) % alignof(void*) != 0;
    if (is_ia_number(handle) || misaligned) [[unlikely]]
        return nullptr;
    return DAT_HANDLE_TO_PROVIDER(handle);
}

/// Calls the slot between two trace records. No frame here has a cleanup: a cancellation may end
/// the provider's function anywhere.
template <auto function, class... Arguments>
DAT_RETURN traced_call(const DAT_PROVIDER& provider, DAT_HANDLE handle, Arguments... arguments) {
    constexpr support::TraceSlot slot = support::kTraceSlot<function>;
    const std::uint64_t object = support::trace_word(handle);
    support::trace_call_with(slot.call, object, arguments...);
    const DAT_RETURN code = (provider.*function)(handle, arguments...);
    support::trace_return(slot.call, slot.path, object, code, 0);
    return code;
}

/// @param handle as the program gave it. @return DAT_INVALID_HANDLE with `kind`; a handle from
/// before a fork is reported, once.
[[gnu::cold]] DAT_RETURN no_provider(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle,
                                     support::TraceCall call);

/// @param given what the program gave, where that is not the object's own handle.
template <auto function, class... Arguments>
DAT_RETURN call_object(DAT_RETURN_SUBTYPE kind, DAT_HANDLE given, DAT_HANDLE handle,
                       Arguments... arguments) {
    const DAT_PROVIDER* provider = provider_of(handle);
    if (!provider) [[unlikely]]
        return no_provider(kind, given, support::kTraceSlot<function>.call);
    if (!(provider->*function)) [[unlikely]]
        return error(DAT_NOT_IMPLEMENTED);
    // What is called often is traced by the provider alone.
    if constexpr (support::kTraceSlot<function>.path == support::TracePath::kControl)
        return traced_call<function>(*provider, handle, arguments...);
    else
        return (provider->*function)(handle, arguments...);
}

/// Calls the `function` slot of the handle's provider, or answers DAT_INVALID_HANDLE with `kind`.
/// Whether the object is of the right kind and alive is for the provider to see.
template <auto function, class... Arguments>
DAT_RETURN call(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle, Arguments... arguments) {
    return call_object<function>(kind, handle, handle, arguments...);
}

/// A frame with a cleanup, for call_waiting() alone.
template <auto function, class... Arguments>
[[gnu::noinline]] DAT_RETURN counted_call(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle,
                                          Arguments... arguments) {
    const WaitInProvider wait;
    return call<function>(kind, handle, arguments...);
}

/// call() for a function that may wait for ever. The cancellation type is deferred until it
/// returns, because an asynchronous one may strike where a frame with a cleanup cannot be unwound.
template <auto function, class... Arguments>
DAT_RETURN call_waiting(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle, Arguments... arguments) {
    int old_cancel_type;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old_cancel_type);
    const DAT_RETURN code = counted_call<function>(kind, handle, arguments...);
    pthread_setcanceltype(old_cancel_type, nullptr);
    return code;
}

/// The same for a call on an IA, whose handle is an integer here and a pointer in the provider.
template <auto function, class... Arguments>
DAT_RETURN call_ia(DAT_IA_HANDLE ia_handle, Arguments... arguments) {
    return call_object<function>(DAT_INVALID_HANDLE_IA, ia_handle, provider_ia(ia_handle),
                                 arguments...);
}

/// The same for calls that take a handle of any kind.
template <auto function, class... Arguments>
DAT_RETURN call_any(DAT_HANDLE handle, Arguments... arguments) {
    const DAT_HANDLE object = is_ia_number(handle) ? provider_ia(handle) : handle;
    return call_object<function>(DAT_INVALID_HANDLE1, handle, object, arguments...);
}

}  // namespace dat
