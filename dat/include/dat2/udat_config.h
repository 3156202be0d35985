/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What can be chosen when a program is compiled: the API version it asks for and whether it wants a
 * thread-safe provider. Define DAT_THREADSAFE before the first DAT header to change it.
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

/** Version that dat_ia_open() asks for. */
#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/** Thread safety that dat_ia_open() asks for; DAT_TRUE asks for a provider that is thread safe. */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

/** The names of the extension interface are always declared; programs test this macro. */
#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS 1
#endif

#endif
