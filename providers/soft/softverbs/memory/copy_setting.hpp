// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace softverbs {

/// SOFTVERBS_COPY: how payload is copied to and from a peer's memory that is not mapped here.
enum class CopySetting {
    kAuto,       ///< process_vm_readv and process_vm_writev, else the agent
    kProcessVm,  ///< process_vm alone
    kAgent,      ///< the peer's service thread copies
};
CopySetting copy_setting();
/// SOFTVERBS_PLACEMENT: whether each message is placed in the posted buffer before its sender's
/// completion.
bool places_directly();
const char* to_text(CopySetting setting);

}  // namespace softverbs
