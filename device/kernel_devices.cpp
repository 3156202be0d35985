// SPDX-License-Identifier: BSD-2-Clause
#include "device/kernel_devices.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "device/device_file.hpp"
#include "support/base/edit_distance.hpp"

namespace dapl::cm {
namespace {

using Cause = DeviceFault::Cause;
namespace files = std::filesystem;

constexpr const char* kDevices = "/sys/class/infiniband";
constexpr const char* kUverbs = "/sys/class/infiniband_verbs";
constexpr const char* kInterfaces = "/sys/class/net";
constexpr const char* kRdmaCm = "/dev/infiniband/rdma_cm";
constexpr const char* kAddSoftware =
    "load its driver, add a software one with `rdma link add rxe0 type rxe netdev INTERFACE`, or "
    "use soft0 of libdaplsoft.so.2";

/// @return the names in a directory, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (files::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        names.push_back(entry->path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

/// @return the first word of a file; "" if it cannot be read, as with unused entries of the kernel.
std::string word_in(const std::string& file) {
    std::ifstream stream(file);
    std::string word;
    stream >> word;
    return word;
}

std::string uverbs_of(const KernelView& view, const std::string& device) {
    const std::string all = view.root + kUverbs;
    for (const std::string& name : names_in(all))
        if (word_in(fmt::format("{}/{}/ibdev", all, name)) == device) return name;
    return {};
}

/// On iWARP the first GID of a port is made of the hardware address of its interface, as
/// xxxx:xxxx:xxxx:0000:...
/// @param beginning the address part of the GID, without colons.
std::string interface_with(const KernelView& view, const std::string& beginning) {
    const std::string all = view.root + kInterfaces;
    for (const std::string& name : names_in(all)) {
        std::string address = word_in(fmt::format("{}/{}/address", all, name));
        std::erase(address, ':');
        if (!address.empty() && address == beginning) return name;
    }
    return {};
}

std::string interface_of_iwarp_port(const KernelView& view, const std::string& port) {
    constexpr std::size_t kHardwareAddress = 12;  // hexadecimal digits
    std::string gid = word_in(port + "/gids/0");
    std::erase(gid, ':');
    return interface_with(view, gid.substr(0, kHardwareAddress));
}

/// Collects the interfaces that sysfs names in several places: a RoCE port has the interface of its
/// first GID, an adapter has its interfaces beside the device, and rxe has its interface as the
/// parent. That of siw can be found by the GID alone.
std::vector<std::string> interfaces_of(const KernelView& view, const std::string& device) {
    const std::string place = view.root + kDevices + "/" + device;
    const bool is_iwarp = word_in(place + "/node_type") == "4:";
    std::set<std::string> all;
    for (const std::string& number : names_in(place + "/ports")) {
        const std::string port = fmt::format("{}/ports/{}", place, number);
        all.insert(word_in(port + "/gid_attrs/ndevs/0"));
        if (is_iwarp) all.insert(interface_of_iwarp_port(view, port));
    }
    all.insert(word_in(place + "/parent"));
    for (std::string& name : names_in(place + "/device/net")) all.insert(std::move(name));
    all.erase("");
    return {all.begin(), all.end()};
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

std::string nearest(const std::string& wanted, const std::vector<std::string>& names) {
    return *std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
        return support::edit_distance(wanted, a) < support::edit_distance(wanted, b);
    });
}

DeviceFault no_device(const KernelView& view) {
    const bool subsystem = files::exists(view.root + kDevices);
    return {Cause::kNoDevice, "",
            std::string(kDevices) + (subsystem ? " is empty" : " does not exist"), kAddSoftware};
}

/// @return why programs cannot use a device of the kernel, if the reason can be seen.
std::optional<DeviceFault> why_unusable(const KernelView& view, const KernelDevice& device) {
    if (device.uverbs.empty())
        return DeviceFault{Cause::kNoUverbs, device.name,
                           std::string(kUverbs) + " shows no device for it"};
    return file_fault(view, "/dev/infiniband/" + device.uverbs, device.name);
}

/// Finds out why a device of the kernel has no address.
DeviceFault why_device_without_address(const KernelView& view, const KernelDevice& device,
                                       int port) {
    if (const auto fault = why_unusable(view, device)) return *fault;
    const std::string number = std::to_string(port);
    const auto ports = names_in(view.root + kDevices + "/" + device.name + "/ports");
    if (port != 0 && std::find(ports.begin(), ports.end(), number) == ports.end())
        return {Cause::kNoSuchPort, number,
                device.name + (ports.size() == 1 ? " has port " + ports.front() + " only"
                                                 : " has ports " + joined(ports))};
    const std::string interface = interface_text(view, device.name, port == 0 ? 1 : port);
    return {Cause::kNoAddress, interface + " of " + device.name, "no address", interface};
}

std::string error_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace

std::vector<KernelDevice> kernel_devices(const KernelView& view) {
    std::vector<KernelDevice> devices;
    for (const std::string& name : names_in(view.root + kDevices))
        devices.push_back({name, uverbs_of(view, name), interfaces_of(view, name)});
    return devices;
}

std::string to_text(const std::vector<KernelDevice>& devices) {
    std::vector<std::string> texts;
    texts.reserve(devices.size());
    for (const KernelDevice& device : devices)
        texts.push_back(device.interfaces.empty()
                            ? device.name
                            : fmt::format("{} ({})", device.name, joined(device.interfaces)));
    return joined(texts);
}

bool is_named(const KernelDevice& device, const std::string& name) {
    const auto& own = device.interfaces;
    return device.name == name || std::find(own.begin(), own.end(), name) != own.end();
}

bool is_for_resolver(const std::string& name) {
    return name.find_first_of(".:") != std::string::npos || name == "localhost";
}

std::string interface_text(const KernelView& view, const std::string& device, int port) {
    std::string own = word_in(view.root + kDevices + "/" + device + "/ports/" +
                              std::to_string(port) + "/gid_attrs/ndevs/0");
    if (!own.empty()) return own;
    const std::vector<std::string> all = interfaces_of(view, device);
    return all.size() == 1 ? all.front() : "INTERFACE";
}

std::optional<DeviceFault> why_no_device(const KernelView& view) {
    std::optional<DeviceFault> first;
    for (const KernelDevice& device : kernel_devices(view)) {
        const auto fault = why_unusable(view, device);
        if (!fault) return std::nullopt;
        if (!first) first = fault;
    }
    return first ? first : no_device(view);
}

DeviceFault why_not_listed(const KernelView& view, const std::string& name,
                           const std::vector<std::string>& listed) {
    const std::vector<KernelDevice> devices = kernel_devices(view);
    std::set<std::string> known(listed.begin(), listed.end());
    for (const KernelDevice& device : devices) {
        known.insert(device.name);
        if (device.name != name) continue;
        if (const auto fault = why_unusable(view, device)) return *fault;
        return {Cause::kNoUserDriver, name, "/dev/infiniband/" + device.uverbs};
    }
    if (known.empty()) return no_device(view);
    const std::vector<std::string> names(known.begin(), known.end());
    return {Cause::kUnknownDevice, name, joined(names), nearest(name, names)};
}

DeviceFault why_not_opened(const KernelView& view, const std::string& name, int error) {
    const std::string uverbs = uverbs_of(view, name);
    if (uverbs.empty()) return {Cause::kDoesNotOpen, name, error_text(error)};
    const std::string file = "/dev/infiniband/" + uverbs;
    if (const auto fault = file_fault(view, file, name)) return *fault;
    if (error == EACCES || error == EPERM) return permission_fault(view, file, error);
    return limit_or(error, name, {Cause::kDoesNotOpen, name, error_text(error)});
}

DeviceFault why_no_rdma_cm(const KernelView& view, int error) {
    if (const auto fault = why_no_device(view)) return *fault;
    if (!files::exists(view.root + "/sys/class/misc/rdma_cm"))
        return {Cause::kNoRdmaCm, "", "the kernel module rdma_ucm is not loaded",
                "`modprobe rdma_ucm`"};
    if (const auto fault = file_fault(view, kRdmaCm, "connections")) return *fault;
    if (error == EACCES || error == EPERM) return permission_fault(view, kRdmaCm, error);
    return limit_or(error, "the RDMA connection manager",
                    {Cause::kNoRdmaCm, "", error_text(error), "see the kernel's log (`dmesg`)"});
}

DeviceFault why_no_address(const KernelView& view, const std::string& name, int port) {
    if (const auto fault = why_no_device(view)) return *fault;
    const std::vector<KernelDevice> devices = kernel_devices(view);
    for (const KernelDevice& device : devices)
        if (device.name == name) return why_device_without_address(view, device, port);
    std::vector<std::string> names = names_in(view.root + kInterfaces);
    if (std::find(names.begin(), names.end(), name) != names.end())
        return {Cause::kNoAddress, name, "no address", name};
    for (const KernelDevice& device : devices) names.push_back(device.name);
    const bool is_address = name.find_first_not_of("0123456789abcdef.:") == std::string::npos;
    return {Cause::kUnknownName, name, to_text(devices),
            is_address ? "`ip address` lists this machine's addresses"
                       : "did you mean " + nearest(name, names) + "?"};
}

DeviceFault why_no_device_behind(const KernelView& view, const std::string& interface, int error) {
    if (const auto fault = why_no_device(view)) return *fault;
    const std::vector<KernelDevice> devices = kernel_devices(view);
    for (const KernelDevice& device : devices) {
        const auto& own = device.interfaces;
        if (std::find(own.begin(), own.end(), interface) == own.end()) continue;
        if (const auto fault = why_unusable(view, device)) return *fault;
        return limit_or(error, device.name, {Cause::kDoesNotOpen, device.name, error_text(error)});
    }
    return {Cause::kInterfaceWithoutDevice, interface, to_text(devices),
            fmt::format("`rdma link add {} type rxe netdev {}`", "rxe_" + interface, interface)};
}

}  // namespace dapl::cm
