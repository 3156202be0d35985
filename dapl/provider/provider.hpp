// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One registered IA name: what dat_provider_init was given, and the table that libdat2 calls
/// through.
#pragma once

#include "dapl/base/dat.hpp"
#include "dapl/provider/library.hpp"
#include "support/settings/api_profile.hpp"

namespace dapl {

/// Lives until the library is unloaded: word 0 of every live object points at its table.
struct Provider {
    DAT_PROVIDER table;  ///< first, so that a table pointer is a Provider pointer
    DAT_PROVIDER_INFO info;
    Library library;
    char parameters[DAT_NAME_MAX_LENGTH];  ///< ia_params of dat.conf, e.g. "eth0 0"
    support::ApiProfile profile;           ///< of the table and the attributes
    /// This provider's variant for adapter instances that share registrations; nullptr in that
    /// variant itself.
    const Provider* sharing;
};

inline const Provider& provider_of(const DAT_PROVIDER* table) {
    return *reinterpret_cast<const Provider*>(table);
}

/// @return the registered provider with this IA name, or nullptr. Thread safe. Defined in
/// dapl/ia/start_provider.cpp, above all decorators.
const Provider* find_provider(const char* name);

}  // namespace dapl
