/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * <dat2/udat.h>, for programs written for other platforms' path, with the extension calls as
 * programs of 2005 had them there: <dat2/dat_extensions.h>. Privileges of memory are those of
 * <dat2/udat.h> unless DAT_EXT_PRIVILEGES is defined.
 */
#include <dat2/udat.h>

#ifdef DAT_EXT_PRIVILEGES
#include <dat2/dat_extensions.h>
#else
#define _DAT_EXTENSION_CALLS_ONLY
#include <dat2/dat_extensions.h>
#undef _DAT_EXTENSION_CALLS_ONLY
#endif
