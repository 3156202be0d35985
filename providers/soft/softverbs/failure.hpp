// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Private between the software device and the core (dapl/verbs/device_extensions.hpp): why the
/// connection of a queue pair of soft0 ended.
#pragma once

#include "dapl/verbs/device_extensions.hpp"

extern "C" bool softverbs_failure_of(ibv_qp* qp, verbs::QueuePairFailure* failure);
