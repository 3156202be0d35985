// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Nearly every test program includes these headers; they are compiled once (test/programs.mk).
/// To read them costs more than to compile most tests. Tests include what they use all the same:
/// clang compiles them without it.
#ifndef OPENDAT_TEST_SUPPORT_PRECOMPILED_HPP  // where it is compiled by itself, a pragma means
                                              // nothing
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
