// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/state_json.hpp"

#include <nlohmann/json.hpp>

namespace stat_tool {
namespace {

using Json = nlohmann::ordered_json;

/// @return the process's document unchanged, without the members that the enclosing object has.
Json library_json(const Library& library) {
    Json document = Json::parse(library.document);
    document.erase("opendat_status");
    document.erase("pid");
    return document;
}

Json process_json(const Process& process) {
    Json libraries = Json::array();
    for (const Library& library : process.libraries) libraries.push_back(library_json(library));
    return {{"pid", process.pid},
            {"program", process.program},
            {"stopped", process.stopped},
            {"libraries", libraries}};
}

Json finding_json(const Finding& finding) {
    return {{"pid", finding.pid},
            {"kind", finding.kind},
            {"object", finding.object.empty() ? Json() : Json(finding.object)},
            {"text", finding.text},
            {"next_step", finding.next_step}};
}

}  // namespace

std::string to_json(const std::vector<Process>& processes,
                    const std::optional<std::vector<Finding>>& findings) {
    Json document{{"tool", "dat_stat"}, {"version", 1}};
    document["processes"] = Json::array();
    for (const Process& process : processes) document["processes"].push_back(process_json(process));
    if (findings) {
        document["hangs"] = Json::array();
        for (const Finding& finding : *findings) document["hangs"].push_back(finding_json(finding));
    }
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stat_tool
