// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/time_scale.hpp"

#include "support/settings/settings.hpp"

namespace softverbs {

void set_time_scale() {
    time_scale = support::setting_integer(support::Setting::kSoftverbsTimeScale);
}

}  // namespace softverbs
