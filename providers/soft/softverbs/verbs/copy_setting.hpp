// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace softverbs {

/// SOFTVERBS_COPY: by which way payload reaches memory that is not mapped here.
enum class CopySetting {
    kAuto,       ///< process_vm_readv and writev, else the agent
    kProcessVm,  ///< nothing but these
    kAgent,      ///< the peer's service thread copies
};
CopySetting copy_setting();
/// SOFTVERBS_PLACEMENT: whether each message is placed in the posted buffer before its sender's
/// completion.
bool places_directly();
const char* to_text(CopySetting setting);

}  // namespace softverbs
