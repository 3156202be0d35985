// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one table of settings and the only way to read the environment. Each read looks up the
/// variable again (control path only): code on the data path keeps the value in its object. Where a
/// value came from, and what is not obeyed, is reported by support/settings/setting_sources.hpp.
#pragma once

#include <string>
#include <string_view>

namespace support {

enum class SettingKind { kText, kPath, kInteger, kFlag };
enum class InSetuid { kIgnored, kObeyed };
enum class SettingScope { kForProcess, kForIa };

struct SettingInfo {
    const char* name;
    SettingKind kind;
    const char* unit;           ///< "" where there is none
    const char* default_value;  ///< "" for unset
    long minimum, maximum;      ///< for kInteger
    InSetuid in_setuid;
    SettingScope scope;
    const char* help;
};

enum class Setting {
#define SETTING(id, ...) id,
#include "support/settings/settings.def"
#undef SETTING
};

inline constexpr SettingInfo kSettings[] = {
#define SETTING(id, name, kind, unit, value, minimum, maximum, in_setuid, scope, help) \
    {name,                                                                             \
     SettingKind::kind,                                                                \
     unit,                                                                             \
     value,                                                                            \
     minimum,                                                                          \
     maximum,                                                                          \
     InSetuid::in_setuid,                                                              \
     SettingScope::scope,                                                              \
     help},
#include "support/settings/settings.def"
#undef SETTING
};

/// The readers below take the value from, in order of force: the environment; the files of
/// opendat.yaml(5), where within one file a value for the IA goes before one for all; the default.
/// A setting that a set-uid program must not obey counts as unset.
/// @param ia_name the IA that the value is for; only settings of SettingScope::kForIa differ.

/// @return whether the user gave this setting a value (even an empty one) that is obeyed here.
bool setting_is_set(Setting setting, std::string_view ia_name = {});
/// @return the user's text, else the default. For kText and kPath.
std::string setting_text(Setting setting, std::string_view ia_name = {});
/// @return the user's number (any base that strtol knows), else the default; a variable that is not
/// a number or out of range is reported once and counts as unset. For kInteger.
long setting_integer(Setting setting, std::string_view ia_name = {});
/// For kFlag: anything but "", "0", "no", "false" or "off" means true.
bool setting_flag(Setting setting, std::string_view ia_name = {});
/// For pairs of settings for one thing (kSuperseding). @return whether both are set, and `setting`
/// with no more force than `by`.
bool setting_is_superseded(Setting setting, Setting by, std::string_view ia_name = {});

/// @return the name, and where it was set if that was a file: for messages about a value.
std::string setting_label(Setting setting, std::string_view ia_name = {});

/// Names the library that warns of misspelt settings: libdat2 of those that begin with DAT_,
/// providers of all others.
enum class SettingsOf { kRegistry, kProvider };
/// Warns, once per process and library, about environment variables that name no setting but look
/// like one (unknown_variables()), with the nearest name.
void warn_about_unknown_settings(SettingsOf part);

}  // namespace support
