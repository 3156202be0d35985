// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// malloc() and its like and _exit() of a program, each of which calls a hook first. Include this
/// in one source file of a preloaded library or of a program, and define the functions in
/// test::hooks there.
#pragma once

#include <dlfcn.h>

#include <cstddef>

namespace test::hooks {

void before_allocation();
void before_free();
/// Called by _exit(), by which the children of test programs end without running exit handlers.
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
