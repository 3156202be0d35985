/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * InfiniBand extensions: atomics, writes with immediate data, datagrams, counters, queries without
 * an open, collectives. Each call is a macro over dat_extension_op(); what a provider offers it
 * lists among its named attributes (provider_specific_attr of DAT_PROVIDER_ATTR), what it lacks it
 * answers with DAT_NOT_IMPLEMENTED. The IA's extension_supported and extension_version say whether
 * and up to where.
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
 * @param value The code.
 * @param message Out: name of its type; a constant.
 * @return DAT_SUCCESS
 * @return ... As dat_strerror().
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
 * @param value The status.
 * @param message Out: its name; a constant.
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
 * @param ep Connected EP.
 * @param add_val Number to add.
 * @param lbuf One segment of 8 bytes for the old value.
 * @param cookie Comes back in the completion.
 * @param rbuf 8 aligned bytes of the peer, registered with DAT_IB_MEM_PRIV_REMOTE_ATOMIC.
 * @param flgs DAT_COMPLETION_*.
 * @return DAT_SUCCESS
 * @return DAT_LENGTH_ERROR The local segment has not 8 bytes.
 * @return DAT_INVALID_ADDRESS The peer's address is no multiple of 8.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The device has no atomic operations.
 * @return ... As dat_ep_post_rdma_read() and dat_extension_op().
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
 * @param ep Connected EP.
 * @param cmp_val Number to compare with.
 * @param swap_val Number to store if equal.
 * @param lbuf One segment of 8 bytes for the old value.
 * @param cookie Comes back in the completion.
 * @param rbuf 8 aligned bytes of the peer, registered with DAT_IB_MEM_PRIV_REMOTE_ATOMIC.
 * @param flgs DAT_COMPLETION_*.
 * @return DAT_SUCCESS
 * @return DAT_LENGTH_ERROR The local segment has not 8 bytes.
 * @return DAT_INVALID_ADDRESS The peer's address is no multiple of 8.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The device has no atomic operations.
 * @return ... As dat_ep_post_rdma_read() and dat_extension_op().
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
 * @param ep Connected EP.
 * @param size Segments in lbuf.
 * @param lbuf Memory to write from.
 * @param cookie Comes back in the completion.
 * @param rbuf Where to.
 * @param idata 32-bit number for the peer.
 * @param flgs DAT_COMPLETION_*.
 * @return DAT_SUCCESS
 * @return ... As dat_ep_post_rdma_write() and dat_extension_op().
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
 * @param ep Connected EP.
 * @param size Segments in lbuf.
 * @param lbuf Memory to send.
 * @param cookie Comes back in the completion.
 * @param idata 32-bit number for the peer.
 * @param flgs DAT_COMPLETION_*.
 * @return DAT_SUCCESS
 * @return ... As dat_ep_post_send() and dat_extension_op().
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
 * @param ep Datagram EP.
 * @param segments Segments in lbuf.
 * @param lbuf Memory to send.
 * @param ah_ptr The peer, from a datagram connection event.
 * @param cookie Comes back in the completion.
 * @param flgs DAT_COMPLETION_*.
 * @return DAT_SUCCESS
 * @return ... As dat_ep_post_send() and dat_extension_op().
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs)                   \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments),     \
                     (DAT_LMR_TRIPLET*)(lbuf), (DAT_IB_ADDR_HANDLE*)(ah_ptr), (cookie), \
                     (DAT_COMPLETION_FLAGS)(flgs))

/**
 * Frees what is left of a datagram EP's connection to one peer. Its address handle stays usable.
 *
 * @param ep Datagram EP.
 * @param cm The context of the ESTABLISHED event.
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_ud_cm_free(ep, cm) \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_CM_FREE_OP, (DAT_CONTEXT)(cm))

/**
 * Frees an address handle, after the last send with it and before its EP.
 *
 * @param ep Datagram EP.
 * @param ah The address handle.
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_ud_ah_free(ep, ah) \
    dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE*)(ah))

/** Posts a receive on a datagram EP. */
#define dat_ib_post_recv_ud dat_ep_post_recv

/* -- queries without an open --------------------------------------------------------- */

/**
 * Asks for attributes by name, without opening the IA for use. The handle is good for
 * dat_ib_close_query() only.
 *
 * @param name Name in dat.conf.
 * @param ia_handle Out.
 * @param ia_mask As for dat_ia_query().
 * @param ia_attr As for dat_ia_query().
 * @param prov_mask As for dat_ia_query().
 * @param prov_attr As for dat_ia_query().
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr)   \
    dat_extension_op((DAT_HANDLE)(NULL), DAT_IB_OPEN_QUERY_OP, (DAT_NAME_PTR)(name), \
                     (DAT_HANDLE*)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask),          \
                     (DAT_IA_ATTR*)(ia_attr), (DAT_PROVIDER_ATTR_MASK)(prov_mask),   \
                     (DAT_PROVIDER_ATTR*)(prov_attr))

/**
 * Ends a query; what the attributes point at is gone then.
 *
 * @param ia_handle From dat_ib_open_query().
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_close_query(ia_handle) \
    dat_extension_op((DAT_HANDLE)(ia_handle), DAT_IB_CLOSE_QUERY_OP)

/* -- counters ------------------------------------------------------------------------ */

