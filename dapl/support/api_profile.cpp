// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/support/api_profile.hpp"

#include <atomic>

#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"

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
