// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/copy_setting.hpp"

#include "support/settings/settings.hpp"

namespace softverbs {

CopySetting copy_setting() {
    const std::string text = support::setting_text(support::Setting::kSoftverbsCopy);
    if (text == "agent") return CopySetting::kAgent;
    return text == "process_vm" ? CopySetting::kProcessVm : CopySetting::kAuto;
}

bool places_directly() {
    return support::setting_text(support::Setting::kSoftverbsPlacement) == "direct";
}

const char* to_text(CopySetting setting) {
    switch (setting) {
        case CopySetting::kAgent:
            return "agent";
        case CopySetting::kProcessVm:
            return "process_vm";
        case CopySetting::kAuto:
            break;
    }
    return "auto";
}

}  // namespace softverbs
