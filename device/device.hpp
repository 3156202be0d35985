// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From a name of dat.conf to an opened verbs device. What was chosen and why nothing could be
/// chosen are values; telling the user is a step of its own.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dapl/verbs/gid.hpp"
#include "dapl/verbs/handles.hpp"
#include "device/device_fault.hpp"
#include "support/base/result.hpp"

namespace dapl::cm {

/// What an adapter instance runs on.
struct DeviceChoice {
    std::string device;  ///< the verbs name
    std::uint8_t port;   ///< from 1
    ibv_transport_type transport;
    std::uint8_t link_layer;  ///< IBV_LINK_LAYER_*
    ibv_port_state state;
    ibv_mtu mtu;  ///< the active one
    std::optional<verbs::GidChoice>
        gid;  ///< what a connection to an unknown peer uses; iWARP: none
};

struct OpenDevice {
    verbs::Context context;
    DeviceChoice choice;
};

/// ia_params of dat.conf: a device, blanks, the number of a port.
struct DeviceName {
    std::string device;  ///< "" where there is none
    std::string port;    ///< as written; "" where there is none
};
DeviceName device_name(std::string_view ia_params);

/// Opens the verbs device that ia_params name, at their port (without a number: 1), for an adapter
/// instance. Tells the user why it cannot, once. Who opens the adapter instance calls show_choice()
/// when nothing can go wrong any more. Codes as dat_ia_open gives them.
support::Result<OpenDevice> open_device(std::string_view ia_name, std::string_view ia_params);

/// The index that the setting DAPL_GID_INDEX insists on.
std::optional<std::uint32_t> wanted_gid_index(std::string_view ia_name);

/// The state of an opened device.
/// @param gid what is to be said of the GID: the entry that was chosen, or nothing.
tl::expected<DeviceChoice, DeviceFault> describe(ibv_context* context, std::uint8_t port,
                                                 std::optional<verbs::GidChoice> gid);

bool is_active(const DeviceChoice& choice);
std::string to_text(ibv_port_state state);
/// @return 0 for a value that is none.
int bytes_of(ibv_mtu mtu);
/// iWARP, RoCE or InfiniBand.
const char* link_text(const DeviceChoice& choice);
/// What the choice is, on one line.
std::string to_text(const DeviceChoice& choice);
/// The same to the log, at trace level 5; and a warning where the port is not active, which is no
/// reason not to open: it may become so.
void show_choice(std::string_view ia_name, const DeviceChoice& choice);

}  // namespace dapl::cm
