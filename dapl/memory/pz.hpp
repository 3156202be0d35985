// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Protection zone: a verbs protection domain.
#pragma once

#include <atomic>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/verbs/handles.hpp"

namespace dapl {

class Ia;

class Pz final : public Object<Pz>, public ListNode<Pz> {
  public:
    static constexpr Kind kKind = Kind::kPz;
    Pz(Ia& owner, verbs::ProtectionDomain made) : ia(owner), domain(std::move(made)) {}

    Ia& ia;
    verbs::ProtectionDomain domain;
    std::atomic<int> users{0};  ///< EPs, LMRs, RMRs and SRQs in this zone, which outlives them
};

}  // namespace dapl
