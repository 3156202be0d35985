// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The half of the checks that is about the provider: each code that a call returns is one that
/// the call's page names, and each event is told once. For our own tests (OPENDAT_CHECK=audit).
#pragma once

#include "check/dat/checked.hpp"

namespace check::dat {

/// Puts a comparison of their codes around all functions of a table.
void audit(DAT_PROVIDER& table);

/// The part of one call that may take an event of an EVD: it ends when the event was entered.
/// Does nothing unless the provider is audited.
class AuditedTaking {
  public:
    /// No lock may be held.
    AuditedTaking(const Checked& checked, DAT_EVD_HANDLE evd);
    /// Looks for transfers that have been lost, if the EVD was empty. @param code of the call.
    void end(const char* call, DAT_RETURN code) const;

  private:
    const Checked& checked_;
    DAT_EVD_HANDLE evd_;
    bool is_alone_ = false;  ///< no other thread may be taking an event
};

/// Compares an event of an endpoint's connection with those before.
void audit_connection(const Checked& checked, const char* call, const DAT_EVENT& event);
/// A new connection of the endpoint may begin.
void expect_connection(DAT_EP_HANDLE ep);
/// Completions of transfers that are not followed may come.
void leave_unfollowed(DAT_EP_HANDLE ep);

}  // namespace check::dat
