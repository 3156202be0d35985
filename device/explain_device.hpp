// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reports a choice of device, port and GID as facts.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "device/device.hpp"
#include "support/base/facts.hpp"
#include "support/settings/settings.hpp"

namespace dapl::cm {

/// @param choice as it was made on that device. @param source what named the device and port.
void explain_device(const support::Facts& facts, ibv_context* context, const DeviceChoice& choice,
                    const char* source);

/// @return where the setting's value comes from: `default`, `environment NAME` or FILE:LINE.
std::string source_of(support::Setting setting, const char* ia_name);
/// Reports the value of a setting that is in force.
void explain_setting(const support::Facts& facts, const char* subject, support::Setting setting,
                     const std::string& value);

}  // namespace dapl::cm
