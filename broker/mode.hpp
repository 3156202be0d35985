// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registration modes of an adapter instance, and the terms of its table as its settings give them
/// (dat_registration(7)).
#pragma once

#include <string>

#include "broker/broker.hpp"

namespace dapl::memory {

enum class Mode {
    kOff,          ///< there is no broker
    kOn,           ///< entries are accounted, the extension works, plain calls never wait
    kTransparent,  ///< calls of unmodified programs wait; idle registrations are lent out
    kPerIo         ///< local memory is registered for each transfer
};

/// @return the mode that the settings of an IA name. Reports an unknown word once and takes it for
/// kOff.
Mode mode_of(const std::string& ia_name);

/// @return the mode's name in the settings.
const char* name_of(Mode mode);

/// Says how a bracket gives a peer access (brackets.hpp).
enum class BracketWay {
    kWindows,       ///< a window that is bound to the registration of the buffer
    kRegistrations  ///< a registration of its own
};

/// @return the way that the settings of an IA name. Reports an unknown word once.
/// @param has_windows whether the device has windows for endpoints; without them there is one way.
BracketWay bracket_way_of(const std::string& ia_name, bool has_windows);

/// @return the way's name in the settings.
const char* name_of(BracketWay way);

/// @return the terms that the settings of an IA give. @param device_entries capacity of its device,
/// used if the settings give none.
Terms terms_of(const std::string& ia_name, std::uint64_t device_entries);

}  // namespace dapl::memory
