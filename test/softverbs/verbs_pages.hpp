// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Helpers for tests of memory that peers map.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "test/softverbs/verbs_pair.hpp"

namespace test {

/// Number of mappings of this process whose file's name contains `name`.
inline int mappings_of(const std::string& name) {
    FILE* maps = fopen("/proc/self/maps", "re");
    int found = 0;
    char line[4400];
    while (fgets(line, sizeof line, maps))
        if (std::string(line).find(name) != std::string::npos) ++found;
    fclose(maps);
    return found;
}

inline Options no_buffer() {
    Options options;
    options.buffer = 4096;
    return options;
}

/// Whether peers may map the page at an address.
inline bool is_shared(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    FILE* maps = fopen("/proc/self/maps", "re");
    bool shared = false;
    char line[4400];
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin = 0, end = 0;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= wanted && wanted < end)
            shared = std::string(line).find("softverbs-pages") != std::string::npos;
    }
    fclose(maps);
    return shared;
}

}  // namespace test
