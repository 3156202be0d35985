// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/api_profile.hpp"

#include <atomic>

#include "support/base/report.hpp"
#include "support/settings/settings.hpp"

namespace support {

ApiProfile api_profile() {
    static std::atomic<bool> told{false};
    const std::string wanted = setting_text(Setting::kApiProfile);
    if (wanted == "aix") return ApiProfile::kAix;
    if (wanted != "full" && !told.exchange(true))
        report<kBadSettingValue>(setting_label(Setting::kApiProfile), wanted, "full or aix",
                                 "full");
    return ApiProfile::kFull;
}

}  // namespace support
