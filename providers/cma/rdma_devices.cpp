// SPDX-License-Identifier: BSD-2-Clause
// The devices of rdma-core: the kernel tells which network interface a device serves.
#include <fstream>

#include "dapl/cm/kernel_devices.hpp"
#include "providers/cma/device.hpp"

namespace dapl::cma {

const bool kDeviceExplainsUnreachable = false;

std::optional<sockaddr_in> address_of_rdma_device(const std::string& name) {
    if (name.find('/') != std::string::npos) return std::nullopt;
    const std::string ports = "/sys/class/infiniband/" + name + "/ports/";
    constexpr int kMostPorts = 4;
    for (int port = 1; port <= kMostPorts; ++port) {
        std::ifstream file(ports + std::to_string(port) + "/gid_attrs/ndevs/0");
        std::string interface;
        if (!(file >> interface)) continue;
        if (const auto address = address_of_interface(interface)) return address;
    }
    return std::nullopt;
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return cm::why_no_rdma_cm(cm::KernelView(), error);
}

cm::DeviceFault why_no_device_at(const sockaddr_in& address, int error) {
    return cm::why_no_device_behind(cm::KernelView(), interface_of(address), error);
}

}  // namespace dapl::cma
