/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * All of <dat2/udat.h> and nothing else, for programs written for other platforms' path.
 */
#include <dat2/udat.h>
