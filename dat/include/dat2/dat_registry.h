/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What a provider library uses to make itself known to libdat2. Programs do not need it.
 *
 * libdat2 loads the library that dat.conf names, calls its dat_provider_init(), which registers a
 * table of functions (struct dat_provider), and calls dat_provider_fini() after the last close.
 *
 * @source uDAPL 2.0 of the DAT Collaborative, the registry; who calls what, and when, as in the
 *     reference implementation, dapl 2.1.10.
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

/**
 * dat_provider_init(): registers the provider's table for the record of dat.conf that is given.
 * Called once for each record, when an IA of it is opened for the first time or again after the
 * last close. That it failed is seen by the missing registration.
 *
 * @param provider_info Name, version and thread safety to register.
 * @param instance_data The record's ia_params, without their quotes.
 */
typedef void(DAT_API* DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO*, const char*);

/**
 * dat_provider_fini(): takes the registration back, after the last close and before the library is
 * unloaded.
 *
 * @param provider_info As given to dat_provider_init().
 */
typedef void(DAT_API* DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO*);

/** Whether one IA can stand in for another. */
typedef enum dat_ha_relationship {
    DAT_HA_FALSE = 0,       /**< it cannot */
    DAT_HA_TRUE = 1,        /**< it can */
    DAT_HA_UNKNOWN = 2,     /**< nobody can tell */
    DAT_HA_CONFLICTING = 3, /**< they disagree */
    DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

/**
 * Makes a table of functions known under a name, version and thread safety. Called by a provider
 * from its dat_provider_init().
 *
 * @param provider The table, one structure, which must stay until it is removed; no slot is NULL.
 * @param provider_info Name, version and thread safety, one structure; copied.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 provider is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 provider_info is NULL.
 * @return DAT_PROVIDER_ALREADY_REGISTERED There is one of that name, version and thread safety.
 * @return DAT_INVALID_STATE The library is being unloaded.
 * @return DAT_NOT_IMPLEMENTED A program calls it, not a provider, and OPENDAT_API_PROFILE says aix.
 */
DAT_RETURN DAT_API dat_registry_add_provider(const DAT_PROVIDER* provider,
                                             const DAT_PROVIDER_INFO* provider_info);

/**
 * Takes back dat_registry_add_provider(). Called by a provider from its dat_provider_fini().
 *
 * @param provider The table that was registered.
 * @param provider_info Name, version and thread safety, one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 provider is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 provider_info is NULL.
 * @return DAT_PROVIDER_IN_USE An IA is open.
 * @return DAT_PROVIDER_NOT_FOUND|DAT_NAME_NOT_REGISTERED There is none.
 * @return DAT_INVALID_STATE The library is being unloaded.
 * @return DAT_NOT_IMPLEMENTED A program calls it, not a provider, and OPENDAT_API_PROFILE says aix.
 */
DAT_RETURN DAT_API dat_registry_remove_provider(const DAT_PROVIDER* provider,
                                                const DAT_PROVIDER_INFO* provider_info);

/**
 * Tells whether one IA can stand in for another. dat.conf says nothing about that: an IA is related
 * to itself, of two others it is not known.
 *
 * @param ia_name_1 Name in dat.conf, a string of at most 255 characters.
 * @param ia_name_2 Name in dat.conf, a string of at most 255 characters.
 * @param relationship Out: DAT_HA_TRUE for one IA with itself, else DAT_HA_UNKNOWN.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 ia_name_1 is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 ia_name_2 is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 relationship is NULL.
 * @return DAT_PROVIDER_NOT_FOUND|DAT_NAME_NOT_REGISTERED dat.conf lacks one of the names.
 * @return DAT_INVALID_STATE The library is being unloaded.
 */
DAT_RETURN DAT_API dat_registry_providers_related(const DAT_NAME_PTR ia_name_1,
                                                  const DAT_NAME_PTR ia_name_2,
                                                  DAT_HA_RELATIONSHIP* relationship);

#ifdef __cplusplus
}
#endif

#endif
