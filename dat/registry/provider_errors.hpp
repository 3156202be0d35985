// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Whether a provider itself reports why it does not open an IA. Our providers do, and know more;
/// for others there is no way to find out.
#pragma once

#include <dat2/udat.h>
// needs udat.h before it
#include <dat2/dat_registry.h>

#include "support/thread/thread_errors.hpp"

namespace dat {

/// @return the mark by which a provider of ours describes itself, nullptr for any other. Thread
/// safe.
const support::ProviderMark* mark_of(const DAT_PROVIDER& provider);

/// Counts the errors that the provider reports from this thread while this object lives. Only the
/// provider's ia_open may be called during that time.
class ProviderErrors {
  public:
    /// @param silenced the provider must print no error.
    ProviderErrors(const DAT_PROVIDER& provider, bool silenced);
    ~ProviderErrors();
    ProviderErrors(const ProviderErrors&) = delete;
    ProviderErrors& operator=(const ProviderErrors&) = delete;

    /// @return whether it has reported an error, or would have if it were not silenced.
    bool told() const { return errors_ && errors_->count != before_; }

  private:
    support::ThreadErrors* errors_;  ///< the provider library's; nullptr: not a provider of ours
    std::uint32_t before_ = 0;
};

}  // namespace dat
