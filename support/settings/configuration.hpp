// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reads the text of an opendat.yaml: a pure function, so that it can be tested and fuzzed alone.
/// The format is that of opendat.yaml(5). What is wrong is left out and reported; the rest holds.
/// Nothing is used of a text that is not YAML.
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
    std::string value;    ///< valid for the setting's kind; not empty
    int line, column;     ///< of the value, from 1
};

/// `name: value` of an entry of `ias`.
struct ConfiguredField {
    std::string name, value;
    int line, column;            ///< of the value
    int name_line, name_column;  ///< of the name
};

/// An entry of `ias`, without its settings. The registry checks the values of its fields.
struct ConfiguredIa {
    std::string ia_name;
    int line, column;
    std::vector<ConfiguredField> fields;  ///< ia_name included
};

struct ConfigurationProblem {
    enum class Kind {
        kNotYaml,      ///< `found` is the reason; nothing of the text is used
        kUnknownName,  ///< `name` is unknown; `expected` is the nearest name there
        kBadValue,     ///< `name` has the value `found`, where `expected` is accepted
    };
    Kind kind;
    int line, column;
    std::string name;
    std::string found;     ///< cut to 40 bytes, except for kNotYaml
    std::string expected;  ///< for kBadValue a noun: "a number from 1 to 7"
    std::string place;     ///< what `name` should be one of: "setting", "key of trace"
    std::string ia_name;   ///< the IA in whose settings it is
};

struct ConfigurationText {
    std::vector<ConfiguredSetting> settings;
    std::vector<ConfiguredIa> ias;
    std::vector<ConfigurationProblem> problems;  ///< all, in text order within a section
};

/// Accepts any bytes. Thread safe. Throws only std::bad_alloc.
ConfigurationText read_configuration(std::string_view text, YamlReader reader);

/// The short names of settings in the sections `trace` and `softverbs`; a name may stand for two
/// settings.
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
    {"softverbs", "only", Setting::kSoftverbsOnly},
    {"softverbs", "faults", Setting::kSoftverbsFaults},
    {"softverbs", "faults_seed", Setting::kSoftverbsFaultsSeed},
    {"softverbs", "faults_log", Setting::kSoftverbsFaultsLog},
    {"softverbs", "devices", Setting::kSoftverbsDevices},
    {"softverbs", "ports", Setting::kSoftverbsPorts},
    {"softverbs", "time_scale", Setting::kSoftverbsTimeScale},
    {"softverbs", "check", Setting::kSoftverbsCheck},
    {"softverbs", "link", Setting::kSoftverbsLink},
    {"softverbs", "copy", Setting::kSoftverbsCopy},
    {"softverbs", "placement", Setting::kSoftverbsPlacement},
};

/// @return "setting DAPL_IB_MTUU is unknown" or the like, without the place.
std::string problem_text(const ConfigurationProblem& problem);
/// @return what the user should do about it.
std::string problem_hint(const ConfigurationProblem& problem);

}  // namespace support
