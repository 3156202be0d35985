// SPDX-License-Identifier: BSD-2-Clause
// usage: print_settings WHAT - for a test that runs it as a set-uid program:
//   names    NAME=VALUE of each setting, with a value other than its default
//   sources  NAME, whether set-uid programs obey it, the source of its value
//   unused   NAME (or nothing), the reason
//   module   whether the module that reads YAML is found
#include <cstdio>
#include <cstring>
#include <string>

#include "support/settings/setting_sources.hpp"
#include "support/settings/yaml_module.hpp"

namespace {

std::string another_value(const support::SettingInfo& info) {
    if (info.kind == support::SettingKind::kFlag) return "yes";
    if (info.kind != support::SettingKind::kInteger) return "/x";
    const std::string most = std::to_string(info.maximum);
    return most == info.default_value ? std::to_string(info.minimum) : most;
}

void print_names() {
    for (const support::SettingInfo& info : support::kSettings)
        printf("%s=%s\n", info.name, another_value(info).c_str());
}

void print_sources() {
    support::use_yaml_reader(opendat_yaml_read_1);
    int number = 0;
    for (const support::SettingInfo& info : support::kSettings) {
        const auto value = support::setting_value(static_cast<support::Setting>(number++));
        printf("%s %s %s\n", info.name,
               info.in_setuid == support::InSetuid::kObeyed ? "obeyed" : "ignored",
               value.where.c_str());
    }
}

void print_unused() {
    support::use_yaml_reader(opendat_yaml_read_1);
    for (const auto& unused : support::unused_settings([](std::string_view) { return true; }))
        printf("%s %s\n", unused.name.empty() ? unused.where.c_str() : unused.name.c_str(),
               to_text(unused.because));
}

void print_module() {
    puts(support::YamlModule().reader() ? "found" : "none");
}

}  // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "";
    if (what == "names") print_names();
    if (what == "sources") print_sources();
    if (what == "unused") print_unused();
    if (what == "module") print_module();
    return 0;
}
