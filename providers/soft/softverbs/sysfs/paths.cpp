// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/sysfs/paths.hpp"

#include <algorithm>
#include <cstring>

#include "providers/soft/softverbs/fabric/devices.hpp"
#include "providers/soft/softverbs/sysfs/tree.hpp"

namespace softverbs {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Removes slashes and "." from the front.
void skip_to_component(std::string_view& path) {
    while (path.starts_with('/') || path == "." || path.starts_with("./")) path.remove_prefix(1);
}

/// Removes the first component, which is returned.
std::string_view next_component(std::string_view& path) {
    skip_to_component(path);
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(component.size());
    return component;
}

bool is_in_class(std::string_view rest, const Sight& sight) {
    if (next_component(rest) != "infiniband") return false;
    const std::string_view name = next_component(rest);
    return name.empty() || sight.only || device_named(name, sight.devices).has_value();
}

/// Whether the text begins with a component that names a tree.
bool begins_with_tree(std::string_view text) {
    if (!text.starts_with(kTreeStem)) return false;
    text.remove_prefix(kTreeStem.size());
    const std::size_t digits = std::min(text.find_first_not_of(kHexDigits), text.size());
    return digits == kTreeDigits && (digits == text.size() || text[digits] == '/');
}

}  // namespace

std::optional<std::string_view> below_sys(std::string_view path, const Sight& sight) {
    if (next_component(path) != "sys") return std::nullopt;
    skip_to_component(path);
    std::string_view rest = path;
    const std::string_view first = next_component(rest);
    const bool is_ours = first == "class"
                             ? is_in_class(rest, sight)
                             : first == "devices" && next_component(rest) == "softverbs";
    return is_ours ? std::optional(path) : std::nullopt;
}

char* to_sys(char* path) {
    if (!path) return path;
    const std::string_view whole = path;
    for (std::size_t at = whole.find(kTreeStem); at != whole.npos;
         at = whole.find(kTreeStem, at + 1)) {
        if (at == 0 || whole[at - 1] != '/' || !begins_with_tree(whole.substr(at))) continue;
        constexpr std::string_view kRoot = "/sys";
        const std::string_view rest = whole.substr(at + kTreeStem.size() + kTreeDigits);
        std::memcpy(path, kRoot.data(), kRoot.size());
        std::memmove(path + kRoot.size(), rest.data(), rest.size() + 1);
        return path;
    }
    return path;
}

}  // namespace softverbs
