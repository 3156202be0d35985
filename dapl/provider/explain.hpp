// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A dry run of opening an adapter instance.
#pragma once

#include "support/base/facts.hpp"

namespace dapl {

/// Implements support::ProviderMark::explain.
void explain(const char* ia_name, const char* ia_params, const support::FactSink& sink);

}  // namespace dapl
