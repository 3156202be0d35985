// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What is known once the library has started, before any other constructor of the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace softverbs::heap {

/// Of a loaded library: where its code and data are.
struct Span {
    std::uintptr_t begin = 0;
    std::uintptr_t length = 0;

    bool contains(std::uintptr_t address) const { return address - begin < length; }
};

/// The functions that this library stands in front of.
struct Next {
    pid_t (*fork)();
    pid_t (*_Fork)();
    int (*close)(int fd);
    int (*dup2)(int from, int to);
    std::size_t (*usable_size)(void* memory);
};

struct Started {
    Span c_library;
    Span linker;
    Next next;
    pid_t pid;
};
extern Started started;

/// What the C library and the dynamic linker keep for themselves is ordinary memory: a child of
/// fork() writes to it (locks of streams, for one) before its copy of the heap is its own.
inline bool is_of_system(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return started.c_library.contains(address) || started.linker.contains(address);
}

}  // namespace softverbs::heap
