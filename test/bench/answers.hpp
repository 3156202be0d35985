// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Error handling of the measuring programs: they report an unexpected result and exit.
#pragma once

#include <dat2/udat.h>
#include <errno.h>

#include <cstdio>
#include <cstdlib>

inline void succeed(DAT_RETURN code, const char* what) {
    if (code == DAT_SUCCESS) return;
    std::fprintf(stderr, "%s: %s failed: 0x%x\n", program_invocation_short_name, what, code);
    std::exit(1);
}

/// Waits for the next event, which must be of this number. @param patience timeout in microseconds.
inline DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char* what,
                      DAT_TIMEOUT patience) {
    DAT_EVENT event{};
    DAT_COUNT more = 0;
    succeed(dat_evd_wait(evd, patience, 1, &event, &more), what);
    if (event.event_number == number) return event;
    std::fprintf(stderr, "%s: %s: event 0x%x\n", program_invocation_short_name, what,
                 event.event_number);
    std::exit(1);
}
