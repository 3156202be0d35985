// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names the dat.conf that this process uses, and keeps its contents as of the load of the library.
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

/// A place where dat.conf may be.
struct ConfPlace {
    std::string path;
    std::string source;  ///< why it is considered: environment DAT_OVERRIDE, default
};
/// @return the places in order; the first file that can be read is used.
std::vector<ConfPlace> conf_places();
ConfFile read_conf_file(const ConfPlace& place);

/// Reads the file that DAT_OVERRIDE names if that is set (set to nothing: no file is found),
/// otherwise sysconfdir/dat.conf, or /etc/dat.conf where that cannot be read. Reports nothing.
ConfFile read_conf_file();

/// Reports bad lines: one message each for the first kMaxProblems, and one for the rest.
void report_problems(const ConfFile& file);

}  // namespace dat
