// SPDX-License-Identifier: BSD-2-Clause
#include "broker/directory.hpp"

#include "support/base/private_directory.hpp"
#include "support/settings/settings.hpp"

namespace dapl::memory {

std::string directory_path(uid_t user) {
    const std::string chosen = support::setting_text(support::Setting::kRegistrationDirectory);
    return chosen.empty() ? support::PrivateDirectory::default_path(
                                support::PrivateDirectory::Purpose::kStatus, user)
                          : chosen;
}

}  // namespace dapl::memory
