// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Keeps account of the program's DAT objects.
#pragma once

#include <type_traits>

#include "check/dat/checked.hpp"

namespace check::dat {

inline constexpr const char* kAdapter = "the IA";
inline constexpr const char* kEndpoint = "the EP";
inline constexpr const char* kQueue = "the EVD";
inline constexpr const char* kRegion = "the LMR";
inline constexpr const char* kWindow = "the RMR";
inline constexpr const char* kRequest = "the connection request";

/// Remembers an object that a call has made. @param arguments the handles of the call; the first
/// is the IA, or an object of the IA. The EVDs among them get events from the new object.
void made(const char* kind, const void* handle, std::initializer_list<const void*> arguments);
/// Remembers that the program gives peers access to memory by other means than a region's rights.
/// @param object any of the IA.
void note_sharing(const void* object);
/// Remembers that the call of the program that runs now has freed an object, and leads later calls
/// with its handle here: the provider's word 0 of a freed object need not.
void ended(const Checked& checked, DAT_HANDLE handle);
/// The part of ended() after the object was found.
void keep_table(const Checked& checked, DAT_HANDLE handle);
/// Asks the provider what an endpoint is made of, and remembers that.
void learn_endpoint(const Checked& checked, DAT_EP_HANDLE ep);
/// Remembers that an endpoint is connected, and to whom, if the peer is in this process.
void learn_peer(const Checked& checked, DAT_EP_HANDLE ep);
/// Asks what an endpoint is made of if it is not yet known. @param poster an EP, an SRQ, or a freed
/// one.
void ensure_known(const Checked& checked, DAT_HANDLE poster);

/// Asks the provider for a region that the checks have not seen being registered: extensions
/// register memory too. @return whether there is one with this context, which is known from now on.
bool find_region(const Checked& checked, Domain ia, DAT_LMR_CONTEXT context);

/// A function that makes an object, and one that frees it.
template <auto slot, Text name, Text kind, class Type = decltype(slot)>
struct Making;
template <auto slot, Text name, Text kind, class... Rest>
struct Making<slot, name, kind, DAT_RETURN (*DAT_PROVIDER::*)(DAT_HANDLE, Rest...)> {
    static DAT_RETURN call(DAT_HANDLE first, Rest... rest) {
        const DAT_RETURN code = Call<slot, name>::call(first, rest...);
        if (code == kSuccess) made(kind.text, made_in(rest...), {first, handle_in(rest)...});
        return code;
    }

  private:
    static const void* made_in(const auto&... arguments) {
        const void* handle = nullptr;
        const auto look = [&handle](const auto& argument) {
            if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, DAT_HANDLE*>)
                handle = *argument;
        };
        (look(arguments), ...);
        return handle;
    }
};

template <auto slot, Text name>
DAT_RETURN ending(DAT_HANDLE handle) {
    const Checked& checked = checked_of(handle);
    const DAT_RETURN code = Call<slot, name>::call(handle);
    if (code == kSuccess) ended(checked, handle);
    return code;
}

}  // namespace check::dat
