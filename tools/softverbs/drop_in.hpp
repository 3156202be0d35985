// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The directory of `softverbs run --drop-in`: libibverbs.so.1 and librdmacm.so.1 for programs that
/// open them by name, where a preloaded library is not seen. Each is an empty library in front of
/// ours and the installed one: what programs look for they find in ours first, and what
/// rdma-core's own drivers look for (the private nodes) in the installed one.
#pragma once

#include <string>

#include "providers/soft/softverbs/fabric/result.hpp"

namespace softverbs::tool {

/// Builds the directory below the fabric's where there is none with the right contents.
/// @param library path of libsoftverbs.so
/// @param fabric path of a fabric that has been checked
/// @return its path; an errno, with the cause in `fault`.
Result<std::string> make_drop_in(const std::string& library, const std::string& fabric,
                                 std::string& fault);

}  // namespace softverbs::tool
