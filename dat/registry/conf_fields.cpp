// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/conf_fields.hpp"

#include <dat2/udat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace dat {
namespace {

/// Reads digits, perhaps none, to the end of the text. @return false for anything else and for
/// numbers of more than 32 bits.
bool read_number(std::string_view text, std::uint32_t& value) {
    value = 0;
    if (text.empty()) return true;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool read_ia_name(std::string& text, ConfRecord& record) {
    record.ia_name = std::move(text);
    return record.ia_name.size() < DAT_NAME_MAX_LENGTH;
}

bool read_api_version(std::string& text, ConfRecord& record) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos || (text[0] != 'u' && text[0] != 'k')) return false;
    const std::string_view view = text;
    record.kernel = text[0] == 'k';
    return read_number(view.substr(1, dot - 1), record.major) &&
           read_number(view.substr(dot + 1), record.minor);
}

// Only the beginning of the text counts, here and in the next field: files in use have more after
// it.
bool read_thread_safety(std::string& text, ConfRecord& record) {
    record.thread_safe = text.starts_with("threadsafe");
    return record.thread_safe || text.starts_with("nonthreadsafe");
}

bool read_default(std::string& text, ConfRecord& record) {
    record.is_default = text.starts_with("default");
    return record.is_default || text.starts_with("nondefault");
}

bool read_library(std::string& text, ConfRecord& record) {
    record.library = std::move(text);
    return true;
}

bool are_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool read_provider_version(std::string& text, ConfRecord& record) {
    record.provider_version = std::move(text);
    const std::string_view view = record.provider_version;
    const std::size_t first = view.find('.');
    if (first == 0 || first == std::string_view::npos) return false;
    const std::size_t second = view.find('.', first + 1);
    if (second == std::string_view::npos) return false;
    return are_digits(view.substr(first + 1, second - first - 1)) &&
           are_digits(view.substr(second + 1));
}

bool read_ia_params(std::string& text, ConfRecord& record) {
    record.ia_params = std::move(text);
    return true;
}

bool read_platform_params(std::string& text, ConfRecord& record) {
    record.platform_params = std::move(text);
    return true;
}

constexpr ConfField kFields[] = {
    {"ia_name", "a name of at most 255 bytes", read_ia_name, nullptr},
    {"api_version", "'u' or 'k', digits, '.', digits, such as u2.0", read_api_version, "u2.0"},
    {"thread_safety", "'threadsafe' or 'nonthreadsafe'", read_thread_safety, "nonthreadsafe"},
    {"default", "'default' or 'nondefault'", read_default, "default"},
    {"lib_path", "the file name of a provider library", read_library, nullptr},
    {"provider_version", "a word, '.', digits, '.', digits, such as dapl.2.0",
     read_provider_version, "dapl.2.0"},
    {"ia_params", "text for the provider, such as \"ib0 0\"", read_ia_params, ""},
    {"platform_params", "any text, such as \"\"", read_platform_params, ""},
};

}  // namespace

std::span<const ConfField> conf_fields() {
    return kFields;
}

}  // namespace dat
