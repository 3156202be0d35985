// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes the reader of opendat.yaml with any bytes, including the YAML parser and the fields of
/// IAs: it keeps its promises, and the values that it accepts are valid for the settings table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dat/registry/configured_ias.hpp"
#include "support/settings/configuration.hpp"
#include "support/settings/setting_values.hpp"
#include "test/fuzz/input.hpp"

namespace {

using test::require;

void check_place(int line, int column, int lines) {
    require(line >= 1 && line <= lines + 1, "it has a line");
    require(column >= 1, "it has a column");
}

void check(const support::ConfigurationText& text, int lines) {
    for (const support::ConfiguredSetting& setting : text.settings) {
        const support::SettingInfo& info = support::kSettings[static_cast<int>(setting.setting)];
        require(support::is_valid(info, setting.value), "values are right for their settings");
        require(setting.ia_name.empty() || info.scope == support::SettingScope::kForIa,
                "an IA has none of the process's settings");
        require(setting.setting != support::Setting::kConfig, "no file names further files");
        check_place(setting.line, setting.column, lines);
    }
    for (const support::ConfiguredIa& ia : text.ias) require(!ia.ia_name.empty(), "IAs have names");
    for (const support::ConfigurationProblem& problem : text.problems) {
        check_place(problem.line, problem.column, lines);
        require(!problem_text(problem).empty() && !problem_hint(problem).empty(),
                "problems have a text and a hint");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 8 << 10;
    // A copy of the exact size, so that the address sanitizer catches a read past the end.
    const std::string input(reinterpret_cast<const char*>(data), std::min(size, kMost));
    // In YAML a carriage return ends a line too.
    const auto lines =
        std::count_if(input.begin(), input.end(), [](char c) { return c == '\n' || c == '\r'; });
    const auto text = support::read_configuration(input, opendat_yaml_read_1);
    check(text, 1 + static_cast<int>(lines));
    const dat::ConfiguredIas ias = dat::read_configured_ias("file", text.ias);
    require(ias.records.size() + ias.problems.size() <= text.ias.size(), "an entry is read once");
    for (const dat::ConfRecord& record : ias.records) {
        require(record.ia_name.size() < 256, "names fit the API");
        require(record.library.find('\0') == std::string::npos, "texts hold no NUL");
    }
    return 0;
}
