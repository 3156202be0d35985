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
    std::vector<Problem> left_out;  ///< what the other kind of file cannot express
};
/// Converts records of other ages and platforms to the form used here. @param file one without
/// lines that are left out. @param keep_kind a dat.conf stays a dat.conf; otherwise the file is
/// converted to the other kind.
Converted converted(const File& file, bool keep_kind);

}  // namespace conf
