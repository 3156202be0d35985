// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The YAML module exports one C function, so that libraries which never read a YAML file are
/// not linked with a YAML library. Takes a text and reports events; what they mean is not decided
/// here.
#pragma once

#include <stddef.h>

extern "C" {

enum OpendatYamlKind {
    OPENDAT_YAML_MAP_BEGIN = 1,
    OPENDAT_YAML_MAP_END,
    OPENDAT_YAML_LIST_BEGIN,
    OPENDAT_YAML_LIST_END,
    OPENDAT_YAML_SCALAR,
    OPENDAT_YAML_NULL,
    OPENDAT_YAML_PROBLEM,  ///< not YAML, or a feature that opendat.yaml lacks; the last event
};

struct OpendatYamlEvent {
    int kind;          ///< OpendatYamlKind
    int line, column;  ///< from 1; 0 when the event has no position
    const char* text;  ///< scalar or problem; valid during the call, not NUL-terminated
    size_t size;       ///< in bytes
};

/// @return 0 to continue, anything else to get no more events. Must not throw.
typedef int (*OpendatYamlSink)(void* context, const struct OpendatYamlEvent* event);

/// Thread safe; throws nothing. A change of the interface gets a new name.
/// @return 0 when the whole text was read, nonzero when a problem or the sink stopped it.
int opendat_yaml_read_1(const char* text, size_t size, OpendatYamlSink sink, void* context);

}  // extern "C"

namespace support {
using YamlReader = decltype(&opendat_yaml_read_1);
inline constexpr char kYamlReaderName[] = "opendat_yaml_read_1";
}  // namespace support
