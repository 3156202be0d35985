/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * InfiniBand extensions: atomics, writes with immediate data, datagrams, counters, queries without
 * an open, collectives. Each call is a macro over dat_extension_op(); what a provider offers it
 * lists among its named attributes (provider_specific_attr of DAT_PROVIDER_ATTR), what it lacks it
 * answers with DAT_NOT_IMPLEMENTED. The IA's extension_supported and extension_version say whether
 * and up to where.
 *
 * @source The InfiniBand extensions of the reference implementation, dapl 2.1.10, in version 2.0.9,
 *     on the extension interface of uDAPL 2.0 (dat_extension_op()).
 */
#ifndef _DAT_IB_EXTENSIONS_H_
#define _DAT_IB_EXTENSIONS_H_

#include <dat2/udat.h>
#include <netinet/in.h> /* DAT_SOCK_ADDR6 */

#ifdef __cplusplus
extern "C" {
#endif

/** 100 * major + minor * 10 + step of the interface below: 2.0.9. */
#define DAT_IB_EXTENSION_VERSION 209

/** Names of the attributes that announce an extension. */
#define DAT_IB_ATTR_COUNTERS "DAT_COUNTERS"
#define DAT_IB_ATTR_FETCH_AND_ADD "DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP "DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_IMMED_DATA "DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD "DAT_IB_UD"
#define DAT_IB_COLL_SET_CLOCK "DAT_COLL_SET_CLOCK"
#define DAT_IB_COLL_READ_CLOCK "DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_BROADCAST "DAT_COLL_BROADCAST"
#define DAT_IB_COLL_BARRIER "DAT_COLL_BARRIER"
#define DAT_IB_COLL_SCATTER "DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV "DAT_COLL_SCATTERV"
#define DAT_IB_COLL_GATHER "DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV "DAT_COLL_GATHERV"
#define DAT_IB_COLL_ALLGATHER "DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV "DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLTOALL "DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV "DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_REDUCE "DAT_COLL_REDUCE"
#define DAT_IB_COLL_ALLREDUCE "DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER "DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN "DAT_COLL_SCAN"

/* -- numbers that continue those of dat.h and udat.h --------------------------------- */

/** Events of this extension. */
typedef enum dat_ib_event_number {
    DAT_IB_DTO_EVENT = 0x40000,
    DAT_IB_UD_CONNECTION_REQUEST_EVENT = 0x40001,
    DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED = 0x40002,
    DAT_IB_UD_CONNECTION_REJECT_EVENT = 0x40003,
    DAT_IB_UD_CONNECTION_ERROR_EVENT = 0x40004,
    DAT_IB_COLLECTIVE_EVENT = 0x40005
} DAT_IB_EVENT_NUMBER;

/** Operations for dat_extension_op(). */
typedef enum dat_ib_op {
    DAT_IB_FETCH_AND_ADD_OP = 0,
    DAT_IB_CMP_AND_SWAP_OP = 1,
    DAT_IB_RDMA_WRITE_IMMED_OP = 2,
    DAT_IB_UD_SEND_OP = 3,
    DAT_IB_QUERY_COUNTERS_OP = 4,
    DAT_IB_PRINT_COUNTERS_OP = 5,
    DAT_IB_COLLECTIVE_CREATE_MEMBER_OP = 6,
    DAT_IB_COLLECTIVE_FREE_MEMBER_OP = 7,
    DAT_IB_COLLECTIVE_CREATE_GROUP_OP = 8,
    DAT_IB_COLLECTIVE_FREE_GROUP_OP = 9,
    DAT_IB_COLLECTIVE_SET_CLOCK_OP = 10,
    DAT_IB_COLLECTIVE_READ_CLOCK_OP = 11,
    DAT_IB_COLLECTIVE_SCATTER_OP = 12,
    DAT_IB_COLLECTIVE_SCATTERV_OP = 13,
    DAT_IB_COLLECTIVE_GATHER_OP = 14,
    DAT_IB_COLLECTIVE_GATHERV_OP = 15,
    DAT_IB_COLLECTIVE_ALLGATHER_OP = 16,
    DAT_IB_COLLECTIVE_ALLGATHERV_OP = 17,
    DAT_IB_COLLECTIVE_ALLTOALL_OP = 18,
    DAT_IB_COLLECTIVE_ALLTOALLV_OP = 19,
    DAT_IB_COLLECTIVE_REDUCE_OP = 20,
    DAT_IB_COLLECTIVE_ALLREDUCE_OP = 21,
    DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP = 22,
    DAT_IB_COLLECTIVE_SCAN_OP = 23,
    DAT_IB_COLLECTIVE_BROADCAST_OP = 24,
    DAT_IB_COLLECTIVE_BARRIER_OP = 25,
    DAT_IB_START_COUNTERS_OP = 26,
    DAT_IB_STOP_COUNTERS_OP = 27,
    DAT_IB_UD_CM_FREE_OP = 28,
    DAT_IB_UD_AH_FREE_OP = 29,
    DAT_IB_SEND_IMMED_OP = 0x4f440014, /**< of OpenDAT */
    DAT_IB_OPEN_QUERY_OP = 4096,
    DAT_IB_CLOSE_QUERY_OP = 8192
} DAT_IB_OP;

/** What an event of this extension tells of. */
typedef enum dat_ib_ext_type {
    DAT_IB_FETCH_AND_ADD = 0,
    DAT_IB_CMP_AND_SWAP = 1,
    DAT_IB_RDMA_WRITE_IMMED = 2,
    DAT_IB_RDMA_WRITE_IMMED_DATA = 3,
    DAT_IB_RECV_IMMED_DATA = 4,
    DAT_IB_UD_CONNECT_REQUEST = 5,
    DAT_IB_UD_REMOTE_AH = 6,
    DAT_IB_UD_PASSIVE_REMOTE_AH = 7,
    DAT_IB_UD_SEND = 8,
    DAT_IB_UD_RECV = 9,
    DAT_IB_UD_CONNECT_REJECT = 10,
    DAT_IB_UD_CONNECT_ERROR = 11,
    DAT_IB_COLLECTIVE_CREATE_STATUS = 12,
    DAT_IB_COLLECTIVE_CREATE_DATA = 13,
    DAT_IB_COLLECTIVE_CLOCK_SET_STATUS = 14,
    DAT_IB_COLLECTIVE_SCATTER_STATUS = 15,
    DAT_IB_COLLECTIVE_SCATTERV_STATUS = 16,
    DAT_IB_COLLECTIVE_GATHER_STATUS = 17,
    DAT_IB_COLLECTIVE_GATHERV_STATUS = 18,
    DAT_IB_COLLECTIVE_ALLGATHER_STATUS = 19,
    DAT_IB_COLLECTIVE_ALLGATHERV_STATUS = 20,
    DAT_IB_COLLECTIVE_ALLTOALL_STATUS = 21,
    DAT_IB_COLLECTIVE_ALLTOALLV_STATUS = 22,
    DAT_IB_COLLECTIVE_REDUCE_STATUS = 23,
    DAT_IB_COLLECTIVE_ALLREDUCE_STATUS = 24,
    DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS = 25,
    DAT_IB_COLLECTIVE_SCAN_STATUS = 26,
    DAT_IB_COLLECTIVE_BROADCAST_STATUS = 27,
    DAT_IB_COLLECTIVE_BARRIER_STATUS = 28,
    /* of OpenDAT: */
    DAT_IB_SEND_IMMED = 0x4f440001,
    DAT_IB_RECV_NO_IMMED = 0x4f440002 /**< see dat_ep_post_recv_immed() of dat_extensions.h */
} DAT_IB_EXT_TYPE;

/** How it ended. */
typedef enum dat_ib_status {
    DAT_OP_SUCCESS = 0,
    DAT_IB_OP_ERR = 1,       /**< transfer */
    DAT_IB_COLL_COMP_ERR = 2 /**< collective operation */
} DAT_IB_STATUS;

/** Types of return codes of this extension. */
typedef enum dat_ib_return {
    DAT_IB_ERR = 0x10000000,
    DAT_IB_COLLECTIVE_ERR = 0x10000001
} DAT_IB_RETURN;

/** What a completed transfer was, as dat_dtos. */
typedef enum dat_ib_dtos {
    DAT_IB_DTO_RDMA_WRITE_IMMED = 8,
    DAT_IB_DTO_RECV_IMMED = 9,
    DAT_IB_DTO_FETCH_ADD = 10,
    DAT_IB_DTO_CMP_SWAP = 11,
    DAT_IB_DTO_RECV_MSG_IMMED = 12,
    DAT_IB_DTO_SEND_UD = 13,
    DAT_IB_DTO_RECV_UD = 14,
    DAT_IB_DTO_RECV_UD_IMMED = 15,
    DAT_IB_DTO_COLLECTIVES = 16,
    DAT_IB_DTO_SEND_IMMED = 0x4f440001 /**< of OpenDAT */
} DAT_IB_DTOS;

/** Kinds of objects of this extension. */
typedef enum dat_ib_handle_type {
    DAT_IB_HANDLE_TYPE_EXT = 12,
    DAT_IB_HANDLE_TYPE_COLLECTIVE = 13
} DAT_IB_HANDLE_TYPE;

/** Kind of events of this extension, for dat_evd_create(). */
typedef enum dat_ib_evd_extension_flags {
    DAT_IB_EVD_EXTENSION_FLAG = 0x200
} DAT_IB_EVD_EXTENSION_FLAGS;

/** Right to atomics, for dat_lmr_create(). */
typedef enum dat_ib_mem_priv_flags { DAT_IB_MEM_PRIV_REMOTE_ATOMIC = 0x40 } DAT_IB_MEM_PRIV_FLAGS;

/** Kind of a datagram endpoint. */
typedef enum dat_ib_service_type { DAT_IB_SERVICE_TYPE_UD = 1 } DAT_IB_SERVICE_TYPE;

/* -- event data ---------------------------------------------------------------------- */

/** Where datagrams go. */
typedef struct dat_ib_addr_handle {
    struct ibv_ah* ah;
    DAT_UINT32 qpn; /**< number of the queue pair */
    DAT_SOCK_ADDR6 ia_addr;
} DAT_IB_ADDR_HANDLE;

/** Immediate data. */
typedef struct dat_ib_immed_data {
    DAT_UINT32 data; /**< as the sender gave it */
} DAT_IB_IMMED_DATA;

/** A collective operation is complete. */
typedef struct dat_ib_collective_event_data {
    DAT_HANDLE handle;
    DAT_CONTEXT context;
} DAT_IB_COLLECTIVE_EVENT_DATA;

/** What event_extension_data of an event holds when its number is DAT_IB_DTO_EVENT or above. */
typedef struct dat_ib_extension_event_data {
    DAT_IB_EXT_TYPE type;
    DAT_IB_STATUS status;
    union {
        DAT_IB_IMMED_DATA immed; /**< of a receive that took immediate data */
    } val;
    __extension__ union {
        DAT_IB_ADDR_HANDLE remote_ah;      /**< of the datagram events */
        DAT_IB_COLLECTIVE_EVENT_DATA coll; /**< of DAT_IB_COLLECTIVE_EVENT */
    };
    DAT_CONTEXT context; /**< connection of a datagram endpoint, for dat_ib_ud_cm_free() */
} DAT_IB_EXTENSION_EVENT_DATA;

/* -- counters ------------------------------------------------------------------------ */

/** Counters of an IA: calls, connection management, link and device. */
typedef enum dat_ia_counters {
    DCNT_IA_PZ_CREATE = 0,
    DCNT_IA_PZ_FREE = 1,
    DCNT_IA_LMR_CREATE = 2,
    DCNT_IA_LMR_FREE = 3,
    DCNT_IA_RMR_CREATE = 4,
    DCNT_IA_RMR_FREE = 5,
    DCNT_IA_PSP_CREATE = 6,
    DCNT_IA_PSP_CREATE_ANY = 7,
    DCNT_IA_PSP_FREE = 8,
    DCNT_IA_RSP_CREATE = 9,
    DCNT_IA_RSP_FREE = 10,
    DCNT_IA_EVD_CREATE = 11,
    DCNT_IA_EVD_FREE = 12,
    DCNT_IA_EP_CREATE = 13,
    DCNT_IA_EP_FREE = 14,
    DCNT_IA_SRQ_CREATE = 15,
    DCNT_IA_SRQ_FREE = 16,
    DCNT_IA_SP_CR = 17,
    DCNT_IA_SP_CR_ACCEPTED = 18,
    DCNT_IA_SP_CR_REJECTED = 19,
    DCNT_IA_MEM_ALLOC = 20,
    DCNT_IA_MEM_ALLOC_DATA = 21,
    DCNT_IA_MEM_FREE = 22,
    DCNT_IA_ASYNC_ERROR = 23,
    DCNT_IA_ASYNC_QP_ERROR = 24,
    DCNT_IA_ASYNC_CQ_ERROR = 25,
    DCNT_IA_CM_LISTEN = 26,
    DCNT_IA_CM_REQ_TX = 27,
    DCNT_IA_CM_REQ_RX = 28,
    DCNT_IA_CM_REP_TX = 29,
    DCNT_IA_CM_REP_RX = 30,
    DCNT_IA_CM_RTU_TX = 31,
    DCNT_IA_CM_RTU_RX = 32,
    DCNT_IA_CM_USER_REJ_TX = 33,
    DCNT_IA_CM_USER_REJ_RX = 34,
    DCNT_IA_CM_ACTIVE_EST = 35,
    DCNT_IA_CM_PASSIVE_EST = 36,
    DCNT_IA_CM_AH_REQ_TX = 37,
    DCNT_IA_CM_AH_REQ_RX = 38,
    DCNT_IA_CM_AH_RESOLVED = 39,
    DCNT_IA_CM_DREQ_TX = 40,
    DCNT_IA_CM_DREQ_RX = 41,
    DCNT_IA_CM_DREP_TX = 42,
    DCNT_IA_CM_DREP_RX = 43,
    DCNT_IA_CM_MRA_TX = 44,
    DCNT_IA_CM_MRA_RX = 45,
    DCNT_IA_CM_REQ_FULLQ_POLL = 46,
    DCNT_IA_CM_ERR = 47,
    DCNT_IA_CM_ERR_REQ_FULLQ = 48,
    DCNT_IA_CM_ERR_REQ_DUP = 49,
    DCNT_IA_CM_ERR_REQ_RETRY = 50,
    DCNT_IA_CM_ERR_REP_DUP = 51,
    DCNT_IA_CM_ERR_REP_RETRY = 52,
    DCNT_IA_CM_ERR_RTU_DUP = 53,
    DCNT_IA_CM_ERR_RTU_RETRY = 54,
    DCNT_IA_CM_ERR_REFUSED = 55,
    DCNT_IA_CM_ERR_RESET = 56,
    DCNT_IA_CM_ERR_TIMEOUT = 57,
    DCNT_IA_CM_ERR_REJ_TX = 58,
    DCNT_IA_CM_ERR_REJ_RX = 59,
    DCNT_IA_CM_ERR_DREQ_DUP = 60,
    DCNT_IA_CM_ERR_DREQ_RETRY = 61,
    DCNT_IA_CM_ERR_DREP_DUP = 62,
    DCNT_IA_CM_ERR_DREP_RETRY = 63,
    DCNT_IA_CM_ERR_MRA_DUP = 64,
    DCNT_IA_CM_ERR_MRA_RETRY = 65,
    DCNT_IA_CM_ERR_UNEXPECTED = 66,
    DCNT_IA_LNK_ERR_RCV = 67,
    DCNT_IA_LNK_ERR_RCV_REM_PHYS = 68,
    DCNT_IA_LNK_ERR_RCV_CONSTRAINT = 69,
    DCNT_IA_LNK_ERR_XMT_DISCARDS = 70,
    DCNT_IA_LNK_ERR_XMT_CONTRAINT = 71,
    DCNT_IA_LNK_ERR_INTEGRITY = 72,
    DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN = 73,
    DCNT_IA_LNK_WARN_RCV_SW_RELAY = 74,
    DCNT_IA_LNK_WARN_XMT_WAIT = 75,
    DCNT_IA_DIAG_ERR_RQ_RAE = 76,
    DCNT_IA_DIAG_ERR_RQ_OOS = 77,
    DCNT_IA_DIAG_ERR_RQ_RIRE = 78,
    DCNT_IA_DIAG_ERR_RQ_UDSDPRD = 79,
    DCNT_IA_DIAG_ERR_SQ_RAE = 80,
    DCNT_IA_DIAG_ERR_SQ_OOS = 81,
    DCNT_IA_DIAG_ERR_SQ_RIRE = 82,
    DCNT_IA_DIAG_ERR_SQ_RREE = 83,
    DCNT_IA_DIAG_ERR_SQ_TREE = 84,
    DCNT_IA_ALL_COUNTERS = 85
} DAT_IA_COUNTERS;

/** Counters of an endpoint. */
typedef enum dat_ep_counters {
    DCNT_EP_CONNECT = 0,
    DCNT_EP_DISCONNECT = 1,
    DCNT_EP_POST_SEND = 2,
    DCNT_EP_POST_SEND_DATA = 3,
    DCNT_EP_POST_SEND_UD = 4,
    DCNT_EP_POST_SEND_UD_DATA = 5,
    DCNT_EP_POST_RECV = 6,
    DCNT_EP_POST_RECV_DATA = 7,
    DCNT_EP_POST_WRITE = 8,
    DCNT_EP_POST_WRITE_DATA = 9,
    DCNT_EP_POST_WRITE_IMM = 10,
    DCNT_EP_POST_WRITE_IMM_DATA = 11,
    DCNT_EP_POST_READ = 12,
    DCNT_EP_POST_READ_DATA = 13,
    DCNT_EP_POST_CMP_SWAP = 14,
    DCNT_EP_POST_FETCH_ADD = 15,
    DCNT_EP_RECV = 16,
    DCNT_EP_RECV_DATA = 17,
    DCNT_EP_RECV_UD = 18,
    DCNT_EP_RECV_UD_DATA = 19,
    DCNT_EP_RECV_IMM = 20,
    DCNT_EP_RECV_IMM_DATA = 21,
    DCNT_EP_RECV_RDMA_IMM = 22,
    DCNT_EP_RECV_RDMA_IMM_DATA = 23,
    DCNT_EP_ALL_COUNTERS = 24
} DAT_EP_COUNTERS;

/** Counters of an EVD. */
typedef enum dat_evd_counters {
    DCNT_EVD_WAIT = 0,
    DCNT_EVD_WAIT_BLOCKED = 1,
    DCNT_EVD_WAIT_NOTIFY = 2,
    DCNT_EVD_DEQUEUE = 3,
    DCNT_EVD_DEQUEUE_FOUND = 4,
    DCNT_EVD_DEQUEUE_NOT_FOUND = 5,
    DCNT_EVD_DEQUEUE_POLL = 6,
    DCNT_EVD_DEQUEUE_POLL_FOUND = 7,
    DCNT_EVD_CONN_CALLBACK = 8,
    DCNT_EVD_DTO_CALLBACK = 9,
    DCNT_EVD_ALL_COUNTERS = 10
} DAT_EVD_COUNTERS;

/** Groups of counters that are sampled on request. */
typedef enum dat_ia_counter_type {
    DCNT_IA_CM = 0,
    DCNT_IA_LNK = 1,
    DCNT_IA_DIAG = 2
} DAT_IA_COUNTER_TYPE;

/* -- collectives --------------------------------------------------------------------- */

typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE;
typedef unsigned int DAT_IB_COLLECTIVE_RANK;
typedef unsigned int DAT_IB_COLLECTIVE_ID;
typedef void* DAT_IB_COLLECTIVE_MEMBER;

/** Types of the values that are combined. */
typedef enum dat_ib_collective_data_type {
    DAT_IB_COLLECTIVE_TYPE_INT8 = 0,
    DAT_IB_COLLECTIVE_TYPE_UINT8 = 1,
    DAT_IB_COLLECTIVE_TYPE_INT16 = 2,
    DAT_IB_COLLECTIVE_TYPE_UINT16 = 3,
    DAT_IB_COLLECTIVE_TYPE_INT32 = 4,
    DAT_IB_COLLECTIVE_TYPE_UINT32 = 5,
    DAT_IB_COLLECTIVE_TYPE_INT64 = 6,
    DAT_IB_COLLECTIVE_TYPE_UINT64 = 7,
    DAT_IB_COLLECTIVE_TYPE_FLOAT = 8,
    DAT_IB_COLLECTIVE_TYPE_DOUBLE = 9,
    DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE = 10,
    DAT_IB_COLLECTIVE_TYPE_SHORT_INT = 11,
    DAT_IB_COLLECTIVE_TYPE_2INT = 12,
    DAT_IB_COLLECTIVE_TYPE_FLOAT_INT = 13,
    DAT_IB_COLLECTIVE_TYPE_LONG_INT = 14,
    DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT = 15
} DAT_IB_COLLECTIVE_DATA_TYPE;

/** How values are combined. */
typedef enum dat_ib_collective_reduce_data_op {
    DAT_IB_COLLECTIVE_REDUCE_OP_MAX = 0,
    DAT_IB_COLLECTIVE_REDUCE_OP_MIN = 1,
    DAT_IB_COLLECTIVE_REDUCE_OP_SUM = 2,
    DAT_IB_COLLECTIVE_REDUCE_OP_PROD = 3,
    DAT_IB_COLLECTIVE_REDUCE_OP_LAND = 4,
    DAT_IB_COLLECTIVE_REDUCE_OP_BAND = 5,
    DAT_IB_COLLECTIVE_REDUCE_OP_LOR = 6,
    DAT_IB_COLLECTIVE_REDUCE_OP_BOR = 7,
    DAT_IB_COLLECTIVE_REDUCE_OP_LXOR = 8,
    DAT_IB_COLLECTIVE_REDUCE_OP_BXOR = 9,
    DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC = 10,
    DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC = 11
} DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

/** Who is in a group. */
typedef struct dat_ib_collective_group {
    int local_size;       /**< members on this machine */
    int local_rank;       /**< own rank among them */
    int* local_ranks;     /**< their ranks in the group */
    int external_size;    /**< machines */
    int external_rank;    /**< own rank among their first members, or -1 */
    int* external_ranks;  /**< ranks of those in the group */
    int* intranode_table; /**< rank in the group to rank here, or -1 */
    int* internode_table; /**< rank in the group to external rank, or -1 */
    int is_comm_world;
} DAT_IB_COLLECTIVE_GROUP;

/* -- text of codes ------------------------------------------------------------------- */

/**
 * Names a return code, those of the extensions too.
 *
 * @param value Any code.
 * @param message Out: name of its type, a constant string; must not be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER (raw) The type has no name.
 */
static __inline__ DAT_RETURN DAT_API dat_strerror_extension(DAT_IB_RETURN value,
                                                            const char** message) {
    if (DAT_GET_TYPE(value) == DAT_EXTENSION_BASE) {
        *message = "DAT_IB_ERR";
        return DAT_SUCCESS;
    }
    return dat_strerror((DAT_RETURN)value, message, NULL);
}

/**
 * Names the status of an extension event.
 *
 * @param value DAT_IB_STATUS of an event.
 * @param message Out: its name, a constant string; must not be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER (raw) The status has no name.
 */
static __inline__ DAT_RETURN DAT_API dat_strerror_ext_status(DAT_IB_STATUS value,
                                                             const char** message) {
    switch (value) {
        case DAT_OP_SUCCESS:
            *message = " ";
            return DAT_SUCCESS;
        case DAT_IB_OP_ERR:
            *message = "DAT_IB_OP_ERR";
            return DAT_SUCCESS;
        default:
            *message = "unknown extension status";
            return DAT_INVALID_PARAMETER;
    }
}

/* -- transfers ----------------------------------------------------------------------- */

/**
 * Posts an atomic addition to 8 aligned bytes of the peer, whose old value is stored here.
 *
 * Events on the request EVD: DAT_IB_DTO_EVENT of type DAT_IB_FETCH_AND_ADD.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param add_val Number of 64 bits to add.
 * @param lbuf One segment of 8 bytes for the old value, in host order, registered with
 *     DAT_MEM_PRIV_LOCAL_WRITE_FLAG in the EP's PZ.
 * @param cookie 64 bits that come back in the completion.
 * @param rbuf One segment of the peer: virtual_address, a multiple of 8, and rmr_context. The peer
 *     has registered it with DAT_IB_MEM_PRIV_REMOTE_ATOMIC.
 * @param flgs DAT_COMPLETION_*, bits, as for dat_ep_post_send().
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
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions, or this one has none (iWARP).
 * @return ... As dat_extension_op().
 */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)                  \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
                     (DAT_LMR_TRIPLET*)(lbuf), (cookie), (DAT_RMR_TRIPLET*)(rbuf),        \
                     (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts an atomic comparison with 8 aligned bytes of the peer, which are replaced if equal. Their
 * old value is stored here.
 *
 * Events on the request EVD: DAT_IB_DTO_EVENT of type DAT_IB_CMP_AND_SWAP.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param cmp_val Number of 64 bits to compare with.
 * @param swap_val Number of 64 bits to store if equal.
 * @param lbuf As for dat_ib_post_fetch_and_add().
 * @param cookie As for dat_ib_post_fetch_and_add().
 * @param rbuf As for dat_ib_post_fetch_and_add().
 * @param flgs As for dat_ib_post_fetch_and_add().
 * @return DAT_SUCCESS
 * @return DAT_LENGTH_ERROR The local segment has not 8 bytes.
 * @return DAT_INVALID_ADDRESS The peer's address is no multiple of 8.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The device has no atomic operations.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rbuf is NULL.
 * @return DAT_INVALID_PARAMETER (raw) The EP was never connected, and the device refuses.
 * @return ... As dat_ib_post_fetch_and_add().
 */
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs)        \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
                     (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET*)(lbuf), (cookie),         \
                     (DAT_RMR_TRIPLET*)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts a write that completes a receive of the peer and hands it a number.
 *
 * Events on the request EVD: DAT_IB_DTO_EVENT of type DAT_IB_RDMA_WRITE_IMMED. On the peer's
 * receive EVD: DAT_IB_DTO_EVENT of type DAT_IB_RDMA_WRITE_IMMED_DATA with the number in val.immed.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once as flushed. In others the
 * device refuses.
 *
 * @param ep The EP.
 * @param size Number of segments in lbuf, at most max_request_iov of the EP.
 * @param lbuf Array of `size` segments (address, length in bytes, lmr_context) of memory to write
 *     from. May be NULL when size is 0.
 * @param cookie 64 bits that come back in the completion.
 * @param rbuf One segment to write to: virtual_address and rmr_context in the peer, which has
 *     registered it with DAT_MEM_PRIV_REMOTE_WRITE_FLAG.
 * @param idata Number of 32 bits for the peer, which finds the same number on any machine.
 * @param flgs DAT_COMPLETION_*, bits, as for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL and size is not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rbuf is NULL.
 * @return DAT_INVALID_PARAMETER (raw) size is negative or above the limit; or the EP was never
 *     connected and the device refuses.
 * @return DAT_LENGTH_ERROR (raw) The segments are together longer than any message may be.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or one for datagrams.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions, or this one has none (iWARP).
 * @return ... As dat_extension_op().
 */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs)          \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
                     (DAT_LMR_TRIPLET*)(lbuf), (cookie), (DAT_RMR_TRIPLET*)(rbuf),       \
                     (DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts a send that hands its receiver a number beside the message. Not every library has it: one
 * that has not answers DAT_NOT_IMPLEMENTED.
 *
 * Events on the request EVD: DAT_IB_DTO_EVENT of type DAT_IB_SEND_IMMED. On the peer's receive EVD:
 * DAT_IB_DTO_EVENT of type DAT_IB_RDMA_WRITE_IMMED_DATA with the number in val.immed and the
 * operation DAT_IB_DTO_RECV_MSG_IMMED.
 *
 * States: As for dat_ep_post_send().
 *
 * @param ep The EP.
 * @param size Number of segments in lbuf, at most max_request_iov of the EP.
 * @param lbuf Array of `size` segments (address, length in bytes, lmr_context) of memory to send.
 *     May be NULL when size is 0.
 * @param cookie 64 bits that come back in the completion.
 * @param idata Number of 32 bits for the peer, which finds the same number on any machine.
 * @param flgs DAT_COMPLETION_*, bits, as for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL and size is not 0.
 * @return DAT_INVALID_PARAMETER (raw) size is negative or above the limit.
 * @return DAT_LENGTH_ERROR (raw) The segments are together longer than any message may be.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_UNCONNECTED The EP is in another state, whichever.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or one for datagrams.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions, or this one has none (iWARP).
 * @return ... As dat_extension_op().
 * @source OpenDAT, on the extension interface of uDAPL 2.0 (dat_extension_op()).
 */
#define dat_ib_post_send_immed(ep, size, lbuf, cookie, idata, flgs)                \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_SEND_IMMED_OP, (DAT_COUNT)(size), \
                     (DAT_LMR_TRIPLET*)(lbuf), (cookie), (DAT_UINT32)(idata),      \
                     (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Posts a datagram on an EP of service type DAT_IB_SERVICE_TYPE_UD.
 *
 * Events on the request EVD: DAT_IB_DTO_EVENT of type DAT_IB_UD_SEND.
 *
 * @param ep The EP, one for datagrams.
 * @param segments Number of segments in lbuf, at most max_request_iov of the EP.
 * @param lbuf Array of `segments` segments (address, length in bytes, lmr_context) of memory to
 *     send; together at most max_message_size of the EP.
 * @param ah_ptr The peer, one structure, as a datagram connection event told it.
 * @param cookie 64 bits that come back in the completion.
 * @param flgs DAT_COMPLETION_*, bits, as for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or not one for datagrams.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lbuf is NULL and segments is not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 ah_ptr is NULL or names no peer.
 * @return DAT_INVALID_PARAMETER (raw) segments is negative or above the limit.
 * @return DAT_LENGTH_ERROR (raw) The message is longer than a datagram may be.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return ... As dat_extension_op().
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs)                   \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments),     \
                     (DAT_LMR_TRIPLET*)(lbuf), (DAT_IB_ADDR_HANDLE*)(ah_ptr), (cookie), \
                     (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Frees what is left of a datagram EP's connection to one peer. Its address handle stays usable.
 *
 * @param ep The EP, one for datagrams.
 * @param cm Context of the event DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, 64 bits.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The EP has no such connection.
 * @return DAT_NOT_IMPLEMENTED (raw) ep is not one for datagrams.
 * @return ... As dat_extension_op().
 */
#define dat_ib_ud_cm_free(ep, cm) \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_CM_FREE_OP, (DAT_CONTEXT)(cm))

/**
 * Frees an address handle, after the last send with it and before its EP.
 *
 * @param ep The EP, one for datagrams.
 * @param ah The address handle, one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP, or not one for datagrams.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 ah is NULL, or no address handle of the EP.
 * @return ... As dat_extension_op().
 */
#define dat_ib_ud_ah_free(ep, ah) \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE*)(ah))

/** Posts a receive on a datagram EP. The message lies behind 40 bytes that the device fills. */
#define dat_ib_post_recv_ud dat_ep_post_recv

/* -- queries without an open --------------------------------------------------------- */

/**
 * Asks for the attributes of an IA by its name, without opening it for use. The handle is good for
 * dat_ib_close_query() only.
 *
 * @param name Name in dat.conf, a string of at most 255 characters.
 * @param ia_handle Out: the handle of the query.
 * @param ia_mask DAT_IA_FIELD_*, bits; any bit fills the whole structure.
 * @param ia_attr Out: one structure; what it points at stays valid until dat_ib_close_query(). May
 *     be NULL when ia_mask is 0.
 * @param prov_mask DAT_PROVIDER_FIELD_*, bits; any bit fills the whole structure.
 * @param prov_attr Out: one structure, as ia_attr. May be NULL when prov_mask is 0.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 ia_mask has an unknown bit.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 ia_handle is NULL, or ia_attr is and ia_mask is
 *     not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 prov_attr is NULL and prov_mask is not 0.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_ARG3 name is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 name is longer than 255 characters.
 * @return DAT_PROVIDER_NOT_FOUND|DAT_NAME_NOT_REGISTERED No record of dat.conf fits, or none of
 *     those that fit gave a provider.
 * @return DAT_NOT_IMPLEMENTED The provider has no extensions.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider lacks the operation.
 * @return DAT_INTERNAL_ERROR (raw) The device is not there.
 * @return DAT_INVALID_ADDRESS (raw) The device's network address cannot be found.
 * @return DAT_INSUFFICIENT_RESOURCES No descriptor is left (RLIMIT_NOFILE).
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 * @return DAT_INVALID_STATE The library is being unloaded.
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr)   \
    dat_extension_op((DAT_HANDLE)(NULL), DAT_IB_OPEN_QUERY_OP, (DAT_NAME_PTR)(name), \
                     (DAT_HANDLE*)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask),          \
                     (DAT_IA_ATTR*)(ia_attr), (DAT_PROVIDER_ATTR_MASK)(prov_mask),   \
                     (DAT_PROVIDER_ATTR*)(prov_attr))

/**
 * Ends a query of dat_ib_open_query(); what the attributes point at is gone then.
 *
 * @param ia_handle The handle of the query, from dat_ib_open_query().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no such handle.
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions, and there was no query.
 * @return DAT_INVALID_STATE The library is being unloaded.
 */
#define dat_ib_close_query(ia_handle) \
    dat_extension_op((DAT_HANDLE)(ia_handle), DAT_IB_CLOSE_QUERY_OP)

/* -- counters ------------------------------------------------------------------------ */

/**
 * Reads counters of an object: one of an IA, EP or EVD, or all of them.
 *
 * @param dat_handle The IA, EP or EVD.
 * @param cntr DCNT_IA_*, DCNT_EP_* or DCNT_EVD_*, by the kind of object: one of them, or all with
 *     DCNT_IA_ALL_COUNTERS, DCNT_EP_ALL_COUNTERS or DCNT_EVD_ALL_COUNTERS.
 * @param p_cntrs_out Out: a number of 64 bits, or for all an array of as many as the constant for
 *     all says. Those whose names end in DATA count bytes.
 * @param reset Not 0: the counters are set to 0 as they are read.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The object has no such counter.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 p_cntrs_out is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 dat_handle is no IA, EP or EVD.
 * @return DAT_NOT_IMPLEMENTED No IA has been opened so far.
 * @return ... As dat_extension_op().
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset)                   \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_QUERY_COUNTERS_OP, (int)(cntr), \
                     (DAT_UINT64*)(p_cntrs_out), (int)(reset))

/**
 * Prints counters of an object: one of an IA, EP or EVD, or all of them, on stdout, each with its
 * name on a line.
 *
 * @param dat_handle The IA, EP or EVD.
 * @param cntr As for dat_ib_query_counters().
 * @param reset As for dat_ib_query_counters().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The object has no such counter.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 dat_handle is no IA, EP or EVD.
 * @return DAT_INTERNAL_ERROR It cannot be written to stdout.
 * @return DAT_NOT_IMPLEMENTED No IA has been opened so far.
 * @return ... As dat_extension_op().
 */
#define dat_ib_print_counters(dat_handle, cntr, reset) \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))

/**
 * Starts counters of the port or of the device, which dat_ib_query_counters() then reads beside the
 * others.
 *
 * @param dat_handle The IA.
 * @param type DCNT_IA_LNK, the port's, or DCNT_IA_DIAG, the device's. With DCNT_IA_CM nothing is
 *     done: what a provider counts itself is counted always.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA dat_handle is no IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 type is none of these.
 * @return DAT_MODEL_NOT_SUPPORTED The device has no such counters.
 * @return DAT_NOT_IMPLEMENTED No IA has been opened so far.
 * @return ... As dat_extension_op().
 */
#define dat_ib_start_counter(dat_handle, type)                           \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_START_COUNTERS_OP, \
                     (DAT_IA_COUNTER_TYPE)(type))

