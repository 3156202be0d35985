// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// none: first come, first served, as without a broker; nothing is taken back.
#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {

const DAT_REG_POLICY kNone{DAT_REG_POLICY_VERSION, "none", nullptr, nullptr, nullptr, nullptr};

}  // namespace dapl::memory::policy
