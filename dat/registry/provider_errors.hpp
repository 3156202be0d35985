// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Whether a provider itself tells the user why it does not open an IA. Ours do, and know more;
/// others do not let us know.
#pragma once

#include <dat2/udat.h>
// needs udat.h before it
#include <dat2/dat_registry.h>

#include "support/thread/thread_errors.hpp"

namespace dat {

/// @return what a provider of ours tells of itself, nullptr of any other. Thread safe.
const support::ProviderMark* mark_of(const DAT_PROVIDER& provider);

/// Watches what the provider tells from this thread while it lives. Nothing but the provider's
/// ia_open is to be called meanwhile.
class ProviderErrors {
  public:
    /// @param silenced the provider is to print no error.
    ProviderErrors(const DAT_PROVIDER& provider, bool silenced);
    ~ProviderErrors();
    ProviderErrors(const ProviderErrors&) = delete;
    ProviderErrors& operator=(const ProviderErrors&) = delete;

    /// @return whether it has told an error, or would have when it is silenced.
    bool told() const { return errors_ && errors_->count != before_; }

  private:
    support::ThreadErrors* errors_;  ///< the provider library's; nullptr: it is not ours
    std::uint32_t before_ = 0;
};

}  // namespace dat
