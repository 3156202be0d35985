// SPDX-License-Identifier: BSD-2-Clause
#include "device/device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "device/kernel_devices.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::cm {
namespace {

using Cause = DeviceFault::Cause;

std::string error_text(int error) {
    return std::generic_category().message(error);
}

class DeviceList {
  public:
    DeviceList() : list_(ibv_get_device_list(&count_)) {}
    ~DeviceList() {
        if (list_) ibv_free_device_list(list_);
    }
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;

    ibv_device* find(const std::string& name) const {
        for (int i = 0; i < count(); ++i)
            if (name == ibv_get_device_name(list_[i])) return list_[i];
        return nullptr;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        all.reserve(static_cast<std::size_t>(count()));
        for (int i = 0; i < count(); ++i) all.emplace_back(ibv_get_device_name(list_[i]));
        return all;
    }

  private:
    int count() const { return list_ ? count_ : 0; }

    int count_ = 0;
    ibv_device** list_;
};

tl::expected<verbs::Context, DeviceFault> open_by_name(const std::string& name) {
    const DeviceList devices;
    ibv_device* device = devices.find(name);
    if (!device) return tl::unexpected(why_not_listed(KernelView(), name, devices.names()));
    verbs::Context context(ibv_open_device(device));
    if (!context) return tl::unexpected(why_not_opened(KernelView(), name, errno));
    return context;
}

/// @return 0 if the text is no number of a port; 1 if it is empty.
std::uint8_t port_number(const std::string& text) {
    if (text.empty()) return 1;
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 0);
    return *end == '\0' && number > 0 && number <= UINT8_MAX ? static_cast<std::uint8_t>(number)
                                                             : 0;
}

tl::expected<std::uint8_t, DeviceFault> find_port(ibv_context* context, const DeviceName& name) {
    ibv_device_attr device;
    if (const int error = ibv_query_device(context, &device))
        return tl::unexpected(DeviceFault{Cause::kDoesNotOpen, name.device, error_text(error)});
    const std::uint8_t port = port_number(name.port);
    if (port >= 1 && port <= device.phys_port_cnt) return port;
    const int ports = device.phys_port_cnt;
    return tl::unexpected(DeviceFault{
        Cause::kNoSuchPort, name.port,
        name.device +
            (ports == 1 ? " has port 1 only" : " has ports 1 to " + std::to_string(ports))});
}

bool is_roce(const DeviceChoice& choice) {
    return choice.link_layer == IBV_LINK_LAYER_ETHERNET;
}

std::string joined(const std::vector<std::uint32_t>& numbers) {
    std::string all;
    for (const std::uint32_t number : numbers)
        all += (all.empty() ? "" : ", ") + std::to_string(number);
    return all;
}

DeviceFault no_gid(const DeviceChoice& choice, const verbs::NoGid& why,
                   std::optional<std::uint32_t> wanted) {
    const std::string where = "port " + std::to_string(choice.port) + " of " + choice.device;
    switch (why.cause) {
        case verbs::NoGid::Cause::kUnreadable:
            return {Cause::kDoesNotOpen, choice.device, "GID table: " + error_text(why.error)};
        case verbs::NoGid::Cause::kEmpty:
            return {Cause::kNoGid, where, to_text(choice.state),
                    is_roce(choice)
                        ? fmt::format("`ip link set {0} up`, and give {0} an address",
                                      interface_text(KernelView(), choice.device, choice.port))
                        : "check that a subnet manager runs (`sminfo`)"};
        case verbs::NoGid::Cause::kUnusedIndex:
            break;
    }
    return {Cause::kUnusedGidIndex, std::to_string(*wanted),
            where + " has entries at " + joined(why.used)};
}

tl::expected<OpenDevice, DeviceFault> open_and_choose(std::string_view ia_name,
                                                      const DeviceName& name) {
    auto context = open_by_name(name.device);
    if (!context) return tl::unexpected(context.error());
    const auto port = find_port(context->get(), name);
    if (!port) return tl::unexpected(port.error());
    auto choice = describe(context->get(), *port, std::nullopt);
    if (!choice) return tl::unexpected(choice.error());
    if (choice->transport != IBV_TRANSPORT_IWARP) {
        const auto wanted = wanted_gid_index(ia_name);
        const auto gid = verbs::choose_gid(context->get(), *port, wanted, {});
        if (!gid) return tl::unexpected(no_gid(*choice, gid.error(), wanted));
        choice->gid = *gid;
    }
    return OpenDevice{std::move(*context), std::move(*choice)};
}

