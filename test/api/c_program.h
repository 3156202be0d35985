/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * For test programs in C, each written to one interface, whose header it includes before this one:
 * a list of tests in TAP, and what every such program does with DAT.
 */
#ifndef TEST_API_C_PROGRAM_H
#define TEST_API_C_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#define DEADLINE 120      /* seconds */
#define PATIENCE 60000000 /* microseconds */

static int number;

static void fail(const char* what) {
    printf("# %s\n", what);
    fflush(stdout);
    exit(1);
}

static void must(DAT_RETURN code, const char* what) {
    if (code == DAT_SUCCESS) return;
    printf("# %s: 0x%08x\n", what, (unsigned)code);
    fail(what);
}

static void told(int good, const char* what) {
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, what);
    fflush(stdout);
}

static DAT_EVENT next(DAT_EVD_HANDLE evd) {
    DAT_EVENT event;
    DAT_COUNT more;
    must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), "dat_evd_wait");
    return event;
}

static DAT_DTO_COOKIE cookie(DAT_UINT64 value) {
    DAT_DTO_COOKIE result;
    result.as_64 = value;
    return result;
}

#endif
