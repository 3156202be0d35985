// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One object serves as ibv_cq and ibv_cq_ex, one as ibv_qp and ibv_qp_ex: the headers let programs
/// convert either pointer to the other, so the longer structure begins like the shorter one.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

namespace softverbs {

/// The shorter structure, followed by space for the members that only the longer one has.
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