void warn_unless_active(std::string_view ia_name, const DeviceChoice& choice) {
    if (is_active(choice)) return;
    const bool fabric = choice.transport != IBV_TRANSPORT_IWARP && !is_roce(choice);
    support::report<support::kPortNotActive>(
        ia_name, choice.port, choice.device, to_text(choice.state),
        fabric ? "check the cable, and that a subnet manager runs (`sminfo`)"
               : fmt::format("`ip link set {} up`, and check the cable",
                             interface_text(KernelView(), choice.device, choice.port)));
}

}  // namespace

DeviceName device_name(std::string_view ia_params) {
    constexpr std::string_view kBlanks = " \t";
    const auto next_word = [&] {
        ia_params.remove_prefix(std::min(ia_params.find_first_not_of(kBlanks), ia_params.size()));
        const auto word = ia_params.substr(0, ia_params.find_first_of(kBlanks));
        ia_params.remove_prefix(word.size());
        return std::string(word);
    };
    std::string device = next_word();
    return {std::move(device), next_word()};
}

support::Result<OpenDevice> open_device(std::string_view ia_name, std::string_view ia_params) {
    auto opened = open_and_choose(ia_name, device_name(ia_params));
    if (!opened) return tell(ia_name, opened.error());
    return std::move(*opened);
}

std::optional<std::uint32_t> wanted_gid_index(std::string_view ia_name) {
    const long index = support::setting_integer(support::Setting::kGidIndex, ia_name);
    if (index < 0) return std::nullopt;
    return static_cast<std::uint32_t>(index);
}

tl::expected<DeviceChoice, DeviceFault> describe(ibv_context* context, std::uint8_t port,
                                                 std::optional<verbs::GidChoice> gid) {
    const char* name = ibv_get_device_name(context->device);
    ibv_port_attr attributes;
    if (const int error = ibv_query_port(context, port, &attributes))
        return tl::unexpected(DeviceFault{Cause::kDoesNotOpen, name, error_text(error)});
    return DeviceChoice{name,
                        port,
                        context->device->transport_type,
                        attributes.link_layer,
                        attributes.state,
                        attributes.active_mtu,
                        gid};
}

bool is_active(const DeviceChoice& choice) {
    return choice.state == IBV_PORT_ACTIVE || choice.state == IBV_PORT_ACTIVE_DEFER;
}

std::string to_text(ibv_port_state state) {
    switch (state) {
        case IBV_PORT_DOWN:
            return "down";
        case IBV_PORT_INIT:
            return "initialising";
        case IBV_PORT_ARMED:
            return "armed";
        case IBV_PORT_ACTIVE:
            return "active";
        case IBV_PORT_ACTIVE_DEFER:
            return "active, deferred";
        default:
            return "in state " + std::to_string(state);
    }
}

int bytes_of(ibv_mtu mtu) {
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

const char* link_text(const DeviceChoice& choice) {
    if (choice.transport == IBV_TRANSPORT_IWARP) return "iWARP";
    return is_roce(choice) ? "RoCE" : "InfiniBand";
}

std::string to_text(const DeviceChoice& choice) {
    std::string text = fmt::format("device {} port {} ({}, {}, MTU {})", choice.device, choice.port,
                                   link_text(choice), to_text(choice.state), bytes_of(choice.mtu));
    if (choice.gid)
        text += fmt::format(", GID index {} ({}, {}: {})", choice.gid->index,
                            verbs::to_text(choice.gid->gid), verbs::to_text(choice.gid->type),
                            verbs::to_text(choice.gid->reason));
    return text;
}

void show_choice(std::string_view ia_name, const DeviceChoice& choice) {
    warn_unless_active(ia_name, choice);
    if (support::trace_level() >= static_cast<int>(support::Level::kDebug))
        support::trace(support::Level::kDebug, "IA {} uses {}", ia_name, to_text(choice));
}

}  // namespace dapl::cm
