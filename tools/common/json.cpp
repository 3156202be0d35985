// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/json.hpp"

#include <nlohmann/json.hpp>

namespace tools {
namespace {

constexpr int kIndent = 2;

std::unique_ptr<nlohmann::ordered_json> make(nlohmann::ordered_json value) {
    return std::make_unique<nlohmann::ordered_json>(std::move(value));
}

}  // namespace

Json::Json(std::unique_ptr<nlohmann::ordered_json> value) : value_(std::move(value)) {}
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::object() {
    return Json(make(nlohmann::ordered_json::object()));
}

Json Json::array() {
    return Json(make(nlohmann::ordered_json::array()));
}

Json Json::document(std::string_view tool) {
    Json document = object();
    document.put("tool", tool).put("version", 1);
    return document;
}

Json Json::of(std::string_view text) {
    return Json(make(text));
}

Json Json::of(bool truth) {
    return Json(make(truth));
}

Json Json::of(std::int64_t number) {
    return Json(make(number));
}

Json Json::of(std::uint64_t number) {
    return Json(make(number));
}

Json Json::of(double number) {
    return Json(make(number));
}

Json Json::of(std::nullptr_t) {
    return Json(make(nullptr));
}

void Json::put_value(std::string_view key, Json&& value) {
    (*value_)[std::string(key)] = std::move(*value.value_);
}

void Json::add_value(Json&& value) {
    value_->push_back(std::move(*value.value_));
}

std::string Json::text() const {
    return value_->dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
           '\n';
}

}  // namespace tools
