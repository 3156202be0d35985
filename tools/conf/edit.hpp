// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Changes of a file's text that leave everything else as it stands, comments above all.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tools/conf/check.hpp"

namespace conf {

/// The change cannot be made without spoiling the file; says why.
struct CannotEdit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// @return the text with the record behind all others. @throw CannotEdit
std::string with_record(const File& file, const dat::ConfRecord& record);
/// @return the text without the IA's records; in YAML its settings go with them. @throw CannotEdit
std::string without_ia(const File& file, const std::string& ia_name);

struct Converted {
    std::string text;
    std::vector<Problem> left_out;  ///< what the other kind of file has no place for
};
/// With records of other ages and platforms as they are to be here. @param file without lines that
/// are left out. @param keep_kind a dat.conf stays one; else the other kind comes of it.
Converted converted(const File& file, bool keep_kind);

}  // namespace conf
