// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Prints the report of `softverbs ls`.
#pragma once

#include "tools/softverbs/members.hpp"

namespace softverbs::tool {

std::string as_text(const std::string& path, const Index::Survey& survey,
                    const std::vector<MemberSnapshot>& members);
/// The schema is in softverbs(1). A change that could break readers gets a new version.
std::string as_json(const std::string& path, const Index::Survey& survey,
                    const std::vector<MemberSnapshot>& members);

}  // namespace softverbs::tool
