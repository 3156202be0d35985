// SPDX-License-Identifier: BSD-2-Clause
#include "test/device/fake_device_list.hpp"

#include <cerrno>
#include <cstring>

#undef ibv_get_device_list
#undef ibv_query_port

namespace {

std::vector<fake::ListedDevice> shown;
std::vector<ibv_device> devices;
int list_refusal;
int opened;

const fake::ListedDevice& of(const ibv_context* context) {
    return shown[static_cast<std::size_t>(context->device - devices.data())];
}

}  // namespace

namespace fake {

void show_devices(std::vector<ListedDevice> wanted) {
    shown = std::move(wanted);
    devices.assign(shown.size(), {});
    for (std::size_t i = 0; i < shown.size(); ++i) {
        std::strcpy(devices[i].name, shown[i].name.c_str());
        devices[i].transport_type = shown[i].transport;
    }
}
void refuse_list(int error) {
    list_refusal = error;
}
int open_devices() {
    return opened;
}

}  // namespace fake

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
    if (list_refusal) {
        errno = list_refusal;
        return nullptr;
    }
    auto** list = new ibv_device* [devices.size() + 1] {};
    for (std::size_t i = 0; i < devices.size(); ++i) list[i] = &devices[i];
    *count = static_cast<int>(devices.size());
    return list;
}
void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}
const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}
ibv_context* ibv_open_device(ibv_device* device) {
    ibv_context context{};
    context.device = device;
    if (const int error = of(&context).refuses_to_open) {
        errno = error;
        return nullptr;
    }
    ++opened;
    return new ibv_context(context);
}
int ibv_close_device(ibv_context* context) {
    --opened;
    delete context;
    return 0;
}
int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
    *attributes = {};
    attributes->phys_port_cnt = static_cast<std::uint8_t>(of(context).ports);
    return 0;
}
int ibv_query_port(ibv_context* context, std::uint8_t, _compat_ibv_port_attr* attributes) {
    ibv_port_attr port{};
    port.state = of(context).state;
    port.link_layer = of(context).link_layer;
    port.active_mtu = IBV_MTU_1024;
    port.gid_tbl_len = 16;
    std::memcpy(static_cast<void*>(attributes), &port, sizeof port);
    return 0;
}
ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count,
                             std::uint32_t, std::size_t) {
    const auto& gids = of(context).gids;
    if (count < gids.size()) return -EINVAL;
    std::copy(gids.begin(), gids.end(), entries);
    return static_cast<ssize_t>(gids.size());
}
}
