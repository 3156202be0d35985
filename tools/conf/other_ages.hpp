// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Records of DAT 1.x and of other platforms, which no program can open here as they are.
#pragma once

#include <optional>
#include <string>

#include "dat/registry/dat_conf.hpp"

namespace conf {

/// Such a record, converted to today's form.
struct Modernised {
    dat::ConfRecord record;
    std::string origin;   ///< where it comes from, such as "uDAPL 1.2"
    std::string changes;  ///< the fields that differ, "A becomes B", separated by commas
};

/// @return nullopt for a record in today's form, and for one that cannot be converted.
std::optional<Modernised> modernised(const dat::ConfRecord& record);

/// @return why a record of another age or platform cannot be converted; empty for any other record.
/// A record of DAT 1.x with an unknown library may work here: a program can ask for 1.2.
std::string obstacle(const dat::ConfRecord& record);

}  // namespace conf
