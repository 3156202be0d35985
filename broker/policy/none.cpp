// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// As it is without a broker: who comes first keeps what it has.
#include "broker/policy/policies.hpp"

namespace dapl::memory::policy {

const DAT_REG_POLICY kNone{DAT_REG_POLICY_VERSION, "none", nullptr, nullptr, nullptr, nullptr};

}  // namespace dapl::memory::policy
