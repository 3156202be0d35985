// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The devices of rdma-core, for libdaplofa.
#pragma once

#include "providers/cma/device.hpp"

namespace dapl::cma {

extern const Devices kRdmaDevices;

}  // namespace dapl::cma
