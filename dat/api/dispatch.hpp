// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one place where a handle becomes a call into its provider: looks up the provider's table and
/// calls the slot.
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

/// @return whether `handle` lies in the range of IA integers. No object has such an address: the
/// system maps nothing there.
inline bool is_ia_number(DAT_HANDLE handle) {
    return reinterpret_cast<std::uintptr_t>(handle) <= kMaxOpenIas;
}

/// @return the provider table that the object's first word points to; nullptr for what cannot be an
/// object: NULL, a small integer, a misaligned pointer, and an object of an unloaded provider (its
/// first word is then NULL).
inline const DAT_PROVIDER* provider_of(DAT_HANDLE handle) {
    const bool misaligned = reinterpret_cast<std::uintptr_t>(handle) % alignof(void*) != 0;
    if (is_ia_number(handle) || misaligned) [[unlikely]]
        return nullptr;
    return DAT_HANDLE_TO_PROVIDER(handle);
}

/// Calls the slot and records the call and its return. No frame here has a cleanup, because a
/// cancellation may end the provider's function at any point.
template <auto function, class... Arguments>
DAT_RETURN traced_call(const DAT_PROVIDER& provider, DAT_HANDLE handle, Arguments... arguments) {
    constexpr support::TraceSlot slot = support::kTraceSlot<function>;
    const std::uint64_t object = support::trace_word(handle);
    support::trace_call_with(slot.call, object, arguments...);
    const DAT_RETURN code = (provider.*function)(handle, arguments...);
    support::trace_return(slot.call, slot.path, object, code, 0);
    return code;
}

/// Records a call that this library answers itself, as the provider records those that reach it: on
/// the data path from kDataPathLevel on. @param handle as the program passed it. @return code
[[gnu::cold]] DAT_RETURN answered_here(DAT_RETURN code, DAT_HANDLE handle, support::TraceSlot slot);

/// Reports, once per process, the use of a handle from before a fork. @param handle as the program
/// passed it. @return DAT_INVALID_HANDLE with `kind`.
[[gnu::cold]] DAT_RETURN no_provider(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle,
                                     support::TraceCall call);

// Functions of their own, which name the slot themselves, so that nothing is prepared for them on
// the way to the provider.
template <auto function>
[[gnu::cold, gnu::noinline]] DAT_RETURN no_provider_for(DAT_RETURN_SUBTYPE kind,
                                                        DAT_HANDLE handle) {
    constexpr support::TraceSlot slot = support::kTraceSlot<function>;
    return answered_here(no_provider(kind, handle, slot.call), handle, slot);
}
template <auto function>
[[gnu::cold, gnu::noinline]] DAT_RETURN not_implemented(DAT_HANDLE handle) {
    return answered_here(error(DAT_NOT_IMPLEMENTED), handle, support::kTraceSlot<function>);
}

/// @param given the handle as the program passed it; differs from `handle`, the object's, for an
/// IA.
template <auto function, class... Arguments>
DAT_RETURN call_object(DAT_RETURN_SUBTYPE kind, DAT_HANDLE given, DAT_HANDLE handle,
                       Arguments... arguments) {
    const DAT_PROVIDER* provider = provider_of(handle);
    if (!provider) [[unlikely]]
        return no_provider_for<function>(kind, given);
    if (!(provider->*function)) [[unlikely]]
        return not_implemented<function>(given);
    // Calls on the data path that reach the provider are traced by it alone.
    if constexpr (support::kTraceSlot<function>.path == support::TracePath::kControl)
        return traced_call<function>(*provider, handle, arguments...);
    else
        return (provider->*function)(handle, arguments...);
}

/// Calls the `function` slot of the handle's provider; returns DAT_INVALID_HANDLE with `kind` when
/// the handle leads to none. The provider checks that the object is alive and of the right kind.
template <auto function, class... Arguments>
DAT_RETURN call(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle, Arguments... arguments) {
    return call_object<function>(kind, handle, handle, arguments...);
}

/// The part of call_waiting() whose frame has a cleanup.
template <auto function, class... Arguments>
[[gnu::noinline]] DAT_RETURN counted_call(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle,
                                          Arguments... arguments) {
    const WaitInProvider wait;
    return call<function>(kind, handle, arguments...);
}

/// call() for a function that may wait for ever. Keeps the cancellation type deferred until it
/// returns, because an asynchronous cancellation may strike where a frame with a cleanup cannot be
/// unwound.
template <auto function, class... Arguments>
DAT_RETURN call_waiting(DAT_RETURN_SUBTYPE kind, DAT_HANDLE handle, Arguments... arguments) {
    int old_cancel_type;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old_cancel_type);
    const DAT_RETURN code = counted_call<function>(kind, handle, arguments...);
    pthread_setcanceltype(old_cancel_type, nullptr);
    return code;
}

/// call() on an IA, whose handle is an integer for the consumer and a pointer in the provider.
template <auto function, class... Arguments>
DAT_RETURN call_ia(DAT_IA_HANDLE ia_handle, Arguments... arguments) {
    return call_object<function>(DAT_INVALID_HANDLE_IA, ia_handle, provider_ia(ia_handle),
                                 arguments...);
}

/// call() for functions that take a handle of any kind.
template <auto function, class... Arguments>
DAT_RETURN call_any(DAT_HANDLE handle, Arguments... arguments) {
    const DAT_HANDLE object = is_ia_number(handle) ? provider_ia(handle) : handle;
    return call_object<function>(DAT_INVALID_HANDLE1, handle, object, arguments...);
}

}  // namespace dat
