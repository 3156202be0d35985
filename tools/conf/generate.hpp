// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "dat/registry/dat_conf.hpp"

namespace conf {

/// @return records for the devices of this machine, under the names that programs expect: those of
/// rdma_cm by network interface, those over sockets by device and port, and soft0 last.
/// @param root prefix of /sys: another machine's tree.
std::vector<dat::ConfRecord> records_of_machine(const std::string& root);

dat::ConfRecord make_record(const std::string& ia_name, const std::string& library,
                            const std::string& ia_params);

/// @return the contents of a new file. @param yaml opendat.yaml, else dat.conf
std::string file_text(const std::vector<dat::ConfRecord>& records, bool yaml);

}  // namespace conf
