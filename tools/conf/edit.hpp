// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Changes to a file's text that leave everything else unchanged, above all comments.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tools/conf/check.hpp"

namespace conf {

/// The change cannot be made without damaging the file; what() says why.
struct CannotEdit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// @return the text with the record added after all others. @throw CannotEdit
std::string with_record(const File& file, const dat::ConfRecord& record);
/// @return the text without the IA's records; in YAML, its settings are removed too. @throw
/// CannotEdit
std::string without_ia(const File& file, const std::string& ia_name);

struct Converted {
    std::string text;
    /// Records that stay as they are, and settings, which dat.conf cannot express.
    std::vector<Problem> problems;
};
/// Converts records of other ages and platforms to the form used here. In a dat.conf that stays
/// one, all other lines are kept, invalid ones too. @param file for YAML, one without invalid
/// lines, and not YAML itself.
Converted converted(const File& file, bool to_yaml);

}  // namespace conf
