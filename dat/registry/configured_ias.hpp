// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The IAs that opendat.yaml adds to those of dat.conf: the same records, field by field.
#pragma once

#include <string>
#include <vector>

#include "dat/registry/dat_conf.hpp"
#include "support/settings/configuration.hpp"

namespace dat {

struct ConfiguredIas {
    std::string path;
    std::vector<ConfRecord> records;
    std::vector<support::ConfigurationProblem> problems;
};

/// Reads the entries of `ias`. An entry that has nothing but its name (and settings) is about an IA
/// that is described elsewhere, and gives no record. A bad entry is left out.
ConfiguredIas read_configured_ias(const std::string& path,
                                  const std::vector<support::ConfiguredIa>& entries);

/// Reads the entries of this process's files, the strongest file first. Returns none when
/// DAT_OVERRIDE is set: then that one file alone has the IAs.
std::vector<ConfiguredIas> read_configured_ias();

}  // namespace dat
