// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The allocator's functions of a program, each of which calls one of ours first, and the end of
/// its children. For one source file of a library that is preloaded, or of a program: it defines
/// the functions in test::hooks.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace test::hooks {

void before_allocation();
void before_free();
/// The test programs' children end by _exit(), past all exit handlers.
void before_end();

}  // namespace test::hooks

#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
    test::hooks::before_allocation();
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    test::hooks::before_allocation();
    return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
    test::hooks::before_allocation();
    return __libc_realloc(memory, size);
}

void free(void* memory) {
    if (memory) test::hooks::before_free();
    __libc_free(memory);
}

void _exit(int status) {
    static auto* const real = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"));
    test::hooks::before_end();
    real(status);
    __builtin_unreachable();
}

}  // extern "C"
#pragma GCC visibility pop
