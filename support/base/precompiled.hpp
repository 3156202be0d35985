// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Headers that most sources of the libraries include, precompiled once (support/precompiled.mk):
/// reading them takes longer than compiling most sources. Sources still include what they use,
/// since clang compiles them without this file. A header that fewer than half of them include costs
/// more than it saves.
#ifndef OPENDAT_SUPPORT_PRECOMPILED_HPP  // #pragma once has no effect in a main file
#define OPENDAT_SUPPORT_PRECOMPILED_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#endif
