/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The faults that the checks find, each in a function that makes it if `wrong` is not 0.
 */
#ifndef TEST_CHECK_FAULTS_H
#define TEST_CHECK_FAULTS_H

struct fault {
    const char* name;
    void (*run)(int wrong);
};
extern const struct fault faults[]; /* the last one has no name */

#endif
