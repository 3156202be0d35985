// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ports.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tools/common/terminal.hpp"

namespace doctor {
namespace {

namespace files = std::filesystem;

constexpr const char* kModules[] = {"ib_core", "rdma_cm", "ib_uverbs", "rdma_ucm"};
constexpr const char* kSoftwareDrivers[] = {"rdma_rxe", "siw"};
constexpr unsigned kMostPorts = 255;

/// @return what follows the number of a state: `ACTIVE` of `4: ACTIVE`.
std::string name_in(const std::string& file) {
    const std::string line = first_line(file);
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

/// @return the name of the module that drives a device; empty for a software device.
std::string driver_of(const std::string& device) {
    std::error_code error;
    const files::path link = files::read_symlink(device + "/device/driver/module", error);
    return error ? std::string() : link.filename().string();
}

/// Adds `NAME VALUE` to a list, unless the value is empty.
void add(std::string& to, const char* name, const std::string& value) {
    if (!value.empty()) to += fmt::format(", {}{}", name, value);
}

std::string line_of(const Port& port) {
    std::string text = fmt::format("port {}/{}", port.device, port.number);
    if (!port.interfaces.empty()) text += " (" + port.interfaces + ")";
    text += ": " + (port.state.empty() ? std::string("state unknown") : port.state);
    add(text, "", port.physical);
    add(text, "", port.rate);
    add(text, "", port.link_layer);
    if (port.link_layer == "InfiniBand") {
        add(text, "LID ", port.lid);
        add(text, "subnet manager ", port.subnet_lid);
    }
    add(text, "GID ", port.gid);
    add(text, "node GUID ", port.node_guid);
    add(text, "", port.type);
    add(text, "board ", port.board);
    add(text, "firmware ", port.firmware);
    return tools::printable(text) + '\n';
}

}  // namespace

std::vector<Port> ports(const View& view) {
    std::vector<Port> all;
    for (const dapl::cm::KernelDevice& device : dapl::cm::kernel_devices(view)) {
        const std::string place = view.root + "/sys/class/infiniband/" + device.name;
        for (unsigned number = 1; number <= kMostPorts; ++number) {
            const std::string port = fmt::format("{}/ports/{}/", place, number);
            std::error_code error;
            if (!files::exists(port, error)) break;
            all.push_back({device.name, number, joined(device.interfaces), name_in(port + "state"),
                           name_in(port + "phys_state"), first_line(port + "rate"),
                           first_line(port + "link_layer"), first_line(port + "lid"),
                           first_line(port + "sm_lid"), first_line(port + "gids/0"),
                           first_line(place + "/node_guid"), first_line(place + "/hca_type"),
                           first_line(place + "/board_id"), first_line(place + "/fw_ver")});
        }
    }
    return all;
}

std::vector<std::string> kernel_modules(const View& view) {
    std::vector<std::string> found;
    const auto add_loaded = [&](const char* module) {
        std::error_code error;
        if (files::exists(view.root + "/sys/module/" + module, error)) found.emplace_back(module);
    };
    for (const char* module : kModules) add_loaded(module);
    for (const char* module : kSoftwareDrivers) add_loaded(module);
    for (const dapl::cm::KernelDevice& device : dapl::cm::kernel_devices(view)) {
        const std::string driver = driver_of(view.root + "/sys/class/infiniband/" + device.name);
        if (!driver.empty() && std::find(found.begin(), found.end(), driver) == found.end())
            found.push_back(driver);
    }
    return found;
}

std::string ports_text(const std::vector<std::string>& modules, const std::vector<Port>& ports) {
    std::string text = "kernel: " + (modules.empty() ? "no RDMA module" : joined(modules)) +
                       (ports.empty() ? "; no RDMA device\n" : "\n");
    for (const Port& port : ports) text += line_of(port);
    return text;
}

tools::Json ports_json(const std::vector<Port>& ports) {
    tools::Json all = tools::Json::array();
    for (const Port& port : ports) {
        tools::Json one = tools::Json::object();
        one.put("device", port.device)
            .put("port", port.number)
            .put("interfaces", port.interfaces)
            .put("state", port.state)
            .put("physical_state", port.physical)
            .put("rate", port.rate)
            .put("link_layer", port.link_layer)
            .put("lid", port.lid)
            .put("subnet_manager_lid", port.subnet_lid)
            .put("gid", port.gid)
            .put("node_guid", port.node_guid)
            .put("type", port.type)
            .put("board", port.board)
            .put("firmware", port.firmware);
        all.add(std::move(one));
    }
    return all;
}

}  // namespace doctor
