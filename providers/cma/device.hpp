// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds the local address that an IA binds to, from the ia_params of dat.conf.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device_fault.hpp"
#include "support/base/facts.hpp"

namespace dapl::cma {

/// The ia_params of dat.conf: a device, a blank, a number.
struct DeviceName {
    std::string device;
    int port;  ///< of an RDMA device given by its verbs name, from 1; 0: any. Otherwise unused
};
DeviceName parse_parameters(std::string_view ia_params);

/// The devices of a provider library: those of rdma-core (rdma_devices.cpp), or softverbs'
/// (providers/soft). The manager gets them when it is opened.
struct Devices {
    /// Whether `name` is the verbs name of one of the devices.
    bool (*is_rdma_device)(const std::string& name);
    /// The address of a device given by its verbs name.
    std::optional<sockaddr_storage> (*address_of)(const DeviceName& name);
    /// Adds the other facts about a device.
    void (*explain)(const support::Facts& facts, const std::string& device);

    /// Why rdma_cm cannot be used.
    /// @param error an errno value of rdma_create_event_channel.
    cm::DeviceFault (*why_no_rdma_cm)(int error);
    /// Why a name of dat.conf leads to no address of this machine.
    cm::DeviceFault (*why_no_address)(const DeviceName& name);
    /// Why there is no RDMA device at an address of this machine.
    /// @param error an errno value of rdma_bind_addr.
    cm::DeviceFault (*why_no_device_at)(const sockaddr_storage& address, int error);

    /// Whether the devices report themselves why a peer's address cannot be resolved.
    bool explain_unreachable;
};

/// Says how a name was interpreted.
enum class NameKind { kInterface, kAddress, kRdmaDevice, kHostName };
struct AddressChoice {
    sockaddr_storage address;  ///< AF_INET or AF_INET6, port 0
    NameKind kind;
};

/// Chooses the address of an IA. May wait for the name service, which is asked last.
/// @param name the name of an interface, an IPv4 or IPv6 address (a link-local one with or without
/// its interface behind a percent sign), the name of an RDMA device, or a host name, all of this
/// machine and tried in this order. If it has several addresses, IPv4 comes first, link-local ones
/// last.
std::optional<AddressChoice> choose_address(const DeviceName& name, const Devices& devices);
/// @return why choose_address() chose that address, for a fact.
std::string reason_for(const AddressChoice& choice, const DeviceName& name);

/// The addresses of all interfaces of this machine, or of the one that is named: IPv4 first,
/// link-local ones last.
std::vector<sockaddr_storage> own_addresses(const std::string& interface = {});

/// @return the interface that has this address; "" if none has.
std::string interface_of(const sockaddr_storage& address);

}  // namespace dapl::cma
