// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Defines the functions of this folder. Only libsoftverbs.so contains them, in addition to the
/// softverbs core.
#pragma once

#define EXPORTED extern "C" __attribute__((visibility("default")))
