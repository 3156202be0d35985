// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/other_ages.hpp"

#include <fmt/core.h>

#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

namespace conf {
namespace {

/// Says how ia_params names the device.
enum class Params {
    kAsHere,       ///< device and number
    kInterfaceIn,  ///< a network interface is among other words: AIX
    kNone          ///< not at all, the IA's name is the interface's: Solaris
};

struct Library {
    std::string_view beginning;  ///< beginning of the file's name
    std::string_view today;
    const char* origin;
    Params params;
};

constexpr Library kLibraries[] = {
    {"libdaplcma.so", "libdaplofa.so.2", "uDAPL 1.2", Params::kAsHere},
    {"libdaplofa.so.1", "libdaplofa.so.2", "uDAPL 1.2", Params::kAsHere},
    {"libdaplscm.so", "libdaploscm.so.2", "uDAPL 1.2", Params::kAsHere},
    {"libdapl2.a", "libdaplofa.so.2", "AIX", Params::kInterfaceIn},
    {"libdapl.a", "libdaplofa.so.2", "AIX", Params::kInterfaceIn},
    {"udapl_", "libdaplofa.so.2", "Solaris", Params::kNone},
};

/// Libraries of DAT 2.0, whatever version a record states.
constexpr std::string_view kOfToday[] = {"libdaplofa.so.2", "libdaploscm.so.2", "libdaploucm.so.2",
                                         "libdaplsoft.so.2", "libdaplomcm.so.2"};

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

const Library* old_library(const dat::ConfRecord& record) {
    for (const Library& library : kLibraries)
        if (file_name(record.library).starts_with(library.beginning)) return &library;
    return nullptr;
}

bool is_library_of_today(const dat::ConfRecord& record) {
    for (const std::string_view library : kOfToday)
        if (file_name(record.library).starts_with(library)) return true;
    return false;
}

/// @return the last word of ia_params that is neither a path nor a number; empty if there is none.
std::string interface_in(const dat::ConfRecord& record) {
    std::string found, word;
    for (std::istringstream words(record.ia_params); words >> word;)
        if (word.find('/') == std::string::npos &&
            word.find_first_not_of("0123456789") != std::string::npos)
            found = word;
    return found;
}

std::string params_of_today(const dat::ConfRecord& record, Params params) {
    if (params == Params::kAsHere) return record.ia_params;
    return (params == Params::kNone ? record.ia_name : interface_in(record)) + " 0";
}

void note(std::string& changes, const std::string& before, const std::string& after) {
    if (before == after) return;
    changes += fmt::format("{}{} becomes {}", changes.empty() ? "" : ", ", before, after);
}

std::string version(const dat::ConfRecord& record) {
    return fmt::format("u{}.{}", record.major, record.minor);
}

}  // namespace

std::string obstacle(const dat::ConfRecord& record) {
    const Library* old = old_library(record);
    if (!old && (record.major > 1 || is_library_of_today(record))) return {};
    if (record.kernel) return "it is for kernel programs";
    if (!old) return fmt::format("'{}' is an unknown library", record.library);
    if (old->params == Params::kInterfaceIn && interface_in(record).empty())
        return fmt::format("its ia_params \"{}\" name no network interface", record.ia_params);
    return {};
}

std::optional<Modernised> modernised(const dat::ConfRecord& record) {
    const Library* old = old_library(record);
    const bool is_old_version = record.major == 1 && is_library_of_today(record);
    if ((!old && !is_old_version) || !obstacle(record).empty()) return std::nullopt;
    Modernised result{record, old ? old->origin : "uDAPL 1.2", {}};
    dat::ConfRecord& today = result.record;
    if (today.major < 2) {
        today.major = 2;
        today.minor = 0;
    }
    if (old) {
        today.library = old->today;
        today.provider_version = "dapl.2.0";
        today.ia_params = params_of_today(record, old->params);
        today.platform_params.clear();
    }
    note(result.changes, version(record), version(today));
    note(result.changes, record.library, today.library);
    note(result.changes, '"' + record.ia_params + '"', '"' + today.ia_params + '"');
    return result;
}

}  // namespace conf
