// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records of DAT 1.x and of other platforms, which no program opens here as they stand.
#pragma once

#include <optional>
#include <string>

#include "dat/registry/dat_conf.hpp"

namespace conf {

/// Such a record in the form of today.
struct Modernised {
    dat::ConfRecord record;
    std::string origin;   ///< where it is from, such as "uDAPL 1.2"
    std::string changes;  ///< the fields that differ, "A becomes B", with commas between
};

/// @return nothing for a record of today, and for one of a library that is not known: it may be
/// what it says.
std::optional<Modernised> modernised(const dat::ConfRecord& record);

}  // namespace conf
