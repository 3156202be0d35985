// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From the ia_params of dat.conf to the local address that an IA binds to.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>
#include <string_view>

#include "dapl/cm/device_fault.hpp"

namespace dapl::cma {

/// ia_params as dat.conf has them: a device, a blank, a port. rdma_cm finds the port by itself.
std::string_view device_of(std::string_view ia_params);

/// @param device the name of an interface or of an RDMA device, an IPv4 address or a host name, all
/// of this machine. Looks into the name service last; may take its time.
std::optional<sockaddr_in> address_of(const std::string& device);

/// The address of an RDMA device given by its verbs name. Each library answers for its own devices.
std::optional<sockaddr_in> address_of_rdma_device(const std::string& name);

/// Why rdma_cm cannot be used. Each library explains for its own devices.
/// @param error an errno value of rdma_create_event_channel.
cm::DeviceFault why_no_rdma_cm(int error);
/// Why there is no RDMA device at an address of this machine.
/// @param error an errno value of rdma_bind_addr.
cm::DeviceFault why_no_device_at(const sockaddr_in& address, int error);

/// Whether the library's device tells the user itself why a peer cannot be reached.
extern const bool kDeviceExplainsUnreachable;

/// The interface that has this address; "" where none has.
std::string interface_of(const sockaddr_in& address);
/// The first IPv4 address of a network interface.
std::optional<sockaddr_in> address_of_interface(const std::string& name);

}  // namespace dapl::cma
