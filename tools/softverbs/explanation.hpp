// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Makes sentences of the account that a program's processes give of the devices they asked for
/// (providers/soft/softverbs/passthrough/account.hpp).
#pragma once

#include <string>
#include <string_view>

namespace softverbs::tool {

/// @param account its lines. Those that make no sense are skipped.
/// @return a line for each thing to say; "" when no process had the library.
std::string explanation(std::string_view account);

/// @return why the library was not in any process of the program. @param program a name as
/// execvp(3) takes it.
std::string why_not_loaded(const std::string& program);

}  // namespace softverbs::tool
