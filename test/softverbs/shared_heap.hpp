// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Helpers for tests of the shared heap, which must be preloaded: the program executes itself again
/// with it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "providers/soft/softverbs/memory/shared_heap.h"

extern "C" __attribute__((weak)) const softverbs_heap_calls* softverbs_shared_heap();

namespace test {

/// Called before main(). The program's directory is two levels below the build tree's top.
inline void begin_with_the_heap(char** arguments) {
    if (softverbs_shared_heap) return;
    const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../..";
    const auto library = build / ".libs/libsoftverbs-heap.so";
    setenv("LD_PRELOAD", library.lexically_normal().c_str(), 1);
    execv("/proc/self/exe", arguments);
    _exit(126);
}

/// Whether all pages of the memory belong to the heap.
inline bool is_of_heap(const void* memory, std::size_t length) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory) & ~std::uintptr_t{4095};
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + length + 4095) & ~4095UL;
    return softverbs_shared_heap()->covers(begin, end) == 1;
}

/// Number of bytes that the page file holds between two addresses; holes do not count.
inline std::uint64_t bytes_in_file(const void* memory, std::size_t length) {
    const int file = softverbs_shared_heap()->descriptor();
    auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory));
    const off_t end = at + static_cast<off_t>(length);
    std::uint64_t found = 0;
    while ((at = lseek(file, at, SEEK_DATA)) >= 0 && at < end) {
        const off_t hole = std::min(lseek(file, at, SEEK_HOLE), end);
        found += static_cast<std::uint64_t>(hole - at);
        at = hole;
    }
    return found;
}

/// Maps private anonymous memory. @return nullptr on failure.
inline std::uint8_t* map_memory(std::size_t length, int protection = PROT_READ | PROT_WRITE) {
    void* memory = mmap(nullptr, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

}  // namespace test
