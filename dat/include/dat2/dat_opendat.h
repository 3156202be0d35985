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

/** Operations for dat_extension_op(): on an IA, but for the last two. */
typedef enum dat_opendat_op {
    DAT_OPENDAT_MEMORY_ALLOC_OP = 0x4f440001, /**< DAT_VLEN size, void **address */
    DAT_OPENDAT_MEMORY_FREE_OP = 0x4f440002,  /**< void *address */
    /* Asked by libdat2 for dat2/dat_trclvl.h: */
    DAT_OPENDAT_TRACE_LEVEL_QUERY_OP = 0x4f440003, /**< int *dapl_level */
    DAT_OPENDAT_TRACE_LEVEL_MODIFY_OP = 0x4f440004, /**< int dapl_level */
    DAT_OPENDAT_LMR_FIND_OP = 0x4f440005, /**< DAT_LMR_CONTEXT context, DAT_LMR_HANDLE *lmr */
    /** On any object: DAT_UINT64 *id */
    DAT_OPENDAT_OBJECT_ID_OP = 0x4f440006,
    /** On an EP: plus a DAT_EXT_OP of dat_extensions.h, whose arguments follow. */
    DAT_OPENDAT_PROPOSED_OP = 0x4f440010
    /* 0x4f440014 is DAT_IB_SEND_IMMED_OP of dat_ib_extensions.h. */
} DAT_OPENDAT_OP;

/** Vendor attribute of an IA (DAT_IA_ATTR::vendor_attr): its id, in hexadecimal digits. */
#define DAT_OPENDAT_ATTR_OBJECT_ID "OPENDAT_OBJECT_ID"

/**
 * Which word of event_extension_data has the id of the object that an event is about, in events
 * other than completions, software events and those of extensions: of the EP of a connection event,
 * of the CR of a connection request, of the object of an asynchronous error. Under other libraries
 * the word has any value; the attribute OPENDAT_OBJECT_ID tells that it is an id.
 */
#define DAT_OPENDAT_EVENT_OBJECT_ID 7

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
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia was closed.
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
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia was closed.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_opendat_lmr_find(DAT_IA_HANDLE ia, DAT_LMR_CONTEXT context,
                                                  DAT_LMR_HANDLE* lmr) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_OPENDAT_LMR_FIND_OP, context, lmr);
}

/**
 * Tells the id of an object. Messages, traces, dat_trace(1) and dat_stat(1) name objects by their
 * ids, in hexadecimal, after the kind. No two objects of a machine have the same id, whatever
 * process, library or container they are in, and no later object gets it again.
 *
 * @param object An IA, PZ, LMR, RMR, EVD, CNO, EP, SRQ, CR or service point of any kind.
 * @param id Out: never 0; untouched on error.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 id is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 object is none, or has been freed.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_opendat_object_id(DAT_HANDLE object, DAT_UINT64* id) {
    return dat_extension_op(object, (DAT_EXTENDED_OP)DAT_OPENDAT_OBJECT_ID_OP, id);
}

#ifdef __cplusplus
}
#endif

#endif
