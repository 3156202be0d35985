// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reads what /sys and /dev show about the kernel's RDMA devices, only to explain to the user
/// what is wrong. All functions allocate memory and read files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_fault.hpp"

namespace dapl::cm {

struct KernelView {
    std::string root{};  ///< prefix of /sys and /dev: tests use a directory of their own
};

struct KernelDevice {
    std::string name;                     ///< the verbs name
    std::string uverbs;                   ///< name of its file in /dev/infiniband; "" for none
    std::vector<std::string> interfaces;  ///< network interfaces, sorted
};

/// @return all devices, sorted by name.
std::vector<KernelDevice> kernel_devices(const KernelView& view);
/// @return a list such as `rxe0 (eth0), siw0 (eth1)`.
std::string to_text(const std::vector<KernelDevice>& devices);

/// @param name of the device or of one of its interfaces.
bool is_named(const KernelDevice& device, const std::string& name);
/// Whether the name looks like an address or a host name, whose device only the resolver can find.
bool is_for_resolver(const std::string& name);

/// @return the network interface of a port, for a command line; `INTERFACE` if it is not known.
std::string interface_text(const KernelView& view, const std::string& device, int port);

/// @return nothing if programs can use at least one device of the kernel.
std::optional<DeviceFault> why_no_device(const KernelView& view);
/// @param listed the devices that libibverbs lists; `name` is not one of them.
DeviceFault why_not_listed(const KernelView& view, const std::string& name,
                           const std::vector<std::string>& listed);
/// @param error an errno value of ibv_open_device.
DeviceFault why_not_opened(const KernelView& view, const std::string& name, int error);
/// @param error an errno value of rdma_create_event_channel.
DeviceFault why_no_rdma_cm(const KernelView& view, int error);
/// @param name an interface, a device or something unknown that led to no address of a device.
/// @param port of a device of that name, from 1; 0: any.
DeviceFault why_no_address(const KernelView& view, const std::string& name, int port);
/// @param error an errno value of rdma_bind_addr to an address of the interface.
DeviceFault why_no_device_behind(const KernelView& view, const std::string& interface, int error);

}  // namespace dapl::cm
