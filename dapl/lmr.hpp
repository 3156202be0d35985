// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Local memory region: a registration.
#pragma once

#include "dapl/list.hpp"
#include "dapl/object.hpp"
#include "dapl/pz.hpp"
#include "dapl/verbs/handles.hpp"

namespace dapl {

class Lmr final : public Object<Lmr>, public ListNode<Lmr> {
  public:
    static constexpr Kind kKind = Kind::kLmr;
    /// @param made the registration; asked: what the consumer wanted, as dat_lmr_query gives it
    /// back.
    Lmr(Ia& owner, Pz& zone, verbs::MemoryRegion made, const DAT_LMR_PARAM& asked)
        : ia(owner), pz(zone), region(std::move(made)), parameters(asked) {
        ++pz.users;
    }
    ~Lmr() {
        region.reset();  // before its zone may go
        --pz.users;
    }

    Ia& ia;
    Pz& pz;
    verbs::MemoryRegion region;
    DAT_LMR_PARAM parameters;
};

}  // namespace dapl
