// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/json_writer.hpp"

#include <fmt/core.h>

#include <iterator>

namespace support {

void JsonWriter::quote(std::string_view text) {
    document_ += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            (document_ += '\\') += c;
        else if (byte >= 0x20 && byte < 0x7f)
            document_ += c;
        else
            fmt::format_to(std::back_inserter(document_), "\\u{:04x}", byte);
    }
    document_ += '"';
}

void JsonWriter::name(std::string_view key) {
    if (!first_) document_ += ',';
    first_ = false;
    if (key.empty()) return;
    quote(key);
    document_ += ':';
}

void JsonWriter::begin(std::string_view key, char bracket) {
    name(key);
    document_ += bracket;
    first_ = true;
}

void JsonWriter::end(char bracket) {
    document_ += bracket;
    first_ = false;
}

void JsonWriter::text(std::string_view key, std::string_view value) {
    name(key);
    quote(value);
}

void JsonWriter::number(std::string_view key, std::int64_t value) {
    name(key);
    fmt::format_to(std::back_inserter(document_), "{}", value);
}

void JsonWriter::number(std::string_view key, std::uint64_t value) {
    name(key);
    fmt::format_to(std::back_inserter(document_), "{}", value);
}

void JsonWriter::flag(std::string_view key, bool value) {
    name(key);
    document_ += value ? "true" : "false";
}

void JsonWriter::null(std::string_view key) {
    name(key);
    document_ += "null";
}

}  // namespace support
