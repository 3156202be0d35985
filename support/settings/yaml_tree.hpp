// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A YAML text as a tree in which each node knows its place. The caller passes the parser: the
/// module's, or the one that a tool is linked with.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "support/yaml/reader.hpp"

namespace support {

struct YamlNode {
    enum class Kind { kScalar, kNull, kMap, kList };
    Kind kind = Kind::kNull;
    int line = 0, column = 0;  ///< from 1
    std::string text;          ///< for a scalar, without its quotes
    /// The items of a list; for a map: name, value, name, value.
    std::vector<YamlNode> children;
};

/// Why the whole text cannot be used.
struct YamlFault {
    int line, column;
    std::string text;
};

/// Accepts any bytes. An empty text is a kNull. Throws only std::bad_alloc.
tl::expected<YamlNode, YamlFault> read_yaml(std::string_view text, YamlReader reader);

}  // namespace support