/**
 * Stops counters that dat_ib_start_counter() has started; they keep their values.
 *
 * @param dat_handle The IA.
 * @param type DCNT_IA_LNK, the port's, or DCNT_IA_DIAG, the device's. With DCNT_IA_CM nothing is
 *     done: what a provider counts itself is counted always.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA dat_handle is no IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 type is none of these.
 * @return DAT_NOT_IMPLEMENTED No IA has been opened so far.
 * @return ... As dat_extension_op().
 */
#define dat_ib_stop_counter(dat_handle, type) \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_STOP_COUNTERS_OP, (DAT_IA_COUNTER_TYPE)(type))

/** Earlier names. */
#define DAT_ATTR_COUNTERS DAT_IB_ATTR_COUNTERS
#define DAT_QUERY_COUNTERS_OP DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP DAT_IB_PRINT_COUNTERS_OP
#define dat_query_counters dat_ib_query_counters
#define dat_print_counters dat_ib_print_counters

/* -- collective operations ----------------------------------------------------------- */

/**
 * Makes this process's address for groups. The members exchange their addresses on their own.
 *
 * @param ia_handle The IA.
 * @param progress_func Function that the provider calls while it waits for others, or NULL.
 * @param member Out: the address, of member_size bytes, which belongs to the provider.
 * @param member_size Out: number of bytes of the address.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP,   \
                     (void*)(progress_func), (DAT_IB_COLLECTIVE_MEMBER*)(member),      \
                     (DAT_UINT32*)(member_size))

/**
 * Frees an address of dat_ib_collective_create_member().
 *
 * @param ia_handle The IA.
 * @param member The address.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_free_member(ia_handle, member)                           \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
                     (DAT_IB_COLLECTIVE_MEMBER)(member))

/**
 * Makes a group of members.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_CREATE_DATA,
 * whose coll.handle is the group.
 *
 * @param members Array of group_size pointers to the addresses of all members, in the order of
 *     their ranks.
 * @param group_size Number of members.
 * @param self Rank of this process, from 0.
 * @param group_id Number of the group, the same at all members.
 * @param group_info Who of them is on this machine, one structure.
 * @param evd EVD for the events of the group, with DAT_IB_EVD_EXTENSION_FLAG.
 * @param pd PZ of the memory that the group uses.
 * @param user_context 64 bits that come back in the event.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, evd, pd, \
                                       user_context)                                             \
    dat_extension_op((DAT_EVD_HANDLE)(evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP,                   \
                     (DAT_IB_COLLECTIVE_MEMBER*)(members), (DAT_COUNT)(group_size),              \
                     (DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id),           \
                     (DAT_IB_COLLECTIVE_GROUP*)(group_info), (DAT_PZ_HANDLE)(pd),                \
                     (DAT_CONTEXT)(user_context))

/**
 * Frees a group; operations under way end.
 *
 * @param coll_handle The group, of the event of its creation.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_free_group(coll_handle) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)

/**
 * Sets the clock of a group.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_CLOCK_SET_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param clock_value The time, 64 bits.
 * @param user_context 64 bits that come back in the event.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context)                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SET_CLOCK_OP, \
                     (DAT_UINT64)(clock_value), (DAT_CONTEXT)(user_context))

/**
 * Reads the clock of a group.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param clock_value Out: the time, 64 bits.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_read_clock(coll_handle, clock_value)                                 \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
                     (DAT_UINT64*)(clock_value))

/**
 * Divides a buffer of the root among the members.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_SCATTER_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf At the root: the parts of all members, in the order of their ranks.
 * @param sendsize Bytes of each part.
 * @param recvbuf Out: memory for the own part.
 * @param recvsize Bytes of the own part.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,  \
                                  user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),     \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root),                 \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Divides a buffer of the root among the members, in parts of different size.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_SCATTERV_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf At the root: the parts of all members.
 * @param sendsizes At the root: array of the bytes of each part, by rank.
 * @param displs At the root: array of the offsets of the parts in sendbuf, by rank.
 * @param recvbuf Out: memory for the own part.
 * @param recvsize Bytes of the own part.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize,    \
                                   root, user_context, flags)                                     \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP,      \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT*)(sendsizes), (DAT_COUNT*)(displs),         \
                     (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Collects at the root a part from each member.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_GATHER_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own part.
 * @param sendsize Bytes of the own part.
 * @param recvbuf Out, at the root: memory for the parts of all members, in the order of their
 *     ranks.
 * @param recvsize Bytes of each part.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,  \
                                 user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),    \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root),                \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Collects at the root a part of different size from each member.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_GATHERV_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own part.
 * @param sendsize Bytes of the own part.
 * @param recvbufs Out, at the root: memory for the parts of all members.
 * @param recvsizes At the root: array of the bytes of each part, by rank.
 * @param displs At the root: array of the offsets of the parts in recvbufs, by rank.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, displs, \
                                  root, user_context, flags)                                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbufs),       \
                     (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(displs),                            \
                     (DAT_IB_COLLECTIVE_RANK)(root), (DAT_CONTEXT)(user_context),              \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Collects at each member a part from each.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_ALLGATHER_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own part.
 * @param sendsize Bytes of the own part.
 * @param recvbuf Out: memory for the parts of all members, in the order of their ranks.
 * @param recvsize Bytes of each part.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize,        \
                                    user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),       \
                     (DAT_COUNT)(recvsize), (DAT_CONTEXT)(user_context),                      \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Collects at each member a part of different size from each.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_ALLGATHERV_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own part.
 * @param sendsize Bytes of the own part.
 * @param recvbuf Out: memory for the parts of all members.
 * @param recvsizes Array of the bytes of each part, by rank.
 * @param displs Array of the offsets of the parts in recvbuf, by rank.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, displs, \
                                     user_context, flags)                                        \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP,   \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),          \
                     (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(displs), (DAT_CONTEXT)(user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Sends from each member a part to each.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_ALLTOALL_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The parts for all members, in the order of their ranks.
 * @param sendsize Bytes of each part that is sent.
 * @param recvbuf Out: memory for the parts from all members, in the order of their ranks.
 * @param recvsize Bytes of each part that comes.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize,        \
                                   user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),      \
                     (DAT_COUNT)(recvsize), (DAT_CONTEXT)(user_context),                     \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Sends from each member a part of different size to each.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_ALLTOALLV_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The parts for all members.
 * @param sendsizes Array of the bytes of each part that is sent, by rank.
 * @param senddispls Array of the offsets of the parts in sendbuf, by rank.
 * @param recvbuf Out: memory for the parts from all members.
 * @param recvsizes Array of the bytes of each part that comes, by rank.
 * @param recvdispls Array of the offsets of the parts in recvbuf, by rank.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddispls, recvbuf,     \
                                    recvsizes, recvdispls, user_context, flags)               \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT*)(sendsizes), (DAT_COUNT*)(senddispls), \
                     (DAT_PVOID)(recvbuf), (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(recvdispls), \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Combines the values of all members, for the root.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_REDUCE_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own values.
 * @param sendsize Size of sendbuf.
 * @param recvbuf Out, at the root: memory for the result.
 * @param recvsize Size of recvbuf.
 * @param op DAT_IB_COLLECTIVE_REDUCE_OP_*: how values are combined.
 * @param type DAT_IB_COLLECTIVE_TYPE_*: what the values are.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                                 root, user_context, flags)                                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),       \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),           \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_IB_COLLECTIVE_RANK)(root),     \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Combines the values of all members, for all.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_ALLREDUCE_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own values.
 * @param sendsize Size of sendbuf.
 * @param recvbuf Out: memory for the result.
 * @param recvsize Size of recvbuf.
 * @param op DAT_IB_COLLECTIVE_REDUCE_OP_*: how values are combined.
 * @param type DAT_IB_COLLECTIVE_TYPE_*: what the values are.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                                    user_context, flags)                                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),          \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),           \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Combines the values of all members, a part of the result for each.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own values.
 * @param sendsize Size of sendbuf.
 * @param recvbuf Out: memory for the own part of the result.
 * @param recvsizes Array of the sizes of the parts, by rank.
 * @param op DAT_IB_COLLECTIVE_REDUCE_OP_*: how values are combined.
 * @param type DAT_IB_COLLECTIVE_TYPE_*: what the values are.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, op,   \
                                         type, user_context, flags)                                \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),            \
                     (DAT_COUNT*)(recvsizes), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),             \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Combines the values of the members up to the own rank.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_SCAN_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param sendbuf The own values.
 * @param sendsize Size of sendbuf.
 * @param recvbuf Out: memory for the result.
 * @param recvsize Size of recvbuf.
 * @param op DAT_IB_COLLECTIVE_REDUCE_OP_*: how values are combined.
 * @param type DAT_IB_COLLECTIVE_TYPE_*: what the values are.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                               user_context, flags)                                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCAN_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),     \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),         \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),      \
                     (DAT_COMPLETION_FLAGS)(flags))

/**
 * Sends a buffer of the root to all members.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type
 * DAT_IB_COLLECTIVE_BROADCAST_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param buf At the root: memory to send. Out, at the others: memory to receive.
 * @param size Bytes of buf, the same at all members.
 * @param root Rank of the root, from 0, the same at all members.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags)        \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, \
                     (DAT_PVOID)(buf), (DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root),     \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/**
 * Waits, without blocking, for all members of a group: completes when all have called it.
 *
 * Events on the EVD of the group: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_BARRIER_STATUS.
 *
 * @param coll_handle The group, of the event of its creation.
 * @param user_context 64 bits that come back in the event.
 * @param flags DAT_COMPLETION_*, bits.
 * @return DAT_SUCCESS The operation has begun.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider has no collective operations. No provider of
 *     OpenDAT has.
 * @return ... As dat_extension_op().
 */
#define dat_ib_collective_barrier(coll_handle, user_context, flags)                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

#ifdef __cplusplus
}
#endif

#endif
