// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the YAML module exports: one C function, so that libraries which never meet a YAML file are
/// not linked with a YAML library. Text goes in, events come out; what they mean is not decided
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
    OPENDAT_YAML_PROBLEM,  ///< the text is not YAML, or uses what opendat.yaml has not; the last
                           ///< event
};

struct OpendatYamlEvent {
    int kind;          ///< OpendatYamlKind
    int line, column;  ///< from 1; 0 where the event has no place of its own
    const char*
        text;     ///< of a scalar, or what the problem is; valid during the call, no NUL behind it
    size_t size;  ///< in bytes
};

/// @return 0 to go on, anything else to be told no more. Must not throw.
typedef int (*OpendatYamlSink)(void* context, const struct OpendatYamlEvent* event);

/// Thread safe; throws nothing. A change of the interface is a new name.
/// @return 0 when the whole text was read, else it was left at a problem or by the sink's wish.
int opendat_yaml_read_1(const char* text, size_t size, OpendatYamlSink sink, void* context);

}  // extern "C"

namespace support {
using YamlReader = decltype(&opendat_yaml_read_1);
inline constexpr char kYamlReaderName[] = "opendat_yaml_read_1";
}  // namespace support
