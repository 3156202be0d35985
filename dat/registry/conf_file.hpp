// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which dat.conf this process uses, and what was in it when the library was loaded.
#pragma once

#include <string>
#include <vector>

#include "dat/registry/dat_conf.hpp"

namespace dat {

struct ConfFile {
    std::string path;        ///< the file read, or the one that could not be read
    std::string unreadable;  ///< why it could not be read; empty when it was
    ConfText text;
};

/// A file that may be the one.
struct ConfPlace {
    std::string path;
    std::string source;  ///< why it is looked at: environment DAT_OVERRIDE, default
};
/// In order: the first that can be read is used.
std::vector<ConfPlace> conf_places();
ConfFile read_conf_file(const ConfPlace& place);

/// Reads DAT_OVERRIDE's file if that is set (even to nothing: then no file is found), else
/// sysconfdir/dat.conf, and where that cannot be read /etc/dat.conf. Tells the user nothing.
ConfFile read_conf_file();

/// Tells the user of bad lines, one message each for the first kMaxProblems and one for the rest.
void report_problems(const ConfFile& file);

}  // namespace dat
