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
#include <unistd.h>

/* Seconds, as TEST_TIME_SCALE has them on this machine. */
static unsigned deadline(unsigned seconds) {
    const char* scale = getenv("TEST_TIME_SCALE");
    const double factor = scale ? atof(scale) : 1;
    return (unsigned)(seconds * (factor > 1 ? factor : 1));
}

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
    must(dat_evd_wait(evd, deadline(60) * 1000000, 1, &event, &more), "dat_evd_wait");
    return event;
}

static DAT_DTO_COOKIE cookie(DAT_UINT64 value) {
    DAT_DTO_COOKIE result;
    result.as_64 = value;
    return result;
}

/* Starts the program anew with the libraries just built and a fabric of its own, whose directory
 * the variable `own` of the environment names then. The library reads the other two variables, so
 * they are set before it is loaded. */
static void start_again(char** argv, const char* own) {
    static char fabric[] = "/tmp/c_program.XXXXXX", file[4096];
    const char* build = getenv("TOP_BUILDDIR");
    if (!getenv("DAT_OVERRIDE")) {
        snprintf(file, sizeof file, "%s/test/api/dat.conf", build ? build : ".");
        setenv("DAT_OVERRIDE", file, 1);
    }
    if (!mkdtemp(fabric)) fail("mkdtemp");
    setenv("SOFTVERBS_FABRIC", fabric, 1);
    setenv(own, fabric, 1);
    execv("/proc/self/exe", argv);
    fail("execv");
}

#endif
