// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// USDT probes of the provider `opendat`, for bpftrace, SystemTap, perf and gdb: each is a `nop`
/// and a note in the library. All share one counter of listeners, which enables tracing of the data
/// path. Absent when the system had no <sys/sdt.h> at build time.
#pragma once

#include "config.h"

/// Each probe has a semaphore (as <sys/sdt.h> calls the counter) of its name.
#define OPENDAT_PROBES(X) \
    X(call)               \
    X(call_return)        \
    X(state) X(sent) X(received) X(post) X(completion) X(event) X(trigger) X(trigger_taken)

#ifdef HAVE_SYS_SDT_H
#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC 1
#include <sys/sdt.h>
#define DECLARE_SEMAPHORE(name) \
    extern "C" [[gnu::visibility("hidden")]] unsigned short opendat_##name##_semaphore;
OPENDAT_PROBES(DECLARE_SEMAPHORE)
#define PROBE(name, ...) STAP_PROBEV(opendat, name, __VA_ARGS__)
#else
#define PROBE(name, ...) static_cast<void>(0)
#endif
