// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions behind the attributes debug_query and debug_modify. A program calls them with
/// what it has, libdat2's number of the IA, and gets past libdat2.
#pragma once

#include "dapl/base/dat.hpp"

namespace dapl {

/// Whether the attributes' values, which are addresses, are harmless when printed with %s.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kAddressesPrint = true;
#else
inline constexpr bool kAddressesPrint = false;
#endif

/// The addresses of functions of the types DAT_TRCLVL_QUERY_FUNC and DAT_TRCLVL_MODIFY_FUNC. Where
/// kAddressesPrint they begin with a printable character and a zero byte.
const char* address_of_trclvl_query();
const char* address_of_trclvl_modify();

namespace entry {
/// This library's level, for libdat2. @param handle an IA.
DAT_RETURN query_trace_level(DAT_HANDLE handle, int* level);
/// @param level 0 to 10, else DAT_INVALID_PARAMETER with ARG3: libdat2's argument.
DAT_RETURN modify_trace_level(DAT_HANDLE handle, int level);
}  // namespace entry

}  // namespace dapl
