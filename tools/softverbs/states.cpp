// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/states.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <functional>

#include "providers/soft/softverbs/sysfs/tree.hpp"
#include "tools/softverbs/members.hpp"

namespace softverbs::tool {
namespace {

using Show = std::function<std::string(const DeviceStates&)>;
using Change = std::function<void(DeviceStates&)>;

int print(const std::string& line) {
    return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : kFailed;
}

int show(const std::string& path, const Show& text) {
    const auto directory = Directory::open_existing(path);
    if (!directory) return kFailed;
    DeviceStates states;
    if (*directory) {
        const auto found = Index::device_states_of(**directory);
        if (!found) return kFailed;
        states = *found;
    }
    return print(text(states) + "\n");
}

int change(const std::string& path, const Show& text, const Change& change) {
    const auto directory = Directory::open(path);
    if (!directory) return kFailed;
    const auto states = Index::change(**directory, change);
    if (!states) return kFailed;
    if (const int error = refresh_trees(**directory))
        fmt::print(stderr, "softverbs: the files in {} still show the previous state: {}\n",
                   (*directory)->path(), std::strerror(error));
    const std::size_t told = tell_members(**directory);
    return print(
        fmt::format("{}, told {} process{}\n", text(*states), told, told == 1 ? "" : "es"));
}

int run(const Options& options, const Show& text, const Change& make) {
    const std::string path = options.fabric.empty() ? Directory::chosen_path() : options.fabric;
    return options.change.empty() ? show(path, text) : change(path, text, make);
}

}  // namespace

int port(const Options& options) {
    const PortId port = options.port;
    const std::string name = fmt::format("{}/{}", device_name(port.device), port.port);
    return run(
        options,
        [&](const DeviceStates& states) {
            return name + (states.is_removed(port.device) ? ": removed"
                           : states.is_down(port)         ? ": down"
                                                          : ": up");
        },
        [&](DeviceStates& states) { states.set_link(port, options.change == "up"); });
}

int device(const Options& options) {
    const unsigned device = options.port.device;
    return run(
        options,
        [&](const DeviceStates& states) {
            return device_name(device) + (states.is_removed(device) ? ": removed" : ": there");
        },
        [&](DeviceStates& states) { states.set_removed(device, options.change == "remove"); });
}

}  // namespace softverbs::tool
