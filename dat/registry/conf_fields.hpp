// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The eight fields of a record, in the order of dat.conf; opendat.yaml refers to them by name.
#pragma once

#include <span>
#include <string>

#include "dat/registry/dat_conf.hpp"

namespace dat {

struct ConfField {
    const char* name;
    const char* accepted;  ///< what the field may contain, as a noun
    /// May move from the text. @return false when the text is not accepted.
    bool (*read)(std::string& text, ConfRecord& record);
    const char* absent;  ///< default in opendat.yaml; nullptr: the field is mandatory
};

std::span<const ConfField> conf_fields();

}  // namespace dat
