// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions behind the attributes debug_query and debug_modify. A program calls them directly,
/// bypassing libdat2, with the handle that it has: libdat2's number of the IA.
#pragma once

#include "dapl/base/dat.hpp"

namespace dapl {

/// Whether the attributes' values, which are addresses, are harmless when printed with %s.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kAddressesPrint = true;
#else
inline constexpr bool kAddressesPrint = false;
#endif

/// @return the address of a function of type DAT_TRCLVL_QUERY_FUNC or DAT_TRCLVL_MODIFY_FUNC. If
/// kAddressesPrint, its code begins with a printable character and a zero byte.
const char* address_of_trclvl_query();
const char* address_of_trclvl_modify();

namespace entry {
/// Reads this library's level, for libdat2. @param handle an IA.
DAT_RETURN query_trace_level(DAT_HANDLE handle, int* level);
/// @param level 0 to 10; any other fails with DAT_INVALID_PARAMETER and ARG3, the position in
/// libdat2's call.
DAT_RETURN modify_trace_level(DAT_HANDLE handle, int level);
}  // namespace entry

}  // namespace dapl
