// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// For a test program whose children exit with objects that are not freed: turns the leak sanitizer
/// off in them. At their exit it would report what the parent allocated, to which a child has no
/// reference, and what only the pools of handles refer to (dapl/base/pool.cpp), which it does not
/// search. Included once in a program.
#pragma once

#include <unistd.h>

static const pid_t test_process = getpid();

extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
    return getpid() != test_process;
}
