// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What an adapter instance does with registrations (dat_registration(7)).
#pragma once

#include <string>

#include "broker/broker.hpp"

namespace dapl::memory {

enum class Mode {
    kOff,          ///< nothing of the broker exists
    kOn,           ///< entries are accounted, the extension works, nobody waits unasked
    kTransparent,  ///< unmodified programs wait, and lend what is idle
    kPerIo         ///< local memory is registered for each transfer
};

/// @param ia_name whose setting. A word that is no mode is told once and means kOff.
Mode mode_of(const std::string& ia_name);

/// @return the word for it.
const char* name_of(Mode mode);

/// As the settings of an IA say. @param device_entries what its device has.
Terms terms_of(const std::string& ia_name, std::uint64_t device_entries);

}  // namespace dapl::memory