/**
 * Reads a counter of an IA, EP or EVD, or all of them.
 *
 * @param dat_handle The object.
 * @param cntr DCNT_*; DCNT_IA_ALL_COUNTERS and the like for all.
 * @param p_cntrs_out Out: one number, or as many as there are.
 * @param reset Not 0: set to 0 afterwards.
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset)                   \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_QUERY_COUNTERS_OP, (int)(cntr), \
                     (DAT_UINT64*)(p_cntrs_out), (int)(reset))

/**
 * Prints a counter of an IA, EP or EVD, or all of them.
 *
 * @param dat_handle The object.
 * @param cntr As for dat_ib_query_counters().
 * @param reset Not 0: set to 0 afterwards.
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_print_counters(dat_handle, cntr, reset) \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))

/**
 * Starts sampling counters of the port or the device.
 *
 * @param dat_handle The IA.
 * @param type DAT_IA_COUNTER_TYPE.
 * @return DAT_SUCCESS
 * @return ... As dat_extension_op().
 */
#define dat_ib_start_counter(dat_handle, type)                           \
    dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_START_COUNTERS_OP, \
                     (DAT_IA_COUNTER_TYPE)(type))

/**
 * Ends dat_ib_start_counter().
 *
 * @param dat_handle The IA.
 * @param type DAT_IA_COUNTER_TYPE.
 * @return DAT_SUCCESS
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

/** Makes this process's address for groups; members exchange them on their own. */
#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP,   \
                     (void*)(progress_func), (DAT_IB_COLLECTIVE_MEMBER*)(member),      \
                     (DAT_UINT32*)(member_size))

/** Frees such an address. */
#define dat_ib_collective_free_member(ia_handle, member)                           \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
                     (DAT_IB_COLLECTIVE_MEMBER)(member))

/**
 * Makes a group of members. Event: DAT_IB_COLLECTIVE_EVENT of type DAT_IB_COLLECTIVE_CREATE_DATA.
 */
#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, evd, pd, \
                                       user_context)                                             \
    dat_extension_op((DAT_EVD_HANDLE)(evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP,                   \
                     (DAT_IB_COLLECTIVE_MEMBER*)(members), (DAT_COUNT)(group_size),              \
                     (DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id),           \
                     (DAT_IB_COLLECTIVE_GROUP*)(group_info), (DAT_PZ_HANDLE)(pd),                \
                     (DAT_CONTEXT)(user_context))

/** Frees a group; operations under way end. */
#define dat_ib_collective_free_group(coll_handle) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)

/** Sets the group's clock. */
#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context)                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SET_CLOCK_OP, \
                     (DAT_UINT64)(clock_value), (DAT_CONTEXT)(user_context))

/** Reads the group's clock. */
#define dat_ib_collective_read_clock(coll_handle, clock_value)                                 \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
                     (DAT_UINT64*)(clock_value))

/** The root's buffer is divided among the members. */
#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,  \
                                  user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),     \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root),                 \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** The same with parts of different size. */
#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize,    \
                                   root, user_context, flags)                                     \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP,      \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT*)(sendsizes), (DAT_COUNT*)(displs),         \
                     (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** The root collects a part from each member. */
#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root,  \
                                 user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),    \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root),                \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** The same with parts of different size. */
#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, displs, \
                                  root, user_context, flags)                                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbufs),       \
                     (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(displs),                            \
                     (DAT_IB_COLLECTIVE_RANK)(root), (DAT_CONTEXT)(user_context),              \
                     (DAT_COMPLETION_FLAGS)(flags))

/** Each member collects a part from each. */
#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize,        \
                                    user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),       \
                     (DAT_COUNT)(recvsize), (DAT_CONTEXT)(user_context),                      \
                     (DAT_COMPLETION_FLAGS)(flags))

/** The same with parts of different size. */
#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, displs, \
                                     user_context, flags)                                        \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP,   \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),          \
                     (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(displs), (DAT_CONTEXT)(user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

/** Each member sends a part to each. */
#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize,        \
                                   user_context, flags)                                      \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),      \
                     (DAT_COUNT)(recvsize), (DAT_CONTEXT)(user_context),                     \
                     (DAT_COMPLETION_FLAGS)(flags))

/** The same with parts of different size. */
#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddispls, recvbuf,     \
                                    recvsizes, recvdispls, user_context, flags)               \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT*)(sendsizes), (DAT_COUNT*)(senddispls), \
                     (DAT_PVOID)(recvbuf), (DAT_COUNT*)(recvsizes), (DAT_COUNT*)(recvdispls), \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** The root gets the members' values combined by an operation. */
#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                                 root, user_context, flags)                                   \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),       \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),           \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_IB_COLLECTIVE_RANK)(root),     \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** All members get the combined values. */
#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                                    user_context, flags)                                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),          \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),           \
                     (DAT_COMPLETION_FLAGS)(flags))

/** Each member gets its part of the combined values. */
#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, op,   \
                                         type, user_context, flags)                                \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),            \
                     (DAT_COUNT*)(recvsizes), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),              \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),             \
                     (DAT_COMPLETION_FLAGS)(flags))

/** Each member gets the values combined up to its own rank. */
#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                               user_context, flags)                                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCAN_OP,    \
                     (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf),     \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op),         \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_CONTEXT)(user_context),      \
                     (DAT_COMPLETION_FLAGS)(flags))

/** The root's buffer goes to all members. */
#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags)        \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, \
                     (DAT_PVOID)(buf), (DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root),     \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

/** Completes when all members have called it. */
#define dat_ib_collective_barrier(coll_handle, user_context, flags)                         \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, \
                     (DAT_CONTEXT)(user_context), (DAT_COMPLETION_FLAGS)(flags))

#ifdef __cplusplus
}
#endif

#endif
