/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * For programs: dat_registry_list_providers() comes with <dat/udat.h>. What providers call to
 * register themselves is not served in the form of DAT 1.2; see dat-1.2(7).
 */
#include <dat/udat.h>
