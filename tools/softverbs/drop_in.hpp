// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The directory of `softverbs run --drop-in`: libibverbs.so.1 and librdmacm.so.1 for programs that
/// open them by name, where a preloaded library has no effect. Each is an empty library that needs
/// ours and then the installed one: symbols that programs look up are found in ours first, and
/// those that rdma-core's own drivers look up (in the private nodes) in the installed one.
#pragma once

#include <string>

#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs::tool {

/// Builds the directory below the fabric's, unless it exists with the right contents.
/// @param library path of libsoftverbs.so
/// @param fabric path of a fabric that has been checked
/// @return its path; an errno value, with the cause in `fault`.
Result<std::string> make_drop_in(const std::string& library, const std::string& fabric,
                                 std::string& fault);

}  // namespace softverbs::tool
