/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Immediate data and atomic operations under the names of the first public proposal of them
 * (OpenIB mailing list, December 2005), for programs that were written to it. New programs use
 * dat_ib_extensions.h, which other DAT libraries have as well; what both offer, and what happens
 * when their calls are mixed, is told in doc/extensions.md.
 *
 * DAT_EXTENSION_EVENT is the number that events carry. A program that includes this header is in
 * the proposal's mode: memory that peers may read is open to their atomic operations too, since the
 * proposal has no privilege for those. <dat/udat.h> brings the calls without the mode, and with it
 * where DAT_EXT_PRIVILEGES is defined.
 *
 * @source The first public proposal of extensions to DAT, on the mailing list of OpenIB in December
 *     2005; doc/extensions.md.
 */
#ifndef _DAT_EXTENSIONS_H_
#define _DAT_EXTENSIONS_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 0 until the process has opened an IA that has extensions, 1 from then on. Not to be written. */
extern int dat_extensions;

/** Operations for dat_extension(). */
typedef enum dat_ext_op {
    DAT_EXT_RDMA_WRITE_IMMED = 0,
    DAT_EXT_RECV_IMMED = 1,
    DAT_EXT_FETCH_AND_ADD = 2,
    DAT_EXT_CMP_AND_SWAP = 3
} DAT_EXT_OP;

/** What an event tells of: extension_data.type of its data. */
typedef enum dat_ext_event_type {
    DAT_EXT_RDMA_WRITE_IMMED_STATUS = 1, /**< a write of this side */
    DAT_EXT_RECV_NO_IMMED = 2,           /**< a receive that took no immediate data, or failed */
    DAT_EXT_RECV_IMMED_DATA_EVENT = 3,   /**< one that did: it is in val.immed.data */
    DAT_EXT_RECV_IMMED_DATA_PAYLOAD = 4, /**< the same, and it is in the receive's memory (iWARP) */
    DAT_EXT_FETCH_AND_ADD_STATUS = 5,
    DAT_EXT_CMP_AND_SWAP_STATUS = 6
} DAT_EXT_EVENT_TYPE;

/** For dat_ep_post_rdma_write_immed(); bits. */
typedef enum dat_ext_flags {
    DAT_EXT_WRITE_IMMED_FLAG = 0x1,  /**< with the number; without it, a write and no more */
    DAT_EXT_WRITE_CONFIRM_FLAG = 0x2 /**< complete only when the data has been placed at the peer */
} DAT_EXT_FLAGS;

/** Names of the attributes that say what a provider has, "TRUE" or "FALSE". */
#define DAT_EXT_ATTR "DAT_EXTENSION_INTERFACE"
#define DAT_EXT_ATTR_RDMA_WRITE_IMMED "DAT_EXT_RDMA_WRITE_IMMED"
#define DAT_EXT_ATTR_RECV_IMMED "DAT_EXT_RECV_IMMED"
#define DAT_EXT_ATTR_RECV_IMMED_EVENT "DAT_EXT_RECV_IMMED_EVENT"
#define DAT_EXT_ATTR_RECV_IMMED_PAYLOAD "DAT_EXT_RECV_IMMED_PAYLOAD"
#define DAT_EXT_ATTR_FETCH_AND_ADD "DAT_EXT_FETCH_AND_ADD"
#define DAT_EXT_ATTR_CMP_AND_SWAP "DAT_EXT_CMP_AND_SWAP"

/** The number that events carry. */
#define DAT_EXTENSION_EVENT DAT_IB_EXTENSION_RANGE_BASE

/* -- transfers ----------------------------------------------------------------------- */

/**
 * Posts a transfer of the proposal. Programs use its macros: dat_ep_post_rdma_write_immed(),
 * dat_ep_post_recv_immed(), dat_ep_post_fetch_and_add() and dat_ep_post_cmp_and_swap().
 *
 * @param handle The EP.
 * @param operation DAT_EXT_*: what is posted.
 * @param ... What the operation takes, of exactly the types that its macro passes on.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions, or this one has none, or there is
 *     no such operation.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider does not know the proposal.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP handle is no EP.
 */
DAT_RETURN DAT_API dat_extension(DAT_HANDLE handle, DAT_EXT_OP operation, ...);

/**
 * Posts a write that completes a receive of the peer and hands it a number.
 *
 * Events on the request EVD: DAT_EXTENSION_EVENT of type DAT_EXT_RDMA_WRITE_IMMED_STATUS. On the
 * peer's receive EVD: DAT_EXTENSION_EVENT of type DAT_EXT_RECV_IMMED_DATA_EVENT.
 *
 * iWARP has no such write: the number follows it in a send of its own, and the request counts
 * twice. The peer's receive must be of dat_ep_post_recv_immed() and have room for the 4 bytes; its
 * event has the type DAT_EXT_RECV_IMMED_DATA_PAYLOAD.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param size As for dat_ib_post_rdma_write_immed().
 * @param lbuf As for dat_ib_post_rdma_write_immed().
 * @param cookie As for dat_ib_post_rdma_write_immed().
 * @param rbuf As for dat_ib_post_rdma_write_immed().
 * @param idata As for dat_ib_post_rdma_write_immed().
 * @param eflgs DAT_EXT_WRITE_IMMED_FLAG, without which the peer does not notice the write, and
 *     DAT_EXT_WRITE_CONFIRM_FLAG, with which it completes only when the data has been placed at the
 *     peer, and counts twice among the EP's requests; bits.
 * @param flgs As for dat_ib_post_rdma_write_immed().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG7 eflgs has unknown bits.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL and size is not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rbuf is NULL.
 * @return DAT_INVALID_PARAMETER (raw) size is negative or above the limit; or the EP was never
 *     connected and the device refuses.
 * @return DAT_LENGTH_ERROR (raw) The segments are together longer than any message may be.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) DAT_EXT_WRITE_CONFIRM_FLAG on iWARP, or the device takes no
 *     4 bytes inline there.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or one for datagrams.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return ... As dat_extension().
 */
