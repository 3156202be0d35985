// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Public service point: a listener.
#pragma once

#include <memory>

#include "dapl/cm/manager.hpp"
#include "dapl/list.hpp"
#include "dapl/object.hpp"

namespace dapl {

class Evd;
class Ia;

class Psp final : public Object<Psp>, public ListNode<Psp>, private cm::ListenUser {
  public:
    static constexpr Kind kKind = Kind::kPsp;
    Psp(Ia& owner, DAT_CONN_QUAL qualifier, Evd& requests_to);
    ~Psp();

    /// @return codes as dat_psp_create gives them.
    DAT_RETURN listen() EXCLUDES(connection_lock);
    /// No request comes any more once this has returned.
    void stop() EXCLUDES(connection_lock);

    Ia& ia;
    const DAT_CONN_QUAL conn_qual;
    Evd& evd;

  private:
    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock);

    std::unique_ptr<cm::Listener> listener_ GUARDED_BY(connection_lock);
};

/// Takes it off its IA's list and ends it. Requests that nobody has answered stay.
void close_abruptly(Psp& psp) EXCLUDES(connection_lock);

}  // namespace dapl
