// SPDX-License-Identifier: BSD-2-Clause
// The devices of rdma-core. The interface that a device serves is found by asking rdma_cm itself,
// which will use it: the GID tables in sysfs do not name it on iWARP and on InfiniBand.
#include "providers/cma/rdma_devices.hpp"

#include <rdma/rdma_cma.h>

#include <cstring>
#include <memory>

#include "device/explain_kernel.hpp"
#include "device/kernel_devices.hpp"
#include "providers/cma/manager.hpp"

namespace dapl::cma {
namespace {

bool is_served_by(const DeviceName& name, sockaddr_storage address) {
    rdma_cm_id* id = nullptr;
    const Channel channel(rdma_create_event_channel());
    if (!channel || rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0) return false;
    const Id owner(id);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0 || !id->verbs) return false;
    return name.device == id->verbs->device->name && (name.port == 0 || name.port == id->port_num);
}

bool is_rdma_device(const std::string& name) {
    int count = 0;
    const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(ibv_get_device_list(&count),
                                                                    ibv_free_device_list);
    for (int i = 0; list && i < count; ++i)
        if (name == list.get()[i]->name) return true;
    return false;
}

std::optional<sockaddr_storage> address_of_rdma_device(const DeviceName& name) {
    for (const sockaddr_storage& address : own_addresses())
        if (is_served_by(name, address)) return address;
    return std::nullopt;
}

void explain(const support::Facts& facts, const std::string& device) {
    cm::explain_kernel_device(facts, cm::KernelView(), device);
}

cm::DeviceFault why_no_rdma_cm(int error) {
    return cm::why_no_rdma_cm(cm::KernelView(), error);
}

cm::DeviceFault why_no_address(const DeviceName& name) {
    return cm::why_no_address(cm::KernelView(), name.device, name.port);
}

cm::DeviceFault why_no_device_at(const sockaddr_storage& address, int error) {
    return cm::why_no_device_behind(cm::KernelView(), interface_of(address), error);
}

}  // namespace

const Devices kRdmaDevices = {
    .is_rdma_device = is_rdma_device,
    .address_of = address_of_rdma_device,
    .explain = explain,
    .why_no_rdma_cm = why_no_rdma_cm,
    .why_no_address = why_no_address,
    .why_no_device_at = why_no_device_at,
    .explain_unreachable = false,
};

}  // namespace dapl::cma
