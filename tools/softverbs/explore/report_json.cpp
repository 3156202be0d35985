// SPDX-License-Identifier: BSD-2-Clause
#include <sys/wait.h>

#include "tools/common/json.hpp"
#include "tools/softverbs/explore/report.hpp"

namespace softverbs::explore {
namespace {

using tools::Json;

/// The end of an output, which is kept whole by --keep.
constexpr std::size_t kMostOutput = 64 * 1024;

template <class Items>
Json array(const Items& items) {
    Json all = Json::array();
    for (const auto& item : items) all.add(item);
    return all;
}

std::string end_of(const std::string& text) {
    return text.size() > kMostOutput ? text.substr(text.size() - kMostOutput) : text;
}

Json kind_json(const Finding& kind) {
    const Run& example = kind.example;
    Json object = Json::object();
    object.put("outcome", name_of(kind.outcome.kind)).put("text", to_text(kind.outcome));
    object.put("seeds", array(kind.seeds)).put("shrunk", kind.is_shrunk);
    object.put("rules", array(kind.rules)).put("command", kind.command);
    object.put("seconds", example.seconds).put("log", array(example.log));
    object.put("output", end_of(example.output)).put("errors", end_of(example.errors));
    object.put("stacks", example.stacks).put("queue_pairs", example.queue_pairs);
    if (kind.outcome.kind == Kind::kCrash) object.put("signal", kind.outcome.value);
    if (kind.outcome.kind == Kind::kStatus) object.put("status", kind.outcome.value);
    return object;
}

}  // namespace

std::string as_json(const Options& options, const Findings& findings) {
    Json document = Json::document("softverbs explore");
    document.put("command", array(options.command)).put("faults", options.rules);
    document.put("first_seed", options.first_seed).put("seeds", options.seeds);
    document.put("runs", findings.results.size());
    document.put("interrupted", findings.interrupted != 0);
    document.put("reference_seconds", findings.reference.seconds);
    Json kinds = Json::array();
    for (const Finding& kind : findings.kinds) kinds.add(kind_json(kind));
    document.put("findings", std::move(kinds));
    return document.text();
}

}  // namespace softverbs::explore
