// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Protection zone: a verbs protection domain.
#pragma once

#include <atomic>
#include <memory>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/memory/read_sink.hpp"
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

    /// @return the zone's sink, which the first call makes.
    support::Result<const ReadSink*> read_sink();

  private:
    std::unique_ptr<ReadSink> read_sink_;  ///< written under the IA's mutex, once
};

}  // namespace dapl
