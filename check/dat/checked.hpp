// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A checked table, and what its functions have in common.
#pragma once

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#include <cstddef>
#include <initializer_list>

#include "check/model/report.hpp"
#include "support/thread/thread_errors.hpp"

namespace check::dat {

/// `extension` of a checked table points here.
struct Checked {
    support::ProviderMark mark;  ///< first, for libdat2
    DAT_PROVIDER inner;          ///< the functions without checks of the program, audited or not
    DAT_PROVIDER provider;       ///< the provider's own
    const DAT_PROVIDER* outer;
    Policy policy;
};

/// @param handle one through whose table the calling function was called.
inline const Checked& checked_of(DAT_HANDLE handle) {
    return *static_cast<const Checked*>(DAT_HANDLE_TO_PROVIDER(handle)->extension);
}

/// @return a checked table; all open adapter instances by the same function.
const Checked& any_checked();

constexpr DAT_RETURN error(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype = DAT_NO_SUBTYPE) {
    return DAT_CLASS_ERROR | static_cast<DAT_RETURN>(type) | static_cast<DAT_RETURN>(subtype);
}
inline constexpr DAT_RETURN kSuccess = DAT_SUCCESS;

/// @return kSuccess, or the code with which a call must fail after these findings.
DAT_RETURN code_after(const Checked& checked, const Found& found);
/// Tells the findings of a call. @return kSuccess, or the code with which the call must fail.
[[gnu::cold]] DAT_RETURN refuse(const Checked& checked, Domain domain, Found& found,
                                const char* call);

/// Checks that the objects of a call are live and of one IA. @param handles the first is the
/// object called; others may be NULL or no handles. @return kSuccess, or the code with which the
/// call must fail.
DAT_RETURN check_handles(const Checked& checked, const char* call,
                         std::initializer_list<const void*> handles);

/// Text as a template argument.
template <std::size_t size>
struct Text {
    char text[size];
    consteval explicit(false) Text(const char (&from)[size]) {
        for (std::size_t i = 0; i < size; ++i) text[i] = from[i];
    }
};

/// @return an argument that may be a handle; NULL for one of another type.
template <class Argument>
const void* handle_in(const Argument&) {
    return nullptr;
}
inline const void* handle_in(void* const& argument) {
    return argument;
}

/// A function of the table with the check of its handles around it.
template <auto slot, Text name, class Type = decltype(slot)>
struct Call;
template <auto slot, Text name, class... Rest>
struct Call<slot, name, DAT_RETURN (*DAT_PROVIDER::*)(DAT_HANDLE, Rest...)> {
    /// Has no frame with a cleanup, since a cancellation may end the call.
    static DAT_RETURN call(DAT_HANDLE first, Rest... rest) {
        const Checked& checked = checked_of(first);
        const DAT_RETURN refused = check_handles(checked, name.text, {first, handle_in(rest)...});
        return refused != kSuccess ? refused : (checked.inner.*slot)(first, rest...);
    }
};

}  // namespace check::dat
