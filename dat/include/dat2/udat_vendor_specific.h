/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Room for the macros of a vendor's own; empty here, and kept because programs include it by name.
 */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat2/dat_vendor_specific.h>

#endif
