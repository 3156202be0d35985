// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// How the functions of this folder are defined: libsoftverbs.so alone holds them, beside what it
/// takes from the softverbs core.
#pragma once

#define EXPORTED extern "C" __attribute__((visibility("default")))
