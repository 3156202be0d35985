// SPDX-License-Identifier: BSD-2-Clause
#include "tools/info/explain_records.hpp"

#include <fmt/core.h>

namespace info {
namespace {

class Explainer {
  public:
    Explainer(const support::Facts& facts, const dat::Key& asked, const dat::Key& served,
              const std::string& taken)
        : facts_(facts), asked_(asked), served_(served), taken_(taken) {}

    /// Called in the order in which the registry tries the records.
    void explain_record(const std::string& path, const dat::ConfRecord& record) {
        const std::string where = fmt::format("{}:{}", path, record.line);
        const std::string value =
            fmt::format("{}: {} {} {} \"{}\"", where, record.ia_name,
                        version_text(dat::key_of(record)), record.library, record.ia_params);
        if (where == taken_) seen_ = true;
        facts_.note("record", value, path,
                    where == taken_ ? "used" : "not used: " + why_not(record));
    }

    void explain_file(const dat::ConfFile& file) {
        for (const dat::ConfRecord& record : file.text.records) explain_record(file.path, record);
        for (const dat::ConfProblem& problem : file.text.problems)
            facts_.note("bad_record",
                        fmt::format("{}:{}:{}", file.path, problem.line, problem.column), file.path,
                        fmt::format("not used: {} is '{}', expected {}", problem.field,
                                    problem.found, problem.accepted));
    }

    void explain_configured(const dat::ConfiguredIas& ias) {
        facts_.note("conf_file", ias.path, "opendat.yaml", "used");
        for (const dat::ConfRecord& record : ias.records) explain_record(ias.path, record);
        for (const support::ConfigurationProblem& problem : ias.problems)
            facts_.note("bad_record",
                        fmt::format("{}:{}:{}", ias.path, problem.line, problem.column), ias.path,
                        "not used: " + support::problem_text(problem));
    }

  private:
    std::string why_not(const dat::ConfRecord& record) const {
        const dat::Key key = dat::key_of(record);
        if (key.ia_name != asked_.ia_name) return "it has another name";
        if (const char* why = dat::why_not_offered(record)) return why;
        if (key != served_) return "it is not " + version_text(served_) + ", which is requested";
        return seen_ ? "an earlier record is used" : "its library cannot be used";
    }

    const support::Facts& facts_;
    const dat::Key& asked_;
    const dat::Key& served_;
    const std::string& taken_;
    bool seen_ = false;
};

}  // namespace

std::string version_text(const dat::Key& key) {
    return fmt::format("u{}.{} {}", key.major, key.minor,
                       key.thread_safe ? "threadsafe" : "nonthreadsafe");
}

void explain_records(const support::Facts& facts, const dat::Registry& registry,
                     const dat::Key& asked, const dat::Key& served, const std::string& taken) {
    Explainer explainer(facts, asked, served, taken);
    for (const dat::ConfiguredIas& ias : registry.configured()) explainer.explain_configured(ias);
    bool found = false;
    for (const dat::ConfPlace& place : dat::conf_places()) {
        if (found) {
            facts.note("conf_file", place.path, place.source, "not read: the earlier one is used");
            continue;
        }
        const dat::ConfFile file = dat::read_conf_file(place);
        found = file.unreadable.empty();
        facts.note("conf_file", place.path, place.source,
                   found ? "used" : "cannot be read: " + file.unreadable);
        if (found) explainer.explain_file(file);
    }
}

}  // namespace info
