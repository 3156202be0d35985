/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Endpoints out of TCP sockets: two programs connect a socket as ever, agree on it to go on by
 * RDMA, and each hands its end over. The types, names and arguments are those of the final draft of
 * the iWARP extensions (DAT Collaborative, 2006). The draft's macros cannot be compiled, and its
 * operations have the numbers of InfiniBand's; both are set right here, so programs written for the
 * draft compile and programs that were built with another header do not matter.
 *
 * The passive side makes a socket service point with dat_iw_ssp_create(), gets a connection request
 * and answers it as any other; the active side calls dat_iw_socket_connect(). Either both endpoints
 * are CONNECTED then, or the passive side has rejected the request and both programs can go on with
 * their sockets where they were. What else ends the attempt (the timeout, the end of a process)
 * ends the sockets too. The library works on a duplicate: each program keeps its own descriptor,
 * does not read or write there between the call and its event, and closes it when it wants. Once
 * connected the socket carries nothing; its end is the end of the connection.
 *
 * The named attribute DAT_IW_ATTR_SSP is "TRUE" where an IA has this: on InfiniBand, RoCE and
 * softverbs with libdaplofa, libdaploscm and libdaplsoft. It is "FALSE" on iWARP, whose devices in
 * Linux take no socket over, and with libdaploucm, which has none.
 *
 * All calls are thread safe and none blocks.
 *
 * @source iWARP Transport Specific Extensions for DAT 2.0, final draft.
 */
#ifndef _DAT_IW_EXTENSIONS_H_
#define _DAT_IW_EXTENSIONS_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Named attribute of the provider: "TRUE" or "FALSE". */
#define DAT_IW_ATTR_SSP "DAT_IW_ATTR_SSP"

/** What dat_get_handle_type() says of a socket service point. */
typedef enum dat_handle_iw_ext_type {
    DAT_IW_HANDLE_TYPE_SSP = DAT_HANDLE_TYPE_EXTENSION_BASE
} DAT_HANDLE_IW_EXT_TYPE;
/** A socket service point. */
typedef DAT_HANDLE DAT_IW_SSP_HANDLE;
/** A descriptor of a connected TCP socket. */
typedef int DAT_IW_SOCKET;

typedef enum dat_iw_ssp_state {
    DAT_IW_SSP_STATE_OPERATIONAL,    /**< it waits for the request */
    DAT_IW_SSP_STATE_NON_OPERATIONAL /**< the request has come, or the peer has gone */
} DAT_IW_SSP_STATE;

typedef struct dat_iw_ssp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_IW_SOCKET socket_id;    /**< as it was passed */
    DAT_EVD_HANDLE evd_handle;
    DAT_EP_HANDLE ep_handle;    /**< as it was passed */
    DAT_IW_SSP_STATE ssp_state;
} DAT_IW_SSP_PARAM;

typedef enum dat_iw_ssp_param_mask {
    DAT_IW_SSP_FIELD_IA_HANDLE = 0x01,
    DAT_IW_SSP_FIELD_SOCKET_ID = 0x02,
    DAT_IW_SSP_FIELD_EVD_HANDLE = 0x04,
    DAT_IW_SSP_FIELD_EP_HANDLE = 0x08,
    DAT_IW_SSP_FIELD_SSP_STATE = 0x10,
    DAT_IW_SSP_FIELD_ALL = 0x1F
} DAT_IW_SSP_PARAM_MASK;

/** Operations for dat_extension_op(). */
typedef enum dat_iw_op {
    /** On an IA: DAT_IW_SOCKET, DAT_EP_HANDLE, DAT_EVD_HANDLE, DAT_PVOID message, DAT_COUNT size,
     *  DAT_IW_SSP_HANDLE *. */
    DAT_IW_SSP_CREATE_OP = 0x4f440030,
    DAT_IW_SSP_FREE_OP = 0x4f440031,  /**< on a socket service point: nothing */
    DAT_IW_SSP_QUERY_OP = 0x4f440032, /**< on one: DAT_IW_SSP_PARAM_MASK, DAT_IW_SSP_PARAM * */
    /** On an EP: DAT_IW_SOCKET, DAT_TIMEOUT, DAT_COUNT size, DAT_PVOID data. */
    DAT_IW_SOCKET_CONNECT_OP = 0x4f440033
} DAT_IW_OP;

