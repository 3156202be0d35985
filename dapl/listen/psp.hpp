// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Public service point: takes any number of requests. Each is accepted with an EP of the
/// consumer's choice, or with one that the provider makes for it.
#pragma once

#include "dapl/listen/service_point.hpp"

namespace dapl {

class Psp final : public Object<Psp>, public ServicePoint {
  public:
    static constexpr Kind kKind = Kind::kPsp;
    Psp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to, DAT_PSP_FLAGS who_makes_the_ep)
        : ServicePoint(kKind, owner, qualifier, requests_to), flags(who_makes_the_ep) {}

    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock);
    DAT_HANDLE self() const override { return handle(); }
    bool is_taking() const override REQUIRES(connection_lock) { return true; }

    const DAT_PSP_FLAGS flags;
};

void end(Psp& psp) REQUIRES(connection_lock);

}  // namespace dapl
