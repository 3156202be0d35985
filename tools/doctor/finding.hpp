// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The findings of dat_doctor: the catalogue of kinds, and the findings with their evidence.
#pragma once

#include <string>
#include <vector>

namespace doctor {

enum class Severity { kWarning, kError };

struct Kind {
    const char* id;  ///< stable, for users to search for
    Severity severity;
    const char* title;
};

#define FINDING(name, id, severity, title) \
    inline constexpr Kind name{id, Severity::severity, title};
#include "tools/doctor/findings.def"
#undef FINDING

inline constexpr const Kind* kCatalogue[] = {
#define FINDING(name, id, severity, title) &name,
#include "tools/doctor/findings.def"
#undef FINDING
};

struct Finding {
    const Kind* kind;
    std::string evidence;
    std::string mend;  ///< the command that repairs it, or another remedy
};

class Findings {
  public:
    void add(const Kind& kind, std::string evidence, std::string mend) {
        all_.push_back({&kind, std::move(evidence), std::move(mend)});
    }
    const std::vector<Finding>& all() const { return all_; }
    /// @return 0 if nothing was found, 3 for warnings only, 1 if something would fail.
    int exit_status() const;

  private:
    std::vector<Finding> all_;
};

}  // namespace doctor
