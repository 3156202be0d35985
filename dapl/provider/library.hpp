// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that a provider library gives the core when it starts: the core calls no
/// connection manager and no device by name.
#pragma once

#include <memory>
#include <string_view>

#include "dapl/base/dat.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/verbs/device_extensions.hpp"

namespace dapl {

struct Library {
    /// Opens the adapter that ia_params of dat.conf name, with the library's own kind of manager.
    /// Called without connection_lock. Tells the user once why it fails, where the code alone does
    /// not say it; codes as dat_ia_open gives them.
    support::Result<std::unique_ptr<cm::Manager>> (*open_manager)(std::string_view ia_name,
                                                                  std::string_view ia_params);
    verbs::DeviceExtensions device;
};

/// What each library's dat_provider_init does: registers the name with libdat2.
/// @param library copied. @param info may be nullptr: then nothing is done.
void start_provider(const Library& library, const DAT_PROVIDER_INFO* info, const char* parameters);

}  // namespace dapl
