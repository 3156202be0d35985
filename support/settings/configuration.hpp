// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the text of an opendat.yaml says: a pure function, so that it can be tested and fuzzed
/// alone. The format is opendat.yaml(5)'s. What is wrong is left out and told; the rest holds. A
/// text that is not YAML says nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"
#include "support/yaml/reader.hpp"

namespace support {

struct ConfiguredSetting {
    Setting setting;
    std::string ia_name;  ///< "" for all
    std::string value;    ///< right for the setting's kind; not empty
    int line, column;     ///< of the value, from 1
};

/// `name: value` of an entry of `ias`.
struct ConfiguredField {
    std::string name, value;
    int line, column;            ///< of the value
    int name_line, name_column;  ///< of the name
};

/// An entry of `ias`, without its settings. What its fields may say is for the registry to judge.
struct ConfiguredIa {
    std::string ia_name;
    int line, column;
    std::vector<ConfiguredField> fields;  ///< ia_name included
};

struct ConfigurationProblem {
    enum class Kind {
        kNotYaml,      ///< `found` says why; nothing of the text is used
        kUnknownName,  ///< `name` is none; `expected` is the nearest there
        kBadValue,     ///< `name` is `found`, where `expected` is accepted
    };
    Kind kind;
    int line, column;
    std::string name;
    std::string found;     ///< cut to 40 bytes, but for kNotYaml
    std::string expected;  ///< for kBadValue a noun: "a number from 1 to 7"
    std::string place;     ///< of what `name` is to be one: "setting", "key of trace"
    std::string ia_name;   ///< where it stands in the settings of an IA
};

struct ConfigurationText {
    std::vector<ConfiguredSetting> settings;
    std::vector<ConfiguredIa> ias;
    std::vector<ConfigurationProblem> problems;  ///< all, in the order of the text within a section
};

/// Any bytes are allowed. Thread safe. Throws nothing but std::bad_alloc.
ConfigurationText read_configuration(std::string_view text, YamlReader reader);

/// The short names that the sections `trace` and `softverbs` have for settings; a name may stand
/// for two.
struct ConfigurationShortName {
    const char* section;
    const char* name;
    Setting setting;
};
inline constexpr ConfigurationShortName kShortNames[] = {
    {"trace", "level", Setting::kTraceLevel},
    {"trace", "level", Setting::kDatTraceLevel},
    {"trace", "log", Setting::kLog},
    {"trace", "file", Setting::kLogFile},
    {"trace", "file_size", Setting::kLogSize},
    {"trace", "file_count", Setting::kLogCount},
    {"trace", "dump", Setting::kTraceDump},
    {"trace", "events", Setting::kTraceEvents},
    {"softverbs", "fabric", Setting::kSoftverbsFabric},
    {"softverbs", "address", Setting::kSoftverbsAddress},
    {"softverbs", "connect_timeout", Setting::kSoftverbsConnectTimeout},
    {"softverbs", "cm", Setting::kSoftverbsCm},
    {"softverbs", "copy", Setting::kSoftverbsCopy},
    {"softverbs", "placement", Setting::kSoftverbsPlacement},
};

/// "setting DAPL_IB_MTUU is unknown" or the like, without the place.
std::string problem_text(const ConfigurationProblem& problem);
/// What the user does about it.
std::string problem_hint(const ConfigurationProblem& problem);

}  // namespace support
