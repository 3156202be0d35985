// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one table of settings and the only way to read the environment. Reading parses the variable
/// each time (control path only): who needs a value on the data path keeps it in its object.
#pragma once

#include <string>

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
#include "dapl/support/settings.def"
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
#include "dapl/support/settings.def"
#undef SETTING
};

/// @return whether the user gave this setting a value (even an empty one) that is obeyed here.
bool setting_is_set(Setting setting);
/// @return the user's text, else the default. For kText and kPath.
std::string setting_text(Setting setting);
/// @return the user's number (any base that strtol knows), else the default; a value that is no
/// number or out of range is reported once and replaced by the default. For kInteger.
long setting_integer(Setting setting);
/// For kFlag: set to anything but "", "0", "no", "false" or "off" means true.
bool setting_flag(Setting setting);

/// Warns, once per process and library, about environment variables with our own prefixes
/// (OPENDAT_, SOFTVERBS_) that are not in the table, with the nearest name. The prefixes of the
/// reference (DAT_, DAPL_) belong to others too.
void warn_about_unknown_settings();

}  // namespace support
