// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Where the value in force of each setting came from, and what was set and is not obeyed: for the
/// tools that show it. Thread safe.
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
    std::string text;  ///< as written; the default where nothing is set
    SettingOrigin origin = SettingOrigin::kDefault;
    std::string where;   ///< "default", "environment" or FILE:LINE
    int force = 0;       ///< compares values' origins; 0 is the default
    bool of_ia = false;  ///< a file says it of this IA alone
};

/// The value in force, for one IA if that is named. What the readers of settings.hpp answer is this
/// text, read as the setting's kind.
SettingValue setting_value(Setting setting, std::string_view ia_name = {});

enum class UnusedBecause {
    kOverridden,   ///< something of more force sets it too
    kSetuid,       ///< not obeyed in set-uid programs, and this is one
    kBadValue,     ///< no value of this setting
    kUnknownName,  ///< no setting has this name
    kUnknownIa,    ///< there is no IA of this name
    kSuperseded,   ///< another setting that says the same in another way is set
    kFileNotRead,  ///< the whole file; `name` is empty
};
/// A word for documents: "overridden", "set-uid", "bad-value", ...
const char* to_text(UnusedBecause because);

struct UnusedSetting {
    std::string name;     ///< as the user wrote it
    std::string ia_name;  ///< "" where it is not said of one IA
    std::string value;
    std::string where;  ///< "environment", FILE:LINE or FILE
    UnusedBecause because;
    std::string explanation;  ///< for people: "FILE:LINE goes before it"
};

/// Everything that was set and is not obeyed in this process.
/// @param is_ia whether there is an IA of that name.
std::vector<UnusedSetting> unused_settings(const std::function<bool(std::string_view)>& is_ia);

/// Two ways to say one thing: where both are set, by sources of the same force, `by` holds.
struct Superseding {
    Setting setting, by;
};
std::span<const Superseding> superseding_settings();

}  // namespace support
