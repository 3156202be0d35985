// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Writes JSON text, value by value: what a library needs to report its state to tools. Values have
/// a key within objects and none within arrays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace support {

class JsonWriter {
  public:
    void begin_object(std::string_view key = {}) { begin(key, '{'); }
    void end_object() { end('}'); }
    void begin_array(std::string_view key = {}) { begin(key, '['); }
    void end_array() { end(']'); }
    /// Writes bytes beyond ASCII as the characters of Latin-1, so that the text is always valid.
    void text(std::string_view key, std::string_view value);
    void number(std::string_view key, std::int64_t value);
    void number(std::string_view key, std::uint64_t value);
    void number(std::string_view key, int value) { number(key, std::int64_t{value}); }
    void number(std::string_view key, unsigned value) { number(key, std::uint64_t{value}); }
    void flag(std::string_view key, bool value);
    void null(std::string_view key);

    /// @return the document; all its objects and arrays must have been ended.
    std::string take() { return std::move(document_); }

  private:
    void name(std::string_view key);
    void begin(std::string_view key, char bracket);
    void end(char bracket);
    void quote(std::string_view text);

    std::string document_;
    bool first_ = true;  ///< of the current object or array
};

}  // namespace support