/**
 * Makes a socket service point: waits on a connected socket for one request of the peer.
 *
 * Events on the EVD: DAT_CONNECTION_REQUEST_EVENT, with the service point as its sp_handle and the
 * socket's own port as conn_qual.
 *
 * @param ia An open IA whose DAT_IW_ATTR_SSP is TRUE.
 * @param socket_id A connected TCP socket, over IPv4 or IPv6.
 * @param ep_handle An EP of the IA for the request, UNCONNECTED; it is RESERVED from now on, as
 *     with dat_rsp_create(). DAT_HANDLE_NULL: dat_cr_accept() gets one.
 * @param evd_handle An EVD of the IA for connection requests.
 * @param final_sm_msg The last message of the program's own stream, which tells the peer that it
 *     may call dat_iw_socket_connect(). NULL: there is none.
 * @param final_sm_msg_len Its size, 0 to 4096 bytes; it is sent at once.
 * @param ssp_handle Out: the service point; untouched on error.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP of the IA, or one for
 *     datagrams.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CR evd_handle is no such EVD.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 socket_id is no connected TCP socket.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 final_sm_msg is NULL and its size is not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 final_sm_msg_len is not from 0 to 4096.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG7 ssp_handle is NULL.
 * @return DAT_INVALID_STATE The EP is in another state.
 * @return DAT_INSUFFICIENT_RESOURCES No memory or descriptor is left, or the socket's buffer has no
 *     room for the message.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) DAT_IW_ATTR_SSP is FALSE.
 * @return ... As dat_extension_op().
 */
#define dat_iw_ssp_create(ia, socket_id, ep_handle, evd_handle, final_sm_msg, final_sm_msg_len,  \
                          ssp_handle)                                                            \
    dat_extension_op((DAT_HANDLE)(ia), (DAT_EXTENDED_OP)DAT_IW_SSP_CREATE_OP,                    \
                     (DAT_IW_SOCKET)(socket_id), (DAT_EP_HANDLE)(ep_handle),                     \
                     (DAT_EVD_HANDLE)(evd_handle), (DAT_PVOID)(final_sm_msg),                    \
                     (DAT_COUNT)(final_sm_msg_len), (DAT_IW_SSP_HANDLE *)(ssp_handle))

/**
 * Frees a socket service point. One that still waits ends its socket, since the peer may have begun
 * its request. A request that has come stays.
 *
 * @param ssp_handle The service point.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ssp_handle is none.
 */
#define dat_iw_ssp_free(ssp_handle) \
    dat_extension_op((DAT_HANDLE)(ssp_handle), (DAT_EXTENDED_OP)DAT_IW_SSP_FREE_OP)

/**
 * Tells the parameters of a socket service point.
 *
 * @param ssp_handle The service point.
 * @param ssp_param_mask Which are wanted; all are given.
 * @param ssp_param Out.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 ssp_param is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ssp_handle is none.
 */
#define dat_iw_ssp_query(ssp_handle, ssp_param_mask, ssp_param)                        \
    dat_extension_op((DAT_HANDLE)(ssp_handle), (DAT_EXTENDED_OP)DAT_IW_SSP_QUERY_OP,   \
                     (DAT_IW_SSP_PARAM_MASK)(ssp_param_mask), (DAT_IW_SSP_PARAM *)(ssp_param))

/**
 * Requests a connection over a connected socket, at whose other end is a socket service point.
 *
 * Events on the connect EVD: as with dat_ep_connect(). After PEER_REJECTED and NON_PEER_REJECTED the
 * program can go on with its socket.
 *
 * @param ep_handle The EP, UNCONNECTED, not for datagrams.
 * @param socket_id A connected TCP socket, over IPv4 or IPv6.
 * @param timeout Microseconds; DAT_TIMEOUT_INFINITE: none. When it is over, the socket is too.
 * @param private_data_size Bytes for the peer's consumer, 0 to 68.
 * @param private_data The bytes.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 socket_id is no connected TCP socket.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 timeout is 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 private_data_size is too large or negative.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 private_data is NULL and its size is not 0.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP, or one for datagrams.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CONN The EP has no connect EVD.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ, or its connect EVD
 *     lacks DAT_EVD_CONNECTION_FLAG.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not UNCONNECTED.
 * @return DAT_INSUFFICIENT_RESOURCES No memory or descriptor is left.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no more.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) DAT_IW_ATTR_SSP is FALSE.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 * @return ... As dat_extension_op().
 */
#define dat_iw_socket_connect(ep_handle, socket_id, timeout, private_data_size, private_data)  \
    dat_extension_op((DAT_HANDLE)(ep_handle), (DAT_EXTENDED_OP)DAT_IW_SOCKET_CONNECT_OP,       \
                     (DAT_IW_SOCKET)(socket_id), (DAT_TIMEOUT)(timeout),                       \
                     (DAT_COUNT)(private_data_size), (DAT_PVOID)(private_data))

#ifdef __cplusplus
}
#endif

#endif
