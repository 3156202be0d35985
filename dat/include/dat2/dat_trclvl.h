/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The trace levels of the DAT library and of a provider (DAPL), read and changed while the program
 * runs, and the named attributes of an IA and of an EP that lead there, as uDAPL on AIX has them.
 *
 * Where an IA has the attribute DAT_ATTR_VENDOR_EXTENSION, among the vendor attributes of
 * DAT_IA_ATTR and among the provider-specific ones of DAT_PROVIDER_ATTR, the values of
 * DAT_ATTR_DEBUG_QUERY and DAT_ATTR_DEBUG_MODIFY are the addresses of functions of the types below.
 * They work as long as the IA is open, with any DAT library. Printed with %s such a value is one
 * character.
 *
 * @source uDAPL of AIX, which has these two calls; see doc/aix.md.
 */
#ifndef _DAT_TRCLVL_H_
#define _DAT_TRCLVL_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of an IA: "true" where the EPs' attribute DAT_ATTR_DELAYED_ACK can be "true", else "false". */
#define DAT_ATTR_DELAYED_ACK_SUPPORTED "delayed_ack_supported"
/** Of an IA: "true"; it is there where the following ones are. */
#define DAT_ATTR_VENDOR_EXTENSION "vendor_extension"
/** Of an IA: "1.0". */
#define DAT_ATTR_VENDOR_EXT_VERSION "vendor_ext_version"
/** Of an IA: the address of a DAT_TRCLVL_QUERY_FUNC. */
#define DAT_ATTR_DEBUG_QUERY "debug_query"
/** Of an IA: the address of a DAT_TRCLVL_MODIFY_FUNC. */
#define DAT_ATTR_DEBUG_MODIFY "debug_modify"
/**
 * Of an EP, provider-specific, for dat_ep_modify() with
 * DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR: "true" and
 * a request completes only when its data is visible in the target's memory; "false", the default;
 * "read_back", on every device: a write completes when its last byte has been read back, which
 * needs memory that peers may read.
 */
#define DAT_ATTR_DELAYED_ACK "delayed_ack"

/** Levels go from 0 (nothing) to this. */
#define DAT_TRCLVL_MAX 10
/** The level that shows errors only. It has this name on AIX, like the next two. */
#define TRC_LVL_ERROR 1
/** The default, which also shows what happens once in a process or for a device. */
#define TRC_LVL_NORMAL 3
/** The level that also shows every call of the control path with its result. */
#define TRC_LVL_DETAIL 7

typedef DAT_RETURN (*DAT_TRCLVL_QUERY_FUNC)(DAT_IA_HANDLE ia_handle, int* dat_level,
                                            int* dapl_level);
typedef DAT_RETURN (*DAT_TRCLVL_MODIFY_FUNC)(DAT_IA_HANDLE ia_handle, int dat_level,
                                             int dapl_level);

/**
 * Tells the trace levels in force. They belong to the libraries, not to the IA, which only says
 * which provider is meant.
 *
 * @param ia_handle An IA of the provider.
 * @param dat_level Out: level of libdat2, 0 to DAT_TRCLVL_MAX; -1 where the library has none that
 *     can be asked for: it is not ours. May be NULL.
 * @param dapl_level Out: level of the provider, likewise. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 */
extern DAT_RETURN dat_trclvl_query(DAT_IA_HANDLE ia_handle, int* dat_level, int* dapl_level);

/**
 * Changes trace levels, for all IAs of the library and all threads, which see the change soon.
 * After an error both levels are as before.
 *
 * @param ia_handle An IA of the provider.
 * @param dat_level Level of libdat2, 0 to DAT_TRCLVL_MAX; -1 leaves it as it is.
 * @param dapl_level Level of the provider, likewise.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 dat_level is none of these.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 dapl_level is none of these.
 * @return DAT_NOT_IMPLEMENTED The provider is not ours, and has no level.
 */
extern DAT_RETURN dat_trclvl_modify(DAT_IA_HANDLE ia_handle, int dat_level, int dapl_level);

#ifdef __cplusplus
}
#endif

#endif
