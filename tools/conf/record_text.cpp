// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/record_text.hpp"

#include <fmt/core.h>

#include <string_view>

namespace conf {
namespace {

std::string escaped(std::string_view text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') all += '\\';
        all += c;
    }
    return all + '"';
}

/// @return the text, quoted only if necessary.
std::string token(const std::string& text) {
    const bool bare =
        !text.empty() && text[0] != '#' && text.find_first_of(" \t\r\"") == std::string::npos;
    return bare ? text : escaped(text);
}

/// @return the text, bare if all characters are letters and signs without a meaning in YAML.
std::string yaml_text(const std::string& text) {
    constexpr std::string_view kBare =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./ -";
    const bool bare = !text.empty() && text.find_first_not_of(kBare) == std::string::npos &&
                      text.front() != ' ' && text.back() != ' ' && text.front() != '-';
    return bare ? text : escaped(text);
}

std::string version(const dat::ConfRecord& record) {
    return fmt::format("{}{}.{}", record.kernel ? 'k' : 'u', record.major, record.minor);
}

const char* safety(const dat::ConfRecord& record) {
    return record.thread_safe ? "threadsafe" : "nonthreadsafe";
}

const char* default_text(const dat::ConfRecord& record) {
    return record.is_default ? "default" : "nondefault";
}

}  // namespace

std::string dat_conf_line(const dat::ConfRecord& record) {
    return fmt::format("{} {} {} {} {} {} {} {}", token(record.ia_name), version(record),
                       safety(record), default_text(record), token(record.library),
                       token(record.provider_version), escaped(record.ia_params),
                       escaped(record.platform_params));
}

std::string yaml_entry(const dat::ConfRecord& record, const std::string& indent) {
    std::string text = fmt::format("{}- ia_name: {}\n", indent, yaml_text(record.ia_name));
    const auto add = [&](const char* name, const std::string& value, const char* usual) {
        if (value != usual) text += fmt::format("{}  {}: {}\n", indent, name, yaml_text(value));
    };
    add("api_version", version(record), "u2.0");
    add("thread_safety", safety(record), "nonthreadsafe");
    add("default", default_text(record), "default");
    text += fmt::format("{}  lib_path: {}\n", indent, yaml_text(record.library));
    add("provider_version", record.provider_version, "dapl.2.0");
    add("ia_params", record.ia_params, "");
    add("platform_params", record.platform_params, "");
    return text;
}

}  // namespace conf
