// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Headers that nearly every test program includes, precompiled once (test/programs.mk): reading
/// them takes longer than compiling most tests. Tests still include what they use, since clang
/// compiles them without this file.
#ifndef OPENDAT_TEST_SUPPORT_PRECOMPILED_HPP  // #pragma once has no effect in a main file
#define OPENDAT_TEST_SUPPORT_PRECOMPILED_HPP

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test/support/process.hpp"

#endif
