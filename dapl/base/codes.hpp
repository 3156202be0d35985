// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// DAT return codes. Consumers compare some of them with ==, so the class bit is part of the
/// contract. The codes that the specification of behaviour calls raw lack it and are made with
/// raw().
#pragma once

#include "dapl/base/dat.hpp"

#include "support/base/result.hpp"

namespace dapl {

constexpr DAT_RETURN error(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype = DAT_NO_SUBTYPE) {
    return DAT_CLASS_ERROR | static_cast<DAT_RETURN>(type) | static_cast<DAT_RETURN>(subtype);
}
constexpr DAT_RETURN raw(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype = DAT_NO_SUBTYPE) {
    return static_cast<DAT_RETURN>(type) | static_cast<DAT_RETURN>(subtype);
}
/// @param number position of the argument in the DAT function, from 1.
constexpr DAT_RETURN bad_argument(int number) {
    return error(DAT_INVALID_PARAMETER,
                 static_cast<DAT_RETURN_SUBTYPE>(DAT_INVALID_ARG1 + number - 1));
}
constexpr DAT_RETURN bad_handle(DAT_RETURN_SUBTYPE subtype) {
    return error(DAT_INVALID_HANDLE, subtype);
}
/// DAT_SUCCESS as a DAT_RETURN, for conditional expressions.
inline constexpr DAT_RETURN kSuccess = DAT_SUCCESS;
inline constexpr DAT_RETURN kOutOfMemory = error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);

/// @return the raw code that reports a system or verbs error to the consumer.
DAT_RETURN from_errno(int error_number);

}  // namespace dapl
