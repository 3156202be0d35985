// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// JSON documents as the tools print them, with members in the order in which they were added.
/// Implemented with nlohmann-json, which is compiled only in json.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace tools {

/// An object or an array, and its contents.
class Json {
  public:
    static Json object();
    static Json array();
    /// @return the beginning of a `--json` document: {"tool": TOOL, "version": 1}. The version is
    /// that of the document's schema, doc/schema/TOOL.json: it changes when a reader of the old one
    /// would be wrong about the new one.
    static Json document(std::string_view tool);

    Json(Json&& other) noexcept;
    Json& operator=(Json&& other) noexcept;
    ~Json();

    /// Adds a member to an object: text, a boolean, a number, another document, or null for
    /// nullptr.
    template <class Value>
    Json& put(std::string_view key, Value&& value) {
        put_value(key, of(std::forward<Value>(value)));
        return *this;
    }
    /// Adds an element to an array.
    template <class Value>
    Json& add(Value&& value) {
        add_value(of(std::forward<Value>(value)));
        return *this;
    }

    /// @return the document, indented, with a line feed at the end. Bytes that are not UTF-8 become
    /// U+FFFD.
    std::string text() const;

  private:
    explicit Json(std::unique_ptr<nlohmann::ordered_json> value);
    static Json of(std::string_view text);
    static Json of(bool truth);
    static Json of(std::int64_t number);
    static Json of(std::uint64_t number);
    static Json of(double number);
    static Json of(std::nullptr_t);
    static Json of(Json&& document) { return std::move(document); }
    template <class Number>
    requires std::is_integral_v<Number>
    static Json of(Number number) {
        if constexpr (std::is_signed_v<Number>)
            return of(static_cast<std::int64_t>(number));
        else
            return of(static_cast<std::uint64_t>(number));
    }
    static Json of(const char* text) { return of(std::string_view(text)); }
    static Json of(const std::string& text) { return of(std::string_view(text)); }
    void put_value(std::string_view key, Json&& value);
    void add_value(Json&& value);

    std::unique_ptr<nlohmann::ordered_json> value_;
};

}  // namespace tools
