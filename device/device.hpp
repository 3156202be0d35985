// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Opens the verbs device that dat.conf names. The choice, or the reason why there is none, is a
/// value; reporting it to the user is a separate step.
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

/// The device and port of an adapter instance.
struct DeviceChoice {
    std::string device;  ///< the verbs name
    std::uint8_t port;   ///< from 1
    ibv_transport_type transport;
    std::uint8_t link_layer;  ///< IBV_LINK_LAYER_*
    ibv_port_state state;
    ibv_mtu mtu;  ///< the active one
    /// The GID that a connection uses as long as nothing is known of the peer; none on iWARP.
    std::optional<verbs::GidChoice> gid;
};

struct OpenDevice {
    verbs::Context context;
    DeviceChoice choice;
};

/// ia_params of dat.conf: a device, blanks, the number of a port.
struct DeviceName {
    std::string device;  ///< "" if there is none
    std::string port;    ///< as written; "" if there is none
};
DeviceName device_name(std::string_view ia_params);

/// Opens the verbs device and port that ia_params name (port 1 if they give no number) for an
/// adapter instance. If it fails, it reports the reason to the user, once. The caller calls
/// show_choice() when nothing can fail any more. The codes are those of dat_ia_open.
support::Result<OpenDevice> open_device(std::string_view ia_name, std::string_view ia_params);

/// @return the GID index that the setting DAPL_GID_INDEX demands, if any.
std::optional<std::uint32_t> wanted_gid_index(std::string_view ia_name);

/// Describes an opened device in its current state.
/// @param gid the GID entry that was chosen, if any.
tl::expected<DeviceChoice, DeviceFault> describe(ibv_context* context, std::uint8_t port,
                                                 std::optional<verbs::GidChoice> gid);

bool is_active(const DeviceChoice& choice);
std::string to_text(ibv_port_state state);
/// @return 0 for an invalid value.
int bytes_of(ibv_mtu mtu);
/// @return iWARP, RoCE or InfiniBand.
const char* link_text(const DeviceChoice& choice);
/// @return the choice on one line.
std::string to_text(const DeviceChoice& choice);
/// Logs the choice at trace level 5, and warns if the port is not active. Opening does not fail
/// then: the port may become active later.
void show_choice(std::string_view ia_name, const DeviceChoice& choice);

}  // namespace dapl::cm
