// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The C boundary: nothing is thrown across it but the unwinding of a cancelled thread.
#pragma once

#include <cxxabi.h>

#include <new>

#include "dapl/codes.hpp"

namespace dapl {

/// Runs the body of an entry function and turns what it throws into a DAT code.
template <class Body>
DAT_RETURN guarded(Body&& body) {
    try {
        return body();
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    } catch (...) {
        return error(DAT_INTERNAL_ERROR);
    }
}

/// @return the code of a failed control-path function, or DAT_SUCCESS.
template <class T>
DAT_RETURN code_of(const support::Result<T>& result) {
    return result ? static_cast<DAT_RETURN>(DAT_SUCCESS) : result.error().code;
}

}  // namespace dapl
