// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that a provider library passes to the core when it starts, so that the core calls
/// no connection manager and no device by name.
#pragma once

#include <memory>
#include <string_view>

#include "dapl/base/dat.hpp"
#include "dapl/cm/manager.hpp"
#include "dapl/verbs/device_extensions.hpp"

namespace dapl {

struct Library {
    /// Opens the adapter that ia_params of dat.conf name, with the library's own kind of manager.
    /// Called without connection_lock. If it fails, it reports the reason to the user once, unless
    /// the code alone says it. The codes are those of dat_ia_open.
    support::Result<std::unique_ptr<cm::Manager>> (*open_manager)(std::string_view ia_name,
                                                                  std::string_view ia_params);
    verbs::DeviceExtensions device;
};

/// Implements each library's dat_provider_init: registers the name with libdat2.
/// @param library copied. @param info if nullptr, nothing is done.
void start_provider(const Library& library, const DAT_PROVIDER_INFO* info, const char* parameters);

}  // namespace dapl
