// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports where the value in force of each setting came from, and what was set but is not obeyed:
/// for the tools that show it. Thread safe.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/settings/settings.hpp"

namespace support {

enum class SettingOrigin { kDefault, kEnvironment, kFile };

struct SettingValue {
    std::string text;  ///< as written; the default when nothing is set
    SettingOrigin origin = SettingOrigin::kDefault;
    std::string where;   ///< "default", "environment" or FILE:LINE
    int force = 0;       ///< rank of the value's origin, for comparison; 0 is the default
    bool of_ia = false;  ///< a file sets it for this IA alone
};

/// @return the value in force, for one IA if that is named. The readers of settings.hpp parse this
/// text as the setting's kind.
SettingValue setting_value(Setting setting, std::string_view ia_name = {});

enum class UnusedBecause {
    kOverridden,   ///< a source of more force sets it too
    kSetuid,       ///< not obeyed in set-uid programs, and this is one
    kBadValue,     ///< not a valid value of this setting
    kUnknownName,  ///< no setting has this name
    kUnknownIa,    ///< there is no IA of this name
    kSuperseded,   ///< another setting for the same thing is set
    kFileNotRead,  ///< the whole file; `name` is empty
};
/// @return a word for documents: "overridden", "set-uid", "bad-value", ...
const char* to_text(UnusedBecause because);

struct UnusedSetting {
    std::string name;     ///< as the user wrote it
    std::string ia_name;  ///< "" when it is not for one IA
    std::string value;
    std::string where;  ///< "environment", FILE:LINE or FILE
    UnusedBecause because;
    std::string explanation;  ///< for people: "FILE:LINE goes before it"
};

/// @return everything that was set and is not obeyed in this process.
/// @param is_ia whether there is an IA of that name.
std::vector<UnusedSetting> unused_settings(const std::function<bool(std::string_view)>& is_ia);

/// Two settings for one thing: when both are set, by sources of the same force, `by` holds.
struct Superseding {
    Setting setting, by;
};
std::span<const Superseding> superseding_settings();

}  // namespace support
