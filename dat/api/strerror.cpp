// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names of return codes. Programs compare the major names as text.
#include <dat2/udat.h>

#include <cstddef>

#include "support/trace/trace_points.hpp"

namespace {

struct Name {
    DAT_UINT32 code;
    const char* text;
};

constexpr Name kTypes[] = {
#define TYPE(code, ...) {code, #code},
#define SUBTYPE(...)
#include "support/base/dat_codes.def"
#undef TYPE
#undef SUBTYPE
};

constexpr Name kSubtypes[] = {
#define TYPE(...)
#define SUBTYPE(code, ...) {code, #code},
#include "support/base/dat_codes.def"
#undef TYPE
#undef SUBTYPE
};

template <std::size_t size>
const char* name_of(const Name (&names)[size], DAT_UINT32 code) {
    for (const Name& name : names)
        if (name.code == code) return name.text;
    return nullptr;
}

DAT_RETURN find_names(DAT_RETURN value, const char** major_message, const char** minor_message) {
    const char* major = name_of(kTypes, DAT_GET_TYPE(value));
    const char* minor = name_of(kSubtypes, DAT_GET_SUBTYPE(value));
    if (!major_message) return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2;
    *major_message = major ? major : "unknown error";
    if (DAT_GET_SUBTYPE(value) == DAT_NO_SUBTYPE) minor = "";
    if (minor_message) *minor_message = minor ? minor : "unknown minor error";
    // Without the class bit, as programs expect it.
    return major && minor ? DAT_SUCCESS : DAT_INVALID_PARAMETER;
}

}  // namespace

DAT_RETURN dat_strerror(DAT_RETURN return_value, const char** major_message,
                        const char** minor_message) {
    support::trace_call(support::TraceCall::strerror, 0, {return_value});
    const DAT_RETURN code = find_names(return_value, major_message, minor_message);
    support::trace_return(support::TraceCall::strerror, support::TracePath::kControl, 0, code, 0);
    return code;
}
