/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * <dat2/dat_iw_extensions.h> by the path of other platforms; see <dat/udat.h>.
 */
#include <dat2/dat_iw_extensions.h>
