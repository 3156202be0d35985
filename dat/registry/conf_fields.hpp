// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The eight fields of a record, in the order of dat.conf; opendat.yaml has them by their names.
#pragma once

#include <span>
#include <string>

#include "dat/registry/dat_conf.hpp"

namespace dat {

struct ConfField {
    const char* name;
    const char* accepted;  ///< what the field may say, as a noun
    /// May take the text. @return false for what is not accepted.
    bool (*read)(std::string& text, ConfRecord& record);
    const char* absent;  ///< what opendat.yaml may leave out; nullptr: it must be there
};

std::span<const ConfField> conf_fields();

}  // namespace dat
