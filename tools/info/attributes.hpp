// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All attributes that dat_ia_query() returns, by the names of the structures' members.
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
    std::string names = {};  ///< symbolic form, for flags and enumerations
};
using Attributes = std::vector<Attribute>;

Attributes adapter_attributes(const DAT_IA_ATTR& from);
Attributes provider_attributes(const DAT_PROVIDER_ATTR& from);
/// Leaves out attributes whose values are addresses.
Attributes named_attributes(const DAT_NAMED_ATTR* list, DAT_COUNT count);

std::string to_text(const Attribute& attribute);

}  // namespace info