#define dat_ep_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, eflgs, flgs)           \
    dat_extension((DAT_EP_HANDLE)(ep), DAT_EXT_RDMA_WRITE_IMMED, (DAT_COUNT)(size),              \
                  (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),                \
                  (DAT_UINT32)(idata), (DAT_EXT_FLAGS)(eflgs), (DAT_COMPLETION_FLAGS)(flgs))
/** Another name of the same call. */
#define dat_ep_post_write_immed dat_ep_post_rdma_write_immed

/**
 * Posts a receive whose completion is an event of this interface whatever it takes.
 *
 * Events on the receive EVD: DAT_EXTENSION_EVENT of type DAT_EXT_RECV_IMMED_DATA_EVENT, or
 * DAT_EXT_RECV_NO_IMMED. On iWARP a message of exactly 4 bytes is taken for a number, which it
 * leaves in the receive's memory: DAT_EXT_RECV_IMMED_DATA_PAYLOAD.
 *
 * States: As for dat_ep_post_recv().
 *
 * @param ep The EP, without an SRQ.
 * @param size Number of segments in lbuf, at most max_recv_iov of the EP.
 * @param lbuf Array of `size` segments (address, length in bytes, lmr_context) of memory for a
 *     send's data.
 * @param cookie 64 bits that come back in the completion.
 * @param flgs DAT_COMPLETION_DEFAULT_FLAG.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL and size is not 0.
 * @return DAT_INVALID_PARAMETER (raw) size is negative or above the limit.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP.
 * @return ... As dat_ep_post_recv() and dat_extension().
 */
#define dat_ep_post_recv_immed(ep, size, lbuf, cookie, flgs)                   \
    dat_extension((DAT_EP_HANDLE)(ep), DAT_EXT_RECV_IMMED, (DAT_COUNT)(size),  \
                  (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts an atomic addition to 8 aligned bytes of the peer, whose old value is stored here.
 *
 * Events on the request EVD: DAT_EXTENSION_EVENT of type DAT_EXT_FETCH_AND_ADD_STATUS.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param add_val As for dat_ib_post_fetch_and_add().
 * @param lbuf As for dat_ib_post_fetch_and_add().
 * @param cookie As for dat_ib_post_fetch_and_add().
 * @param rbuf One segment of the peer: virtual_address, a multiple of 8, and rmr_context. The peer
 *     has registered it with DAT_MEM_PRIV_REMOTE_READ_FLAG of this header.
 * @param flgs As for dat_ib_post_rdma_write_immed().
 * @return DAT_SUCCESS
 * @return DAT_LENGTH_ERROR The local segment has not 8 bytes.
 * @return DAT_INVALID_ADDRESS The peer's address is no multiple of 8.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The device has no atomic operations.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rbuf is NULL.
 * @return DAT_INVALID_PARAMETER (raw) The EP was never connected, and the device refuses.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or one for datagrams.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return ... As dat_extension().
 */
#define dat_ep_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)                \
    dat_extension((DAT_EP_HANDLE)(ep), DAT_EXT_FETCH_AND_ADD, (DAT_UINT64)(add_val),    \
                  (DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf),       \
                  (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts an atomic comparison with 8 aligned bytes of the peer, which are replaced if equal. Their
 * old value is stored here.
 *
 * Events on the request EVD: DAT_EXTENSION_EVENT of type DAT_EXT_CMP_AND_SWAP_STATUS.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param cmp_val As for dat_ib_post_cmp_and_swap().
 * @param swap_val As for dat_ib_post_cmp_and_swap().
 * @param lbuf As for dat_ib_post_fetch_and_add().
 * @param cookie As for dat_ib_post_fetch_and_add().
 * @param rbuf As for dat_ep_post_fetch_and_add().
 * @param flgs As for dat_ib_post_rdma_write_immed().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rbuf is NULL.
 * @return ... As dat_ep_post_fetch_and_add().
 */
#define dat_ep_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs)              \
    dat_extension((DAT_EP_HANDLE)(ep), DAT_EXT_CMP_AND_SWAP, (DAT_UINT64)(cmp_val),            \
                  (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie),                 \
                  (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

#ifdef __cplusplus
}
#endif

#endif

/* -- the mode, which may come after the calls ---------------------------------------- */

#if !defined(_DAT_EXTENSION_CALLS_ONLY) && !defined(_DAT_EXTENSIONS_MODE)
#define _DAT_EXTENSIONS_MODE
/**
 * With remote reads also atomic operations, where the device has them and the memory may be written
 * on this side.
 */
#define DAT_MEM_PRIV_REMOTE_READ_FLAG ((DAT_MEM_PRIV_FLAGS)0x82)
#define DAT_MEM_PRIV_ALL_FLAG ((DAT_MEM_PRIV_FLAGS)0xb3)
#endif
