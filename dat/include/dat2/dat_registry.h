/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What a provider library uses to make itself known to libdat2. Programs do not need it.
 *
 * libdat2 loads the library that dat.conf names, calls its dat_provider_init(), which registers a table
 * of functions (struct dat_provider), and calls dat_provider_fini() after the last close.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Names of the two functions that a provider library exports. */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"

typedef void (DAT_API *DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO*, const char*);

typedef void (DAT_API *DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO*);

typedef enum dat_ha_relationship {
    DAT_HA_FALSE = 0,
    DAT_HA_TRUE = 1,
    DAT_HA_UNKNOWN = 2,
    DAT_HA_CONFLICTING = 3,
    DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

DAT_RETURN DAT_API dat_registry_add_provider(const DAT_PROVIDER* provider,
                                             const DAT_PROVIDER_INFO* provider_info);

DAT_RETURN DAT_API dat_registry_remove_provider(const DAT_PROVIDER* provider,
                                                const DAT_PROVIDER_INFO* provider_info);

DAT_RETURN DAT_API dat_registry_providers_related(const DAT_NAME_PTR ia_name_1,
                                                  const DAT_NAME_PTR ia_name_2,
                                                  DAT_HA_RELATIONSHIP* relationship);

#ifdef __cplusplus
}
#endif

#endif
