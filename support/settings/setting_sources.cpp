// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/setting_sources.hpp"

#include <fmt/core.h>
#include <sys/auxv.h>

#include <iterator>
#include <utility>

#include "support/settings/configuration_files.hpp"
#include "support/settings/environment.hpp"
#include "support/settings/setting_values.hpp"

namespace support {
namespace {

/// Forces of files count from 2, the weakest, in steps of two.
constexpr int kForceOfEnvironment = 1000;

/// In the order in which the readers check them (trace_level.cpp, log_sinks.cpp,
/// providers/scm/address.cpp).
constexpr Superseding kSuperseding[] = {
    {Setting::kDaplDebugType, Setting::kTraceLevel},
    {Setting::kDaplDebugLevel, Setting::kTraceLevel},
    {Setting::kDatDebugType, Setting::kDatTraceLevel},
    {Setting::kDaplDebugDestination, Setting::kLog},
    {Setting::kDatDebugDestination, Setting::kLog},
    {Setting::kDaplDebugDestination, Setting::kLogFile},
    {Setting::kDatDebugDestination, Setting::kLogFile},
    {Setting::kScmInterface, Setting::kScmBindAddress},
};

const SettingInfo& info_of(Setting setting) {
    return kSettings[static_cast<int>(setting)];
}

bool is_setuid() {
    return getauxval(AT_SECURE) != 0;
}

bool is_obeyed(const SettingInfo& info) {
    return info.in_setuid == InSetuid::kObeyed || !is_setuid();
}

bool is_right(const SettingInfo& info, const char* variable) {
    long number = 0;
    return info.kind != SettingKind::kInteger || is_in_range(info, variable, number);
}

std::string place(const ConfigurationFile& file, int line) {
    return fmt::format("{}:{}", file.path, line);
}

/// @param ia_name "" for what the file sets for all. @return nullptr when it sets nothing.
const ConfiguredSetting* find(const ConfigurationFile& file, Setting setting,
                              std::string_view ia_name) {
    for (const ConfiguredSetting& candidate : file.text.settings)
        if (candidate.setting == setting && candidate.ia_name == ia_name) return &candidate;
    return nullptr;
}

/// @return what one file sets for the IA: the IA's own value goes before the one for all.
const ConfiguredSetting* look_up(const ConfigurationFile& file, Setting setting,
                                 std::string_view ia_name) {
    const ConfiguredSetting* own = ia_name.empty() ? nullptr : find(file, setting, ia_name);
    return own ? own : find(file, setting, {});
}

class UnusedSettings {
  public:
    explicit UnusedSettings(const std::function<bool(std::string_view)>& is_ia) : is_ia_(is_ia) {}

    std::vector<UnusedSetting> take() { return std::move(all_); }

    void add_environment() {
        for (std::size_t i = 0; i < std::size(kSettings); ++i) {
            const auto setting = static_cast<Setting>(i);
            const SettingInfo& info = kSettings[i];
            const char* value = variable_in_environment(info.name);
            if (!value) continue;
            const UnusedSetting unused{info.name, {}, value, "environment", {}, {}};
            if (!is_obeyed(info))
                add(unused, UnusedBecause::kSetuid, "this is a set-uid program");
            else if (!is_right(info, value))
                add(unused, UnusedBecause::kBadValue, "expected " + accepted_values(info));
            else
                add_superseded(setting, unused);
        }
        for (const std::string_view name : unknown_variables())
            add({std::string(name),
                 {},
                 variable_in_environment(std::string(name).c_str()),
                 "environment",
                 {},
                 {}},
                UnusedBecause::kUnknownName,
                fmt::format("did you mean {}?", nearest_setting(name)));
    }

    void add_file(const ConfigurationFile& file) {
        if (!file.not_read.empty())
            return add({{}, {}, {}, file.path, {}, {}}, UnusedBecause::kFileNotRead, file.not_read);
        for (const ConfigurationProblem& problem : file.text.problems) add_problem(file, problem);
        for (const ConfiguredSetting& configured : file.text.settings)
            add_configured(file, configured);
    }

