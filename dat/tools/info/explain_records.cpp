// SPDX-License-Identifier: BSD-2-Clause
#include "dat/tools/info/explain_records.hpp"

#include <fmt/core.h>

namespace info {
namespace {

using support::Standing;

std::string why_not(const dat::ConfRecord& record, const dat::Key& asked, const dat::Key& served,
                    int taken) {
    const dat::Key key = dat::key_of(record);
    if (key.ia_name != asked.ia_name) return "it has another name";
    if (const char* why = dat::why_not_offered(record)) return why;
    if (key != served) return "it is not " + version_text(served) + ", which is looked for";
    if (taken == 0) return "its library cannot be used";
    return record.line < taken ? "its library cannot be used" : "an earlier record serves";
}

void explain_file(const support::Facts& facts, const dat::ConfFile& file, const dat::Key& asked,
                  const dat::Key& served, int taken) {
    for (const dat::ConfRecord& record : file.text.records) {
        const std::string value =
            fmt::format("{}:{}: {} {} {} \"{}\"", file.path, record.line, record.ia_name,
                        version_text(dat::key_of(record)), record.library, record.ia_params);
        facts.note(
            "record", value, file.path,
            record.line == taken ? "taken" : "not taken: " + why_not(record, asked, served, taken));
    }
    for (const dat::ConfProblem& problem : file.text.problems)
        facts.note("bad_record", fmt::format("{}:{}:{}", file.path, problem.line, problem.column),
                   file.path,
                   fmt::format("not taken: {} is '{}', accepted is {}", problem.field,
                               problem.found, problem.accepted));
}

}  // namespace

std::string version_text(const dat::Key& key) {
    return fmt::format("u{}.{} {}", key.major, key.minor,
                       key.thread_safe ? "threadsafe" : "nonthreadsafe");
}

void explain_records(const support::Facts& facts, const dat::Key& asked, const dat::Key& served,
                     int taken) {
    bool found = false;
    for (const dat::ConfPlace& place : dat::conf_places()) {
        if (found) {
            facts.note("conf_file", place.path, place.source,
                       "not looked at: the other one is used");
            continue;
        }
        const dat::ConfFile file = dat::read_conf_file(place);
        found = file.unreadable.empty();
        facts.note("conf_file", place.path, place.source,
                   found ? "used" : "cannot be read: " + file.unreadable);
        if (found) explain_file(facts, file, asked, served, taken);
    }
}

}  // namespace info
