/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A header of DAT 1.2: what it has comes with all of the interface.
 */
#include <dat/udat.h>