  private:
    void add(UnusedSetting unused, UnusedBecause because, std::string explanation) {
        unused.because = because;
        unused.explanation = std::move(explanation);
        all_.push_back(std::move(unused));
    }

    void add_superseded(Setting setting, const UnusedSetting& unused) {
        for (const Superseding& pair : kSuperseding) {
            if (pair.setting != setting) continue;
            if (!setting_is_superseded(setting, pair.by, unused.ia_name)) continue;
            return add(unused, UnusedBecause::kSuperseded,
                       fmt::format("{} is also set ({})", info_of(pair.by).name,
                                   setting_value(pair.by, unused.ia_name).where));
        }
    }

    void add_problem(const ConfigurationFile& file, const ConfigurationProblem& problem) {
        if (problem.kind == ConfigurationProblem::Kind::kNotYaml)
            return add({{}, {}, {}, place(file, problem.line), {}, {}}, UnusedBecause::kFileNotRead,
                       problem_text(problem));
        const bool unknown = problem.kind == ConfigurationProblem::Kind::kUnknownName;
        add({problem.name, problem.ia_name, problem.found, place(file, problem.line), {}, {}},
            unknown ? UnusedBecause::kUnknownName : UnusedBecause::kBadValue,
            unknown ? problem_hint(problem) : "expected " + problem.expected);
    }

    void add_configured(const ConfigurationFile& file, const ConfiguredSetting& configured) {
        const SettingInfo& info = info_of(configured.setting);
        const std::string where = place(file, configured.line);
        const UnusedSetting unused{info.name, configured.ia_name, configured.value, where, {}, {}};
        if (!is_obeyed(info))
            return add(unused, UnusedBecause::kSetuid, "this is a set-uid program");
        if (!configured.ia_name.empty() && !is_ia_(configured.ia_name))
            return add(unused, UnusedBecause::kUnknownIa,
                       fmt::format("there is no IA {}", configured.ia_name));
        const SettingValue used = setting_value(configured.setting, configured.ia_name);
        if (used.where != where)
            return add(unused, UnusedBecause::kOverridden,
                       fmt::format("{} overrides it ({})", used.where, used.text));
        add_superseded(configured.setting, unused);
    }

    const std::function<bool(std::string_view)>& is_ia_;
    std::vector<UnusedSetting> all_;
};

}  // namespace

SettingValue setting_value(Setting setting, std::string_view ia_name) {
    const SettingInfo& info = info_of(setting);
    const char* variable = environment_value(setting);
    if (variable && is_right(info, variable))
        return {variable, SettingOrigin::kEnvironment, "environment", kForceOfEnvironment, false};
    const ConfigurationInUse configuration;
    const auto files = configuration.files();
    for (std::size_t i = 0; i < files.size() && is_obeyed(info); ++i) {
        const ConfiguredSetting* found = look_up(files[i], setting, ia_name);
        if (!found) continue;
        const bool of_ia = !found->ia_name.empty();
        return {found->value, SettingOrigin::kFile, place(files[i], found->line),
                2 * static_cast<int>(files.size() - i) + (of_ia ? 1 : 0), of_ia};
    }
    return {info.default_value, SettingOrigin::kDefault, "default", 0, false};
}

std::vector<UnusedSetting> unused_settings(const std::function<bool(std::string_view)>& is_ia) {
    UnusedSettings unused(is_ia);
    unused.add_environment();
    const ConfigurationInUse configuration;
    for (const ConfigurationFile& file : configuration.files()) unused.add_file(file);
    return unused.take();
}

const char* to_text(UnusedBecause because) {
    switch (because) {
        case UnusedBecause::kOverridden:
            return "overridden";
        case UnusedBecause::kSetuid:
            return "set-uid";
        case UnusedBecause::kBadValue:
            return "bad-value";
        case UnusedBecause::kUnknownName:
            return "unknown-name";
        case UnusedBecause::kUnknownIa:
            return "unknown-ia";
        case UnusedBecause::kSuperseded:
            return "superseded";
        case UnusedBecause::kFileNotRead:
            return "file-not-read";
    }
    return "";
}

std::span<const Superseding> superseding_settings() {
    return kSuperseding;
}

}  // namespace support
