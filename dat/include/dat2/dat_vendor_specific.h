/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Room for the macros of a vendor's own; empty here, and kept because programs include it by name.
 */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif
