// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The only parser of a process's answer: every member must be there and of its type.
#include "tools/stat/state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/trace/status_socket.hpp"

namespace stat_tool {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* key, const char* wanted) {
    throw std::runtime_error(fmt::format("'{}' is not {}", key, wanted));
}

const json& member(const json& of, const char* key) {
    if (!of.is_object()) refuse(key, "in an object");
    const auto found = of.find(key);
    if (found == of.end()) refuse(key, "there");
    return *found;
}
std::string text(const json& of, const char* key) {
    const json& found = member(of, key);
    if (!found.is_string()) refuse(key, "text");
    return found.get<std::string>();
}
/// Accepts null too.
std::string optional_text(const json& of, const char* key) {
    return member(of, key).is_null() ? std::string() : text(of, key);
}
std::uint64_t number(const json& of, const char* key) {
    const json& found = member(of, key);
    if (!found.is_number_unsigned()) refuse(key, "a whole number");
    return found.get<std::uint64_t>();
}
std::int64_t age(const json& of, const char* key) {
    constexpr std::uint64_t kLongest = std::uint64_t{1} << 53;
    const std::uint64_t found = number(of, key);
    if (found > kLongest) refuse(key, "an age");
    return static_cast<std::int64_t>(found);
}
bool flag(const json& of, const char* key) {
    const json& found = member(of, key);
    if (!found.is_boolean()) refuse(key, "true or false");
    return found.get<bool>();
}

template <class T>
std::vector<T> all(const json& of, const char* key, T (*parse)(const json&)) {
    const json& list = member(of, key);
    if (!list.is_array()) refuse(key, "a list");
    std::vector<T> found;
    for (const json& each : list) found.push_back(parse(each));
    return found;
}

Counters counters(const json& of) {
    const json& list = member(of, "counters");
    if (!list.is_object()) refuse("counters", "an object");
    Counters found;
    for (const auto& [name, value] : list.items()) {
        if (!value.is_number_unsigned()) refuse("counters", "made of whole numbers");
        found[name] = value.get<std::uint64_t>();
    }
    return found;
}

Work work(const json& of, const char* key) {
    const json& side = member(of, key);
    Work found{};
    found.posted = number(side, "posted");
    found.limit = number(side, "limit");
    found.evd = optional_text(side, "evd");
    found.idle_ms = age(side, "idle_ms");
    const json& oldest = member(side, "oldest");
    if (oldest.is_null()) return found;
    found.operation = text(oldest, "operation");
    found.cookie = text(oldest, "cookie");
    found.bytes = number(oldest, "bytes");
    found.oldest_ms = age(oldest, "age_ms");
    return found;
}

Change change(const json& of) {
    return {text(of, "to"), text(of, "why"), age(of, "age_ms")};
}

Ep ep(const json& of) {
    return {text(of, "id"),
            text(of, "state"),
            text(of, "type"),
            optional_text(of, "peer"),
            number(of, "local_port"),
            number(of, "peer_port"),
            optional_text(of, "connect_evd"),
            optional_text(of, "srq"),
            work(of, "requests"),
            work(of, "receives"),
            counters(of),
            all(of, "history", change)};
}

std::string stream(const json& of) {
    if (!of.is_string()) refuse("streams", "made of text");
    return of.get<std::string>();
}

Evd evd(const json& of) {
    return {text(of, "id"),           all(of, "streams", stream), number(of, "queue_length"),
            number(of, "waiting"),    flag(of, "waiter"),         flag(of, "lost_events"),
            optional_text(of, "cno"), age(of, "unlooked_ms"),     counters(of)};
}

Cno cno(const json& of) {
    Cno found{text(of, "id"), of.contains("waiters"), 0, 0, false};
    if (!found.known) return found;
    found.waiters = number(of, "waiters");
    found.evds = number(of, "evds");
    found.triggered = flag(of, "triggered");
    return found;
}

Srq srq(const json& of) {
    return {text(of, "id"), number(of, "posted"), number(of, "limit"), number(of, "eps"),
            flag(of, "failed")};
}

ServicePoint service_point(const json& of) {
    return {text(of, "id"), text(of, "kind"), number(of, "conn_qual")};
}

Request request(const json& of) {
    return {text(of, "id"), number(of, "conn_qual"), optional_text(of, "peer"), age(of, "age_ms")};
}

Ia ia(const json& of) {
    Ia found{};
    found.id = text(of, "id");
    found.name = text(of, "name");
    found.device = text(of, "device");
    found.address = optional_text(of, "address");
    found.manager = text(of, "manager");
    found.port = number(of, "port");
    found.busy = flag(of, "busy");
    found.pzs = number(of, "pzs");
    found.lmrs = number(of, "lmrs");
    found.lmr_bytes = number(of, "lmr_bytes");
    found.rmrs = number(of, "rmrs");
    found.eps = all(of, "eps", ep);
    found.evds = all(of, "evds", evd);
    found.cnos = all(of, "cnos", cno);
    found.srqs = all(of, "srqs", srq);
    found.service_points = all(of, "service_points", service_point);
    found.requests = all(of, "requests", request);
    found.counters = counters(of);
    return found;
}

}  // namespace

Library parse_library(const std::string& bytes) {
    const json document = json::parse(bytes, nullptr, false);
    if (document.is_discarded()) throw std::runtime_error("it is not JSON");
    if (number(document, "opendat_status") != support::status_socket::kVersion)
        throw std::runtime_error(fmt::format("its version is {}, this dat_stat reads {}",
                                             number(document, "opendat_status"),
                                             support::status_socket::kVersion));
    return {text(document, "library"), age(document, "resolution_ms"), flag(document, "busy"),
            all(document, "ias", ia), bytes};
}

const Evd* find_evd(const Ia& ia, const std::string& id) {
    const auto found = std::find_if(ia.evds.begin(), ia.evds.end(),
                                    [&](const Evd& each) { return each.id == id; });
    return found == ia.evds.end() ? nullptr : &*found;
}

std::string peer_text(const Ep& ep) {
    if (ep.peer.empty()) return "no peer";
    const bool is_ipv6 = ep.peer.find(':') != std::string::npos && ep.peer.front() != '[';
    return is_ipv6 ? fmt::format("[{}]:{}", ep.peer, ep.peer_port)
                   : fmt::format("{}:{}", ep.peer, ep.peer_port);
}

std::string duration_text(std::int64_t milliseconds) {
    constexpr double kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
    const auto time = static_cast<double>(milliseconds);
    if (time < kSecond) return fmt::format("{} ms", milliseconds);
    if (time < 2 * kMinute) return fmt::format("{:.1f} s", time / kSecond);
    if (time < 2 * kHour) return fmt::format("{:.1f} min", time / kMinute);
    return fmt::format("{:.1f} h", time / kHour);
}

}  // namespace stat_tool
