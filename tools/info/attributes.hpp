// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All that dat_ia_query() tells, by the names of the structures' members.
#pragma once

#include <dat2/udat.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace info {

struct Attribute {
    std::string name;
    std::variant<std::uint64_t, bool, std::string> value;
    std::string names = {};  ///< of a number that is flags or one of an enumeration
};
using Attributes = std::vector<Attribute>;

Attributes adapter_attributes(const DAT_IA_ATTR& from);
Attributes provider_attributes(const DAT_PROVIDER_ATTR& from);
/// Those whose values are addresses are left out.
Attributes named_attributes(const DAT_NAMED_ATTR* list, DAT_COUNT count);

std::string to_text(const Attribute& attribute);

}  // namespace info
