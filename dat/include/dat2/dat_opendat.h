/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * What OpenDAT offers beyond DAT 2.0. Each call goes over dat_extension_op(), so that programs
 * which use it link with any DAT library: a provider that lacks an operation answers an error.
 *
 * @source OpenDAT, on the extension interface of uDAPL 2.0 (dat_extension_op()).
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
 * Gives memory that transfers reach best: on the software device soft0 other processes map it, so
 * that writes, reads and atomics to it, once it is registered, cost what copies in memory cost, and
 * no system call. Where the device has no memory of its own to give, it is ordinary memory.
 *
 * It can be used like any other, and stays until dat_opendat_memory_free() or the close of the IA.
 * A program that gets an error here should use malloc(3): providers of other implementations lack
 * the operation.
 *
 * @param ia An open IA.
 * @param size Bytes, at least 1.
 * @param address Out: memory that begins on a page and is filled with zeros; untouched on error.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 size is 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 address is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY There is not so much memory.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ia is no open IA.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_opendat_memory_alloc(DAT_IA_HANDLE ia, DAT_VLEN size,
                                                      void** address) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_MEMORY_ALLOC_OP, size,
                            address);
}

/**
 * Gives memory of dat_opendat_memory_alloc() back. What is registered of it is to be freed with
 * dat_lmr_free() before.
 *
 * @param ia The IA that it came from.
 * @param address Where the memory begins.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 address is none that dat_opendat_memory_alloc()
 *     has given on this IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ia is no open IA.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_opendat_memory_free(DAT_IA_HANDLE ia, void* address) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_MEMORY_FREE_OP, address);
}

/**
 * Tells the LMR that a context names, for programs which keep contexts alone. What it takes grows
 * with the number of LMRs of the IA. No other thread may free the LMR meanwhile.
 *
 * @param ia The IA.
 * @param context What dat_lmr_create() gave as lmr_context on the same IA.
 * @param lmr Out: the LMR; untouched on error.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 No LMR of the IA has this context.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lmr is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ia is no open IA.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_opendat_lmr_find(DAT_IA_HANDLE ia, DAT_LMR_CONTEXT context,
                                                  DAT_LMR_HANDLE* lmr) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_LMR_FIND_OP, context, lmr);
}

#ifdef __cplusplus
}
#endif

#endif
