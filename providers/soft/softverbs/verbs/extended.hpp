// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One object is an ibv_cq and an ibv_cq_ex, one an ibv_qp and an ibv_qp_ex: the headers let
/// programs take either pointer for the other, so the longer structure begins as the shorter does.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

namespace softverbs {

/// The shorter structure, with room behind it for what only the longer one has.
template <class Plain, class Extended>
class alignas(Extended) WithExtension : public Plain {
  public:
    WithExtension() : Plain{} {}
    Extended& extended() { return *reinterpret_cast<Extended*>(static_cast<Plain*>(this)); }

  private:
    static_assert(sizeof(Plain) < sizeof(Extended));
    std::byte behind_[sizeof(Extended) - sizeof(Plain)] = {};
};

using ExtendableCq = WithExtension<ibv_cq, ibv_cq_ex>;
using ExtendableQp = WithExtension<ibv_qp, ibv_qp_ex>;
static_assert(offsetof(ibv_cq_ex, comp_mask) == sizeof(ibv_cq));
static_assert(offsetof(ibv_cq_ex, comp_events_completed) ==
              offsetof(ibv_cq, comp_events_completed));
static_assert(offsetof(ibv_qp_ex, qp_base) == 0 &&
              offsetof(ibv_qp_ex, comp_mask) == sizeof(ibv_qp));

}  // namespace softverbs
