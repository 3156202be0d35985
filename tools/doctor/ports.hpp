// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The kernel's RDMA ports and parts, as ibstat shows them, read below the root of the view. What
/// the kernel does not show is empty. All functions allocate.
#pragma once

#include <string>
#include <vector>

#include "tools/common/json.hpp"
#include "tools/doctor/machine.hpp"

namespace doctor {

struct Port {
    std::string device;
    unsigned number;              ///< from 1
    std::string interfaces;       ///< of the device, separated by commas
    std::string state, physical;  ///< ACTIVE, LinkUp
    std::string rate;             ///< 100 Gb/sec (4X EDR)
    std::string link_layer;       ///< Ethernet, InfiniBand
    std::string lid, subnet_lid;  ///< hexadecimal, with 0x; the second is its subnet manager's
    std::string gid;              ///< the first entry of its table
    std::string node_guid;        ///< of the device, as the next
    std::string type, board, firmware;  ///< of an adapter; software devices have none
};

/// @return all ports, sorted by device and number.
std::vector<Port> ports(const View& view);

/// @return those of the kernel's RDMA modules that programs use and that are loaded or built in,
/// each with the modules of the devices after it: ib_core, rdma_cm, ib_uverbs, rdma_ucm, drivers.
std::vector<std::string> kernel_modules(const View& view);

/// @return a line for the modules and one for each port.
std::string ports_text(const std::vector<std::string>& modules, const std::vector<Port>& ports);
tools::Json ports_json(const std::vector<Port>& ports);

}  // namespace doctor
