/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The table of a provider's functions is not served in the form of DAT 1.2; see dat-1.2(7).
 */
#error "the provider interface of DAT 1.2 is not served: see dat-1.2(7)"
