/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The user-space DAT 1.2 interface in source, over that of DAT 2.0: the calls as 1.2 has them, and
 * the names that 2.0 has given up. Compiled programs are programs of DAT 2.0. Found as <dat/udat.h>
 * with the flags of `pkg-config --cflags dat-1.2`; dat-1.2(7) says what cannot be served.
 *
 * Arguments, codes, events and thread safety of each call are those of its namesake in
 * <dat2/dat.h> and <dat2/udat.h>, but for what is said here.
 */
#ifndef _DAT_1_2_UDAT_H_
#define _DAT_1_2_UDAT_H_

#include <dat2/dat_opendat.h>
#include <dat2/udat.h>

/* As <dat/udat.h> of DAT 2.0 does it. */
#ifdef DAT_EXT_PRIVILEGES
#include <dat2/dat_extensions.h>
#else
#define _DAT_EXTENSION_CALLS_ONLY
#include <dat2/dat_extensions.h>
#undef _DAT_EXTENSION_CALLS_ONLY
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What dat_cno_query() tells: in 1.2 a CNO has an agent and nothing else. */
typedef struct dat_1_2_cno_param {
    DAT_IA_HANDLE ia_handle;
    DAT_OS_WAIT_PROXY_AGENT agent; /**< all NULL where there is none */
} DAT_1_2_CNO_PARAM;

/**
 * dat_ia_openv() of 1.2: who asks for a version 1.x gets a provider of DAT 2.0, which is what
 * dat.conf has. dat_ia_open() goes through here too.
 */
static __inline__ DAT_RETURN dat_1_2_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_qlen,
                                              DAT_EVD_HANDLE* async_evd_handle,
                                              DAT_IA_HANDLE* ia_handle, DAT_UINT32 major,
                                              DAT_UINT32 minor, DAT_BOOLEAN is_thread_safe) {
    return dat_ia_openv(ia_name, async_evd_qlen, async_evd_handle, ia_handle,
                        major == 1 ? 2 : major, major == 1 ? 0 : minor, is_thread_safe);
}

/** dat_lmr_create() of 1.2: peers name addresses as the owner does (DAT_VA_TYPE_VA). */
static __inline__ DAT_RETURN dat_1_2_lmr_create(
    DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region_description,
    DAT_VLEN length, DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_priv,
    DAT_LMR_HANDLE* lmr_handle, DAT_LMR_CONTEXT* lmr_context, DAT_RMR_CONTEXT* rmr_context,
    DAT_VLEN* registered_length, DAT_VADDR* registered_address) {
    return dat_lmr_create(ia_handle, mem_type, region_description, length, pz_handle, mem_priv,
                          DAT_VA_TYPE_VA, lmr_handle, lmr_context, rmr_context, registered_length,
                          registered_address);
}

/**
 * dat_rmr_bind() of 1.2: the LMR is the one that the triplet's lmr_context names, which has to be
 * looked for (dat_opendat_lmr_find()). With a segment_length of 0 it unbinds.
 *
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 lmr_triplet is NULL, or names no LMR of the IA.
 * @return DAT_NOT_IMPLEMENTED The provider is none of OpenDAT's, and the call is no unbinding.
 */
static __inline__ DAT_RETURN dat_1_2_rmr_bind(DAT_RMR_HANDLE rmr_handle,
                                              const DAT_LMR_TRIPLET* lmr_triplet,
                                              DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
                                              DAT_RMR_COOKIE user_cookie,
                                              DAT_COMPLETION_FLAGS completion_flags,
                                              DAT_RMR_CONTEXT* rmr_context) {
    DAT_LMR_HANDLE lmr_handle = DAT_HANDLE_NULL;
    if (!lmr_triplet)
        return DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_PARAMETER | (DAT_RETURN)DAT_INVALID_ARG2;
    if (lmr_triplet->segment_length != 0) {
        DAT_RMR_PARAM rmr;
        DAT_RETURN code = dat_rmr_query(rmr_handle, DAT_RMR_FIELD_IA_HANDLE, &rmr);
        if (code == DAT_SUCCESS)
            code = dat_opendat_lmr_find(rmr.ia_handle, lmr_triplet->lmr_context, &lmr_handle);
        if (code != DAT_SUCCESS) return code;
    }
    return dat_rmr_bind(rmr_handle, lmr_handle, lmr_triplet, mem_priv, DAT_VA_TYPE_VA, ep_handle,
                        user_cookie, completion_flags, rmr_context);
}

/** dat_cr_reject() of 1.2: without private data. */
static __inline__ DAT_RETURN dat_1_2_cr_reject(DAT_CR_HANDLE cr_handle) {
    return dat_cr_reject(cr_handle, 0, NULL);
}

/** dat_cno_query() of 1.2. */
static __inline__ DAT_RETURN dat_1_2_cno_query(DAT_CNO_HANDLE cno_handle,
                                               DAT_CNO_PARAM_MASK cno_param_mask,
                                               DAT_1_2_CNO_PARAM* cno_param) {
    DAT_CNO_PARAM told;
    DAT_RETURN code = dat_cno_query(cno_handle, cno_param_mask, cno_param ? &told : NULL);
    if (code != DAT_SUCCESS) return code;
    cno_param->ia_handle = told.ia_handle;
    cno_param->agent.instance_data = NULL;
    cno_param->agent.proxy_agent_func = NULL;
    if (told.proxy_type == DAT_PROXY_TYPE_AGENT) cno_param->agent = told.proxy.agent;
    return DAT_SUCCESS;
}

#ifdef __cplusplus
}
#endif

/* -- the names of 1.2 ---------------------------------------------------------------- */

/* Not function-like, so that a program can take an address of them too. */
#define dat_ia_openv dat_1_2_ia_openv
#define dat_lmr_create dat_1_2_lmr_create
#define dat_rmr_bind dat_1_2_rmr_bind
#define dat_cr_reject dat_1_2_cr_reject
#define dat_cno_query dat_1_2_cno_query
#define DAT_CNO_PARAM DAT_1_2_CNO_PARAM

/** The interface that the program was written for. */
#undef DAT_VERSION_MAJOR
#undef DAT_VERSION_MINOR
#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

/** Of DAT_RMR_TRIPLET. */
#define target_address virtual_address

#define DAT_CNO_FIELD_AGENT DAT_CNO_FIELD_PROXY
/** No provider says so any more. */
#define DAT_PZ_SAME ((DAT_PZ_SUPPORT)2)

/* Which 2.0 has by a name that leads nowhere. */
#undef DAT_IA_FIELD_IA_MAX_DTO_PER_OP
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP

#endif
