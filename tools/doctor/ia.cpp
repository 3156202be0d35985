// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ia.hpp"

#include <algorithm>
#include <iterator>

namespace doctor {
namespace {

using support::Standing;

/// A degraded fact with a finding of its own; nullptr: one of the machine's checks has reported it.
struct Known {
    const char* subject;
    const Kind* kind;
};
constexpr Known kKnown[] = {
    {"libdat2", nullptr},
    {"locked_memory", nullptr},
    {"descriptors", nullptr},
    {"ptrace_scope", nullptr},
    {"release", &kOtherRelease},
    {"gid", &kPoorGid},
    {"port_state", &kPortNotActive},
};

void add_degraded(const std::string& ia_name, const info::KnownFact& fact, Findings& findings) {
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const Known& row) { return fact.subject == row.subject; });
    if (known != std::end(kKnown) && !known->kind) return;
    const Kind& kind = known == std::end(kKnown) ? kIaDegraded : *known->kind;
    findings.add(kind, ia_name + ": " + fact.subject + " " + fact.value, fact.note);
}

/// Adds what the reference's registry prints, because users search for that.
std::string failure_text(const info::KnownFact& fact) {
    const bool is_library = fact.value.ends_with("[DAT005]");
    return fact.value + (is_library ? " (the reference reports `DAT: library load failure`)" : "");
}

bool is_said_by_a_fact(const info::KnownFact& fact) {
    return fact.subject == "message" && fact.value.ends_with("[DAT248]");  // port_state says it
}

}  // namespace

void check_ia(const std::string& ia_name, const info::KnownFacts& facts, Findings& findings) {
    for (const info::KnownFact& fact : facts) {
        if (fact.standing == Standing::kFails)
            findings.add(kIaFails, failure_text(fact), fact.note);
        else if (fact.standing == Standing::kDegraded && !is_said_by_a_fact(fact))
            add_degraded(ia_name, fact, findings);
        if (fact.subject == "bad_record")
            findings.add(kBadRecord, fact.value + ": " + fact.note, "dat_conf check");
        if (fact.subject == "library_version" && fact.note.starts_with("it is not"))
            findings.add(
                kForeignProvider, ia_name + ": " + fact.value + ", " + fact.note,
                "name OpenDAT's library in dat.conf, or install it where the loader looks first");
    }
}

}  // namespace doctor
