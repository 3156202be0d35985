/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What OpenDAT offers beyond DAT 2.0. Each call goes over dat_extension_op(), so that programs
 * which use it link with any DAT library: a provider that lacks an operation answers an error.
 */
#ifndef _DAT_OPENDAT_H_
#define _DAT_OPENDAT_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Operations for dat_extension_op(): on an IA, but for the last. */
typedef enum dat_opendat_op {
    DAT_OPENDAT_MEMORY_ALLOC_OP = 0x4f440001, /**< DAT_VLEN size, void **address */
    DAT_OPENDAT_MEMORY_FREE_OP = 0x4f440002,  /**< void *address */
    /* Asked by libdat2 for dat2/dat_trclvl.h: */
    DAT_OPENDAT_TRACE_LEVEL_QUERY_OP = 0x4f440003, /**< int *dapl_level */
    DAT_OPENDAT_TRACE_LEVEL_MODIFY_OP = 0x4f440004, /**< int dapl_level */
    DAT_OPENDAT_LMR_FIND_OP = 0x4f440005, /**< DAT_LMR_CONTEXT context, DAT_LMR_HANDLE *lmr */
    /** On an EP: plus a DAT_EXT_OP of dat_extensions.h, whose arguments follow. */
    DAT_OPENDAT_PROPOSED_OP = 0x4f440010
    /* 0x4f440014 is DAT_IB_SEND_IMMED_OP of dat_ib_extensions.h. */
} DAT_OPENDAT_OP;

/** A privilege for dat_lmr_create() and dat_rmr_bind(). */
typedef enum dat_opendat_mem_priv_flags {
    /** Beside DAT_MEM_PRIV_REMOTE_READ_FLAG: atomic operations too, where the device has them and
     *  the region may be written on this side. */
    DAT_OPENDAT_MEM_PRIV_ATOMIC_WITH_READ = 0x80
} DAT_OPENDAT_MEM_PRIV_FLAGS;

/**
 * Memory that transfers reach best: on the software device soft0 other processes map it, so that
 * writes, reads and atomics to it, once it is registered, cost what copies in memory cost. Where
 * the device has no memory of its own to give, ordinary memory that begins on a page.
 *
 * @param size in bytes. @param address out: zeroed memory; unchanged on error. It can be used like
 *     any other, and stays until dat_opendat_memory_free() or the close of the IA.
 * @return DAT_SUCCESS; DAT_INVALID_PARAMETER with ARG2 (no size) or ARG3 (NULL);
 *     DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_MEMORY; DAT_INVALID_HANDLE. Providers without
 * the operation answer with DAT_NOT_IMPLEMENTED or another error: use malloc() then. Thread safe.
 */
static __inline__ DAT_RETURN dat_opendat_memory_alloc(DAT_IA_HANDLE ia, DAT_VLEN size,
                                                      void** address) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_MEMORY_ALLOC_OP, size,
                            address);
}

/**
 * Gives it back. What is registered of it is to be freed with dat_lmr_free() before.
 *
 * @param address as dat_opendat_memory_alloc() gave it on the same IA.
 * @return DAT_SUCCESS; DAT_INVALID_PARAMETER with ARG2 for any other address; DAT_INVALID_HANDLE.
 *     Thread safe.
 */
static __inline__ DAT_RETURN dat_opendat_memory_free(DAT_IA_HANDLE ia, void* address) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_MEMORY_FREE_OP, address);
}

/**
 * Tells the LMR that a context names, for programs which keep contexts alone. What it takes grows
 * with the number of LMRs of the IA.
 *
 * @param ia The IA. @param context as dat_lmr_create() gave it on the same IA.
 * @param lmr out; unchanged on error.
 * @return DAT_SUCCESS; DAT_INVALID_PARAMETER with ARG2 (no LMR of the IA has this context) or ARG3
 *     (NULL); DAT_INVALID_HANDLE. Providers without the operation answer with DAT_NOT_IMPLEMENTED
 *     or another error. Thread safe, but for an LMR that is freed meanwhile.
 */
static __inline__ DAT_RETURN dat_opendat_lmr_find(DAT_IA_HANDLE ia, DAT_LMR_CONTEXT context,
                                                  DAT_LMR_HANDLE* lmr) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_LMR_FIND_OP, context, lmr);
}

#ifdef __cplusplus
}
#endif

#endif
