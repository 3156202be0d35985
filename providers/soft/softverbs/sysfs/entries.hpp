// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Makes what sysfs would hold of the devices: names and contents of files, and symbolic links. All
/// values come from the functions that answer the queries of verbs (verbs/query.hpp).
#pragma once

#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/device_states.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"

namespace softverbs {

struct Entry {
    std::string path;  ///< below /sys, as "class/infiniband/soft0"
    std::string text;  ///< a file's contents, or what the link points to
    bool is_link = false;
};
using Entries = std::vector<Entry>;

/// Returns what never changes of the first `devices` devices with `ports` ports each.
Entries lasting_entries(std::uint64_t fabric_hash, unsigned devices, unsigned ports);
/// Returns what changes of a port with its states; the folder is port_folder().
Entries changing_entries(const FabricView& fabric, const LinkLosses& losses, PortId port);
/// Returns the folder of a port, as "devices/softverbs/softverbs0/infiniband/soft0/ports/1".
std::string port_folder(PortId port);

/// @param list as "0-3,6". @return the mask of these processors as the kernel writes it: "4f".
std::string processor_mask(const std::string& list);
/// @param width an ibv_port_attr::active_width. @param speed an active_speed.
/// @return as the kernel writes it: "100 Gb/sec (4X EDR)".
std::string rate_text(unsigned width, unsigned speed);

}  // namespace softverbs
