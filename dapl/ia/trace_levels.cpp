// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ia/trace_levels.hpp"

#include <dat2/dat_trclvl.h>
#include <dlfcn.h>

#include <cstdint>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"
#include "support/log/log.hpp"
#include "support/trace/trace_level.hpp"

extern "C" {
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other);

// The entries in trclvl_entries.S jump to these functions. Both are hidden symbols.
DAT_RETURN opendat_trclvl_query(DAT_IA_HANDLE handle, int* dat_level, int* dapl_level);
DAT_RETURN opendat_trclvl_modify(DAT_IA_HANDLE handle, int dat_level, int dapl_level);
extern const char opendat_trclvl_query_entry[];
extern const char opendat_trclvl_modify_entry[];
}

namespace dapl {
namespace {

/// libdat2's numbers of IAs are smaller; nothing is mapped below this address.
constexpr std::uintptr_t kFirstAddress = 0x10000;

/// @return the IA for a consumer's handle: libdat2's number or, for an open query, our own handle.
const Ia* ia_of(DAT_IA_HANDLE handle) {
    DAT_IA_HANDLE own = handle;
    const bool is_number = reinterpret_cast<std::uintptr_t>(handle) < kFirstAddress;
    if (is_number && dats_get_ia_handle(handle, &own) != DAT_SUCCESS) return nullptr;
    return from_handle<Ia>(own);
}

/// @return the function of libdat2, if the libdat2 that has loaded this library is OpenDAT's.
/// Looked up at run time: the reference's libdat2 lacks it and could not load a library that needs
/// it.
template <class Function>
Function libdat2_function(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

const char* address_of_trclvl_query() {
#if defined(__x86_64__) || defined(__aarch64__)
    return opendat_trclvl_query_entry;
#else
    return reinterpret_cast<const char*>(opendat_trclvl_query);
#endif
}

const char* address_of_trclvl_modify() {
#if defined(__x86_64__) || defined(__aarch64__)
    return opendat_trclvl_modify_entry;
#else
    return reinterpret_cast<const char*>(opendat_trclvl_modify);
#endif
}

namespace entry {

DAT_RETURN query_trace_level(DAT_HANDLE handle, int* level) {
    if (!from_handle<Ia>(handle)) return bad_handle(DAT_INVALID_HANDLE_IA);
    *level = support::trace_level();
    return DAT_SUCCESS;
}

DAT_RETURN modify_trace_level(DAT_HANDLE handle, int level) {
    if (!from_handle<Ia>(handle)) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!support::is_trace_level(level)) return bad_argument(3);
    support::set_trace_level(level);
    return DAT_SUCCESS;
}

}  // namespace entry
}  // namespace dapl

using namespace dapl;

DAT_RETURN opendat_trclvl_query(DAT_IA_HANDLE handle, int* dat_level, int* dapl_level) {
    const Ia* ia = ia_of(handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (dat_level) {
        int level = support::kUnknownTraceLevel;
        // When asked only for its own level, libdat2 does not call this library.
        const auto query = libdat2_function<DAT_TRCLVL_QUERY_FUNC>("dat_trclvl_query");
        const DAT_RETURN code = query ? query(ia->handle(), &level, nullptr) : kSuccess;
        if (code != DAT_SUCCESS) return code;
        *dat_level = level;
    }
    return dapl_level ? entry::query_trace_level(ia->handle(), dapl_level) : kSuccess;
}

DAT_RETURN opendat_trclvl_modify(DAT_IA_HANDLE handle, int dat_level, int dapl_level) {
    const Ia* ia = ia_of(handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (dat_level != support::kUnknownTraceLevel && !support::is_trace_level(dat_level))
        return bad_argument(2);
    if (dapl_level != support::kUnknownTraceLevel && !support::is_trace_level(dapl_level))
        return bad_argument(3);
    if (dat_level != support::kUnknownTraceLevel) {
        const auto modify = libdat2_function<DAT_TRCLVL_MODIFY_FUNC>("dat_trclvl_modify");
        const DAT_RETURN code = modify
                                    ? modify(ia->handle(), dat_level, support::kUnknownTraceLevel)
                                    : error(DAT_NOT_IMPLEMENTED);
        if (code != DAT_SUCCESS) return code;
    }
    return dapl_level == support::kUnknownTraceLevel
               ? kSuccess
               : entry::modify_trace_level(ia->handle(), dapl_level);
}
