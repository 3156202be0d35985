// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Public service point: a listener.
#pragma once

#include "dapl/list.hpp"
#include "dapl/object.hpp"

namespace dapl {

class Ia;

class Psp : public Object<Psp>, public ListNode<Psp> {
  public:
    static constexpr Kind kKind = Kind::kPsp;
    explicit Psp(Ia& owner) : ia(owner) {}
    Ia& ia;
};

/// Ends a service point with the requests that nobody has answered. For the closing of its IA.
void close_abruptly(Psp& psp);

}  // namespace dapl
