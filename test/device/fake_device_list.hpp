// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A fake of libibverbs' device list, filled by the test. No objects can be created on its devices.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

namespace fake {

struct ListedDevice {
    std::string name;
    int ports = 1;
    ibv_transport_type transport = IBV_TRANSPORT_IB;
    std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
    ibv_port_state state = IBV_PORT_ACTIVE;
    std::vector<ibv_gid_entry> gids{};
    int refuses_to_open = 0;  ///< an errno value
};

void show_devices(std::vector<ListedDevice> devices);
/// Makes ibv_get_device_list fail with this errno value, or work if it is 0.
void refuse_list(int error);
int open_devices();

}  // namespace fake
