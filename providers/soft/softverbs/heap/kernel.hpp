// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// System calls made without the C library's functions of those names, which this library replaces.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace softverbs::heap::kernel {

inline void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

inline void* map(void* address, std::size_t length, int protection, int flags, int fd,
                 std::uint64_t offset) {
    return pointer(static_cast<std::uint64_t>(
        syscall(SYS_mmap, address, length, protection, flags, fd, offset)));
}

inline int unmap(std::uint64_t address, std::size_t length) {
    return static_cast<int>(syscall(SYS_munmap, address, length));
}

inline int protect(std::uint64_t address, std::size_t length, int protection) {
    return static_cast<int>(syscall(SYS_mprotect, address, length, protection));
}

inline int advise(std::uint64_t address, std::size_t length, int advice) {
    return static_cast<int>(syscall(SYS_madvise, address, length, advice));
}

inline void* remap(std::uint64_t address, std::size_t length, std::size_t new_length, int flags,
                   void* target) {
    return pointer(static_cast<std::uint64_t>(
        syscall(SYS_mremap, address, length, new_length, flags, target)));
}

}  // namespace softverbs::heap::kernel
