// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The facts that the library determines when it starts, before any other constructor of the
/// process runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace softverbs::heap {

/// The addresses of a loaded library's code and data.
struct Span {
    std::uintptr_t begin = 0;
    std::uintptr_t length = 0;

    bool contains(std::uintptr_t address) const { return address - begin < length; }
};

/// The functions that this library interposes.
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

/// Whether the caller is the C library or the dynamic linker. What these keep for themselves is
/// ordinary memory: a child of fork() writes to it (for example to locks of streams) before its
/// copy of the heap is its own.
inline bool is_of_system(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return started.c_library.contains(address) || started.linker.contains(address);
}

}  // namespace softverbs::heap
