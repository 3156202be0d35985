/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The DAT 2.0 interface: types, events and functions. Programs include <dat2/udat.h>.
 *
 * Comments name each function's arguments and codes, and the manual page of each function, of
 * section 3, is made of its comment. A line "@return TYPE|SUBTYPE when" is a code with its class
 * bit (DAT_CLASS_ERROR); "(raw)" behind it means without. Types that no line names can come from
 * the device. "is no EP" means NULL, freed, or an object of another kind; "is no open IA" closed,
 * too.
 *
 * Any function may be called from any thread at any time unless its comment says otherwise. The
 * caller makes sure that an object is not in use when it is freed. Only dat_evd_wait() and
 * dat_cno_wait() wait for a peer.
 *
 * @source uDAPL 2.0 of the DAT Collaborative, the clause of the call's name. Where an answer is not
 *     that of the reference implementation, dapl 2.1.10, "Call by call" in doc/compatibility.md
 *     says so, and why.
 */
#ifndef _UDAT_H_
#include <dat2/udat.h> /* declares what this file builds on, then includes it */
#endif
#ifndef _DAT_H_
#define _DAT_H_

#include <dat2/dat_error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- basic types --------------------------------------------------------------------- */

/** Name of an IA or of an attribute. */
typedef char* DAT_NAME_PTR;

/** Room for a name, in bytes, with its terminating 0. */
#define DAT_NAME_MAX_LENGTH 256

/** Truth. */
typedef enum dat_boolean { DAT_FALSE = 0, DAT_TRUE = 1 } DAT_BOOLEAN;

/** An attribute that only some transports, vendors or providers have, by name. */
typedef struct dat_named_attr {
    const char* name;
    const char* value;
} DAT_NAMED_ATTR;

/** A word of the program's own, which DAT keeps and gives back. */
typedef union dat_context {
    DAT_PVOID as_ptr;
    DAT_UINT64 as_64;
    DAT_UVERYLONG as_index;
} DAT_CONTEXT;

/** Comes back in the completion of a transfer. */
typedef DAT_CONTEXT DAT_DTO_COOKIE;
/** Comes back in the completion of an RMR bind. */
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/** Microseconds. */
typedef DAT_UINT32 DAT_TIMEOUT;
/** Wait until something happens. */
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/** Any object. An IA's handle is a small integer in the guise of a pointer. */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;  /**< connection request */
typedef DAT_HANDLE DAT_EP_HANDLE;  /**< endpoint */
typedef DAT_HANDLE DAT_EVD_HANDLE; /**< event dispatcher */
typedef DAT_HANDLE DAT_IA_HANDLE;  /**< open interface adapter */
typedef DAT_HANDLE DAT_LMR_HANDLE; /**< local memory region */
typedef DAT_HANDLE DAT_PSP_HANDLE; /**< public service point */
typedef DAT_HANDLE DAT_PZ_HANDLE;  /**< protection zone */
typedef DAT_HANDLE DAT_RMR_HANDLE; /**< remote memory region */
typedef DAT_HANDLE DAT_RSP_HANDLE; /**< reserved service point */
typedef DAT_HANDLE DAT_SRQ_HANDLE; /**< shared receive queue */
typedef DAT_HANDLE DAT_CSP_HANDLE; /**< common service point */

#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

/** Socket address of an IA; its port is ignored, a qualifier goes beside it. */
typedef DAT_SOCK_ADDR* DAT_IA_ADDRESS_PTR;

/** What a service point listens on: any number. A peer gets exactly the one it was made with. */
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

typedef DAT_UINT32 DAT_LMR_CONTEXT; /**< names a registered region in local segments (lkey) */
typedef DAT_UINT32 DAT_RMR_CONTEXT; /**< names a region in the peer's requests (rkey) */
typedef DAT_UINT64 DAT_VLEN;        /**< bytes */
typedef DAT_UINT64 DAT_VADDR;       /**< address, in the host's byte order */
typedef DAT_UINT32 DAT_SEG_LENGTH;  /**< bytes of one segment or transfer */

/** A segment of local memory. With a length of 0 the rest does not matter. */
typedef struct dat_lmr_triplet {
    DAT_VADDR virtual_address;
    DAT_SEG_LENGTH segment_length; /**< bytes */
    DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

/** A segment of the peer's memory. */
typedef struct dat_rmr_triplet {
    DAT_VADDR virtual_address;
    DAT_SEG_LENGTH segment_length; /**< bytes */
    DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

/* -- flags and kinds ----------------------------------------------------------------- */

/** How a transfer completes; bits. */
typedef enum dat_completion_flags {
    DAT_COMPLETION_DEFAULT_FLAG = 0x0,
    DAT_COMPLETION_SUPPRESS_FLAG = 0x1,       /**< no event if it succeeds */
    DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2, /**< wakes a peer that waits for solicited events */
    DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,    /**< an event that wakes nobody */
    DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,  /**< begins when earlier reads are complete */
    DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10, /**< of endpoints: waits end by the threshold */
    DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20 /**< in kernels only */
} DAT_COMPLETION_FLAGS;

/** Quality of service; providers have best effort. */
typedef enum dat_qos {
    DAT_QOS_BEST_EFFORT = 0x0,
    DAT_QOS_HIGH_THROUGHPUT = 0x1,
    DAT_QOS_LOW_LATENCY = 0x2,
    DAT_QOS_ECONOMY = 0x4, /**< neither throughput nor latency */
    DAT_QOS_PREMIUM = 0x8  /**< both */
} DAT_QOS;

/** How a connection is made; providers have the default. */
typedef enum dat_connect_flags {
    DAT_CONNECT_DEFAULT_FLAG = 0x0,
    DAT_CONNECT_MULTIPATH_FLAG = 0x1,
    DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 0x2
} DAT_CONNECT_FLAGS;
#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG

/** How an IA is closed or a connection ended. */
typedef enum dat_close_flags {
    DAT_CLOSE_ABRUPT_FLAG = 0x0,
    DAT_CLOSE_GRACEFUL_FLAG = 0x1
} DAT_CLOSE_FLAGS;
#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/** Kinds of events that an EVD takes; bits. */
typedef enum dat_evd_flags {
    DAT_EVD_SOFTWARE_FLAG = 0x1,
    DAT_EVD_CR_FLAG = 0x10,
    DAT_EVD_DTO_FLAG = 0x20,
    DAT_EVD_CONNECTION_FLAG = 0x40,
    DAT_EVD_RMR_BIND_FLAG = 0x80,
    DAT_EVD_ASYNC_FLAG = 0x100,
    DAT_EVD_DEFAULT_FLAG = 0x1f0, /**< all but software events */
    DAT_EVD_EXTENSION_BASE = 0x200
} DAT_EVD_FLAGS;

/** Who brings the endpoint of an accepted connection. */
typedef enum dat_psp_flags {
    DAT_PSP_CONSUMER_FLAG = 0x0,
    DAT_PSP_PROVIDER_FLAG = 0x1
} DAT_PSP_FLAGS;

/** What registered memory may be used for; bits. */
typedef enum dat_mem_priv_flags {
    DAT_MEM_PRIV_NONE_FLAG = 0x0,
    DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,
    DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,
    DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
    DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
    DAT_MEM_PRIV_ALL_FLAG = 0x33,
    DAT_MEM_PRIV_EXTENSION_BASE = 0x40
} DAT_MEM_PRIV_FLAGS;
#define DAT_MEM_PRIV_READ_FLAG (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/** How peers name addresses of a region. */
typedef enum dat_va_type {
    DAT_VA_TYPE_VA = 0, /**< by the address in the owner's process */
    DAT_VA_TYPE_ZB = 1  /**< counted from the region's start */
} DAT_VA_TYPE;

/** Which endpoints an RMR serves. */
typedef enum dat_rmr_scope {
    DAT_RMR_SCOPE_EP = 0,
    DAT_RMR_SCOPE_PZ = 1,
    DAT_RMR_SCOPE_ANY = 2
} DAT_RMR_SCOPE;

/** What a completed transfer was. */
typedef enum dat_dtos {
    DAT_DTO_SEND = 0,
    DAT_DTO_RDMA_WRITE = 1,
    DAT_DTO_RDMA_READ = 2,
    DAT_DTO_RECEIVE = 3,
    DAT_DTO_RECEIVE_WITH_INVALIDATE = 4,
    DAT_DTO_BIND_MW = 5,
    DAT_DTO_LMR_FMR = 6,        /**< in kernels only */
    DAT_DTO_LMR_INVALIDATE = 7, /**< in kernels only */
    DAT_DTO_EXTENSION_BASE = 8
} DAT_DTOS;

/** The extension that an IA has. */
typedef enum dat_extension {
    DAT_EXTENSION_NONE = 0,
    DAT_EXTENSION_IB = 1,
    DAT_EXTENSION_IW = 2
} DAT_EXTENSION;
#define DAT_IB_EXTENSION 1
#define DAT_IW_EXTENSION 2

/** What happens to the segment list of a post until its completion. */
typedef enum dat_iov_ownership {
    DAT_IOV_CONSUMER = 0,       /**< the program's at once */
    DAT_IOV_PROVIDER_NOMOD = 1, /**< stays as it is */
    DAT_IOV_PROVIDER_MOD = 2    /**< may be changed */
} DAT_IOV_OWNERSHIP;

/** Whether a provider makes endpoints for a PSP. */
typedef enum dat_ep_creator_for_psp {
    DAT_PSP_CREATES_EP_NEVER = 0,
    DAT_PSP_CREATES_EP_IFASKED = 1,
    DAT_PSP_CREATES_EP_ALWAYS = 2
} DAT_EP_CREATOR_FOR_PSP;

/** Load balancing that a provider offers. */
typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE ((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM ((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM ((DAT_HA_LB)2)

/* -- IA and provider attributes (the structures are in udat.h) ----------------------- */

typedef struct dat_ia_attr DAT_IA_ATTR;
typedef struct dat_provider_attr DAT_PROVIDER_ATTR;
typedef struct dat_evd_param DAT_EVD_PARAM;
typedef struct dat_lmr_param DAT_LMR_PARAM;
typedef enum dat_lmr_param_mask DAT_LMR_PARAM_MASK;

/** Which members of DAT_IA_ATTR a query asks for. Any bit fills the whole structure. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_NONE UINT64_C(0x0)
#define DAT_IA_FIELD_IA_ADAPTER_NAME UINT64_C(0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME UINT64_C(0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION UINT64_C(0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION UINT64_C(0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION UINT64_C(0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION UINT64_C(0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR UINT64_C(0x40)
#define DAT_IA_FIELD_IA_MAX_EPS UINT64_C(0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP UINT64_C(0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN UINT64_C(0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT UINT64_C(0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS UINT64_C(0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN UINT64_C(0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO UINT64_C(0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS UINT64_C(0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE UINT64_C(0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS UINT64_C(0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS UINT64_C(0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE UINT64_C(0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE UINT64_C(0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS UINT64_C(0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS UINT64_C(0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS UINT64_C(0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ UINT64_C(0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ UINT64_C(0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ UINT64_C(0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE UINT64_C(0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN UINT64_C(0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT UINT64_C(0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED UINT64_C(0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x40000000)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED UINT64_C(0x100000000)
#define DAT_IA_ALL DAT_IA_FIELD_ALL

/** Names of DAT 1.0 and 1.1. */
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP_IN
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define max_mtu_size max_message_size

/* -- endpoints ----------------------------------------------------------------------- */

/** Kind of an endpoint's connection. */
typedef enum dat_service_type {
    DAT_SERVICE_TYPE_RC = 0, /**< reliable connection */
    DAT_SERVICE_TYPE_EXTENSION_BASE = 1
} DAT_SERVICE_TYPE;

/** Attributes of an endpoint. */
typedef struct dat_ep_attr {
    DAT_SERVICE_TYPE service_type;
    DAT_SEG_LENGTH max_message_size; /**< bytes of a send or receive */
    DAT_SEG_LENGTH max_rdma_size;    /**< bytes of a read or write */
    DAT_QOS qos;
    DAT_COMPLETION_FLAGS recv_completion_flags; /**< DAT_COMPLETION_* */
    DAT_COMPLETION_FLAGS
        request_completion_flags; /**< DAT_COMPLETION_*; SUPPRESS permits posts to ask for it */
    DAT_COUNT max_recv_dtos;     /**< receives posted at a time */
    DAT_COUNT max_request_dtos;  /**< other work posted at a time */
    DAT_COUNT max_recv_iov;      /**< segments of a receive */
    DAT_COUNT max_request_iov;   /**< segments of other work */
    DAT_COUNT max_rdma_read_in;  /**< reads of the peer at a time */
    DAT_COUNT max_rdma_read_out; /**< reads of this side at a time */
    DAT_COUNT srq_soft_hw;       /**< soft high watermark of an EP with SRQ */
    DAT_COUNT max_rdma_read_iov;
    DAT_COUNT max_rdma_write_iov;
    DAT_COUNT ep_transport_specific_count;
    DAT_NAMED_ATTR* ep_transport_specific;
    DAT_COUNT ep_provider_specific_count;
    DAT_NAMED_ATTR* ep_provider_specific;
} DAT_EP_ATTR;

/**
 * State of an endpoint. The UNCONFIGURED states say that an endpoint that waits for a request, or
 * has one, lacks the PZ or the connect EVD without which the request cannot be accepted;
 * dat_ep_modify() gives them. UNCONFIGURED_UNCONNECTED and the PATH states are never entered by our
 * providers.
 */
typedef enum dat_ep_state {
    DAT_EP_STATE_UNCONNECTED = 0,
    DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
    DAT_EP_STATE_RESERVED = 2, /**< for an RSP */
    DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
    DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4, /**< its RSP has a request */
    DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
    DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,    /**< connecting */
    DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7, /**< made by a provider for a request */
    DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
    DAT_EP_STATE_CONNECTED = 9,
    DAT_EP_STATE_DISCONNECT_PENDING = 10, /**< disconnecting */
    DAT_EP_STATE_DISCONNECTED = 11,
    DAT_EP_STATE_COMPLETION_PENDING = 12, /**< accepted, peer not there yet */
    DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13,
    DAT_EP_STATE_CONNECTED_MULTI_PATH = 14
} DAT_EP_STATE;
/** DAT 1.0 name. */
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

/** What dat_ep_query() tells. */
typedef struct dat_ep_param {
    DAT_IA_HANDLE ia_handle;
    DAT_EP_STATE ep_state;
    DAT_COMM comm;
    DAT_IA_ADDRESS_PTR local_ia_address_ptr;
    DAT_PORT_QUAL local_port_qual; /**< 0 until there is one */
    DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
    DAT_PORT_QUAL remote_port_qual; /**< active side: the qualifier connected to */
    DAT_PZ_HANDLE pz_handle;
    DAT_EVD_HANDLE recv_evd_handle;
    DAT_EVD_HANDLE request_evd_handle;
    DAT_EVD_HANDLE connect_evd_handle;
    DAT_SRQ_HANDLE srq_handle;
    DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

/** Members of DAT_EP_PARAM that dat_ep_query() and dat_ep_modify() look at. */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE UINT64_C(0x2)
#define DAT_EP_FIELD_COMM UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR UINT64_C(0x8)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR UINT64_C(0x20)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL UINT64_C(0x40)
#define DAT_EP_FIELD_PZ_HANDLE UINT64_C(0x80)
#define DAT_EP_FIELD_RECV_EVD_HANDLE UINT64_C(0x100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE UINT64_C(0x200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE UINT64_C(0x400)
#define DAT_EP_FIELD_SRQ_HANDLE UINT64_C(0x800)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE UINT64_C(0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE UINT64_C(0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE UINT64_C(0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS UINT64_C(0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS UINT64_C(0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS UINT64_C(0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS UINT64_C(0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS UINT64_C(0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV UINT64_C(0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV UINT64_C(0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN UINT64_C(0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT UINT64_C(0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW UINT64_C(0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV UINT64_C(0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV UINT64_C(0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR UINT64_C(0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL UINT64_C(0x7fffffff)

#define DAT_WATERMARK_INFINITE ((DAT_COUNT)~0)
#define DAT_HW_DEFAULT DAT_WATERMARK_INFINITE

/* -- shared receive queues ----------------------------------------------------------- */

#define DAT_SRQ_LW_DEFAULT 0x0
/** A count that the provider does not keep. */
#define DAT_VALUE_UNKNOWN (((DAT_COUNT)~0) - 1)

/** State of a shared receive queue. */
typedef enum dat_srq_state {
    DAT_SRQ_STATE_ERROR = 0,
    DAT_SRQ_STATE_OPERATIONAL = 1,
    DAT_SRQ_STATE_SHUTDOWN = 2
} DAT_SRQ_STATE;

/** Attributes of a shared receive queue. */
typedef struct dat_srq_attr {
    DAT_COUNT max_recv_dtos; /**< receives posted at a time */
    DAT_COUNT max_recv_iov;  /**< segments of a receive */
    DAT_COUNT low_watermark; /**< posted receives below which an async event warns */
} DAT_SRQ_ATTR;

/** What dat_srq_query() tells. */
typedef struct dat_srq_param {
    DAT_IA_HANDLE ia_handle;
    DAT_SRQ_STATE srq_state;
    DAT_PZ_HANDLE pz_handle;
    DAT_COUNT max_recv_dtos;
    DAT_COUNT max_recv_iov;
    DAT_COUNT low_watermark;
    DAT_COUNT available_dto_count;   /**< may be DAT_VALUE_UNKNOWN */
    DAT_COUNT outstanding_dto_count; /**< posted and not complete */
} DAT_SRQ_PARAM;

/** Members of DAT_SRQ_PARAM; bits. */
typedef enum dat_srq_param_mask {
    DAT_SRQ_FIELD_IA_HANDLE = 0x1,
    DAT_SRQ_FIELD_SRQ_STATE = 0x2,
    DAT_SRQ_FIELD_PZ_HANDLE = 0x4,
    DAT_SRQ_FIELD_MAX_RECV_DTO = 0x8,
    DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
    DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
    DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
    DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
    DAT_SRQ_FIELD_ALL = 0xff
} DAT_SRQ_PARAM_MASK;

/* -- protection zones, memory regions ------------------------------------------------ */

/** What dat_pz_query() tells. */
typedef struct dat_pz_param {
    DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

/** Members of DAT_PZ_PARAM; bits. */
typedef enum dat_pz_param_mask {
    DAT_PZ_FIELD_ALL = 0x1,
    DAT_PZ_FIELD_IA_HANDLE = 0x1
} DAT_PZ_PARAM_MASK;

/** What dat_rmr_query() tells. */
typedef struct dat_rmr_param {
    DAT_IA_HANDLE ia_handle;
    DAT_PZ_HANDLE pz_handle;
    DAT_LMR_TRIPLET lmr_triplet; /**< what it is bound to */
    DAT_MEM_PRIV_FLAGS mem_priv;
    DAT_RMR_CONTEXT rmr_context;
    DAT_RMR_SCOPE rmr_scope;
    DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

/** Members of DAT_RMR_PARAM; bits. */
typedef enum dat_rmr_param_mask {
    DAT_RMR_FIELD_IA_HANDLE = 0x1,
    DAT_RMR_FIELD_PZ_HANDLE = 0x2,
    DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
    DAT_RMR_FIELD_MEM_PRIV = 0x8,
    DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
    DAT_RMR_FIELD_RMR_SCOPE = 0x20,
    DAT_RMR_FIELD_VA_TYPE = 0x40,
    DAT_RMR_FIELD_ALL = 0x7f
} DAT_RMR_PARAM_MASK;

/* -- service points and connection requests ------------------------------------------ */

/** What dat_psp_query() tells. */
typedef struct dat_psp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_CONN_QUAL conn_qual;
    DAT_EVD_HANDLE evd_handle;
    DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

/** Members of DAT_PSP_PARAM; bits. */
typedef enum dat_psp_param_mask {
    DAT_PSP_FIELD_IA_HANDLE = 0x1,
    DAT_PSP_FIELD_CONN_QUAL = 0x2,
    DAT_PSP_FIELD_EVD_HANDLE = 0x4,
    DAT_PSP_FIELD_PSP_FLAGS = 0x8,
    DAT_PSP_FIELD_ALL = 0xf
} DAT_PSP_PARAM_MASK;

/** What dat_rsp_query() tells. */
typedef struct dat_rsp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_CONN_QUAL conn_qual;
    DAT_EVD_HANDLE evd_handle;
    DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/** Members of DAT_RSP_PARAM; bits. */
typedef enum dat_rsp_param_mask {
    DAT_RSP_FIELD_IA_HANDLE = 0x1,
    DAT_RSP_FIELD_CONN_QUAL = 0x2,
    DAT_RSP_FIELD_EVD_HANDLE = 0x4,
    DAT_RSP_FIELD_EP_HANDLE = 0x8,
    DAT_RSP_FIELD_ALL = 0xf
} DAT_RSP_PARAM_MASK;

/** What dat_csp_query() tells. */
typedef struct dat_csp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_COMM* comm;
    DAT_IA_ADDRESS_PTR address_ptr;
    DAT_EVD_HANDLE evd_handle;
} DAT_CSP_PARAM;

/** Members of DAT_CSP_PARAM; bits. */
typedef enum dat_csp_param_mask {
    DAT_CSP_FIELD_IA_HANDLE = 0x1,
    DAT_CSP_FIELD_COMM = 0x2,
    DAT_CSP_FIELD_IA_ADDRESS = 0x4,
    DAT_CSP_FIELD_EVD_HANDLE = 0x8,
    DAT_CSP_FIELD_ALL = 0xf
} DAT_CSP_PARAM_MASK;

/** What dat_cr_query() tells. */
typedef struct dat_cr_param {
    DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
    DAT_PORT_QUAL remote_port_qual;
    DAT_COUNT private_data_size;   /**< bytes; may be more than the peer gave, filled with 0 */
    DAT_PVOID private_data;        /**< the CR's own memory */
    DAT_EP_HANDLE local_ep_handle; /**< the only EP that can accept; often DAT_HANDLE_NULL */
} DAT_CR_PARAM;

/** Members of DAT_CR_PARAM; bits. */
typedef enum dat_cr_param_mask {
    DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
    DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
    DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
    DAT_CR_FIELD_PRIVATE_DATA = 0x8,
    DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
    DAT_CR_FIELD_ALL = 0x1f
} DAT_CR_PARAM_MASK;

/* -- events -------------------------------------------------------------------------- */

/**
 * What happened. The kind of EVD that takes it, and the member of DAT_EVENT_DATA that tells more,
 * follow from the number's range.
 */
typedef enum dat_event_number {
    DAT_DTO_COMPLETION_EVENT = 0x1,         /**< DTO EVD; dto_completion_event_data */
    DAT_RMR_BIND_COMPLETION_EVENT = 0x1001, /**< RMR_BIND EVD; rmr_completion_event_data */
    DAT_CONNECTION_REQUEST_EVENT = 0x2001,  /**< CR EVD; cr_arrival_event_data */
    DAT_CONNECTION_EVENT_ESTABLISHED =
        0x4001, /**< CONNECTION EVD, as the next; connect_event_data */
    DAT_CONNECTION_EVENT_PEER_REJECTED = 0x4002,
    DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x4003, /**< refused, but not by the peer's program */
    DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR =
        0x4004, /**< the peer went away before it was accepted */
    DAT_CONNECTION_EVENT_DISCONNECTED = 0x4005,
    DAT_CONNECTION_EVENT_BROKEN = 0x4006,
    DAT_CONNECTION_EVENT_TIMED_OUT = 0x4007,
    DAT_CONNECTION_EVENT_UNREACHABLE = 0x4008,
    DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x8001, /**< async EVD, as the next; asynch_error_event_data */
    DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x8002,
    DAT_ASYNC_ERROR_EP_BROKEN = 0x8003,
    DAT_ASYNC_ERROR_TIMED_OUT = 0x8004,
    DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x8005,
    DAT_HA_DOWN_TO_1 = 0x8101,
    DAT_HA_UP_TO_MULTI_PATH = 0x8102,
    DAT_SOFTWARE_EVENT = 0x10001, /**< SOFTWARE EVD; software_event_data */
    DAT_EXTENSION_EVENT = 0x20000,
    DAT_IB_EXTENSION_RANGE_BASE = 0x40000, /**< dat_ib_extensions.h */
    DAT_IW_EXTENSION_RANGE_BASE = 0x80000
} DAT_EVENT_NUMBER;

/** How a transfer or bind ended. */
typedef enum dat_dto_completion_status {
    DAT_DTO_SUCCESS = 0,
    DAT_DTO_ERR_FLUSHED = 1,      /**< the connection ended before it */
    DAT_DTO_ERR_LOCAL_LENGTH = 2, /**< the receive is smaller than the message */
    DAT_DTO_ERR_LOCAL_EP = 3,
    DAT_DTO_ERR_LOCAL_PROTECTION = 4, /**< a local segment is not registered for it */
    DAT_DTO_ERR_BAD_RESPONSE = 5,
    DAT_DTO_ERR_REMOTE_ACCESS = 6,      /**< the remote segment is not registered for it */
    DAT_DTO_ERR_REMOTE_RESPONDER = 7,   /**< the peer could not carry it out */
    DAT_DTO_ERR_TRANSPORT = 8,          /**< the peer does not answer */
    DAT_DTO_ERR_RECEIVER_NOT_READY = 9, /**< the peer has posted no receive */
    DAT_DTO_ERR_PARTIAL_PACKET = 10,
    DAT_RMR_OPERATION_FAILED = 11,
    DAT_DTO_ERR_LOCAL_MM_ERROR = 12 /**< in kernels only */
} DAT_DTO_COMPLETION_STATUS;
/** Names of DAT 1.0 and of RMR binds. */
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS

/**
 * A transfer is complete. But for ep_handle, user_cookie and status, members count on success only.
 */
typedef struct dat_dto_completion_event_data {
    DAT_EP_HANDLE ep_handle;
    DAT_DTO_COOKIE user_cookie;
    DAT_DTO_COMPLETION_STATUS status;
    DAT_SEG_LENGTH transfered_length; /**< bytes */
    DAT_DTOS operation;
    DAT_RMR_CONTEXT rmr_context;
} DAT_DTO_COMPLETION_EVENT_DATA;

/** A bind is complete. */
typedef struct dat_rmr_bind_completion_event_data {
    DAT_RMR_HANDLE rmr_handle;
    DAT_RMR_COOKIE user_cookie;
    DAT_DTO_COMPLETION_STATUS status; /**< DAT_RMR_BIND_* */
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/** The service point of a request: which member counts the program knows from its kind. */
typedef union dat_sp_handle {
    DAT_RSP_HANDLE rsp_handle;
    DAT_PSP_HANDLE psp_handle;
    DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

/** A peer asks for a connection. */
typedef struct dat_cr_arrival_event_data {
    DAT_SP_HANDLE sp_handle;
    DAT_IA_ADDRESS_PTR local_ia_address_ptr; /**< address that was connected to */
    DAT_CONN_QUAL conn_qual;                 /**< qualifier that was connected to */
    DAT_CR_HANDLE cr_handle;
    DAT_BOOLEAN truncate_flag; /**< DAT_TRUE: private data was cut */
} DAT_CR_ARRIVAL_EVENT_DATA;

/** A connection was made, refused or ended. */
typedef struct dat_connection_event_data {
    DAT_EP_HANDLE ep_handle;
    DAT_COUNT private_data_size; /**< bytes; 0 on the side that accepted */
    DAT_PVOID private_data;      /**< valid until the EP is reset or freed */
} DAT_CONNECTION_EVENT_DATA;

/** Something went wrong outside of any call. */
typedef struct dat_asynch_error_event_data {
    DAT_HANDLE dat_handle; /**< the object */
    DAT_COUNT reason;      /**< DAT_*_ASYNC_ERROR_REASON of its kind */
} DAT_ASYNCH_ERROR_EVENT_DATA;

/** What dat_evd_post_se() was given. */
typedef struct dat_software_event_data {
    DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/** Reasons in DAT_ASYNCH_ERROR_EVENT_DATA, by the kind of object that the event names. */
typedef enum ia_async_error_reason {
    DAT_IA_CATASTROPHIC_ERROR = 0,
    DAT_IA_OTHER_ERROR = 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
    DAT_EP_TRANSFER_TO_ERROR = 0,
    DAT_EP_OTHER_ERROR = 1,
    DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
    DAT_EVD_OVERFLOW_ERROR = 0,
    DAT_EVD_OTHER_ERROR = 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
    DAT_SRQ_TRANSFER_TO_ERROR = 0,
    DAT_SRQ_OTHER_ERROR = 1,
    DAT_SRQ_LOW_WATERMARK_EVENT = 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason { DAT_LMR_OTHER_ERROR = 0 } DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason { DAT_RMR_OTHER_ERROR = 0 } DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason { DAT_PZ_OTHER_ERROR = 0 } DAT_PZ_ASYNC_ERROR_REASON;

/**
 * Of a transfer beyond DAT's own, as the first public proposal of such transfers has it
 * (dat_extensions.h): what the event of a DTO says, and behind it these two.
 */
typedef struct dat_extension_event_data {
    DAT_DTO_COMPLETION_EVENT_DATA dto;
    DAT_UINT32 type; /**< DAT_EXT_EVENT_TYPE; 0: none of them */
    union {
        struct {
            DAT_UINT32 data; /**< as the sender gave it */
        } immed;
    } val;
} DAT_EXTENSION_EVENT_DATA;

/** Which member counts follows from the event's number. */
typedef union dat_event_data {
    DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
    DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
    DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
    DAT_CONNECTION_EVENT_DATA connect_event_data;
    DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
    DAT_SOFTWARE_EVENT_DATA software_event_data;
    DAT_EXTENSION_EVENT_DATA extension_data;
} DAT_EVENT_DATA;

/** An event as dat_evd_wait() and dat_evd_dequeue() give it. */
typedef struct dat_event {
    DAT_EVENT_NUMBER event_number;
    DAT_EVD_HANDLE evd_handle;
    DAT_EVENT_DATA event_data;
    DAT_UINT64 event_extension_data[8]; /**< for extensions */
} DAT_EVENT;

/* -- interface adapters -------------------------------------------------------------- */

/** Name of an IA with the API version and thread safety of its provider. */
typedef struct dat_provider_info {
    char ia_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 dapl_version_major; /**< 2 */
    DAT_UINT32 dapl_version_minor;
    DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/**
 * Opens an interface adapter: finds the name in dat.conf, loads the provider's library and opens
 * its device. Records of dat.conf with the same name, version and thread safety are tried in file
 * order; a thread-safe provider serves a request for one that is not. Programs call dat_ia_open().
 *
 * On failure the caller's variables stay as they were, and one message on stderr says why.
 *
 * Events on the async EVD, as long as the IA is open: DAT_ASYNC_ERROR_EVD_OVERFLOW of an EVD,
 * DAT_ASYNC_ERROR_EP_BROKEN of an EP or an SRQ, DAT_ASYNC_ERROR_IA_CATASTROPHIC of the IA.
 *
 * @param ia_name Name in dat.conf, a string of at most 255 characters.
 * @param async_evd_qlen Number of events that the async EVD must hold; used when one is made.
 * @param async_evd_handle In: DAT_HANDLE_NULL to have an async EVD made, or the async EVD of
 *     another open IA of the device to share it. Out: the async EVD in use.
 * @param ia_handle Out: the IA.
 * @param dapl_version_major Version asked for: 2.
 * @param dapl_version_minor Version asked for: 0.
 * @param is_thread_safe DAT_TRUE to accept only a provider registered as thread safe.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 ia_name is NULL or too long.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 async_evd_qlen is not positive and no async EVD is
 *     given.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 async_evd_handle is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_ASYNC *async_evd_handle is no async EVD of this
 *     device.
 * @return DAT_PROVIDER_NOT_FOUND|DAT_NAME_NOT_REGISTERED No record fits, or none of those that fit
 *     gave a provider.
 * @return DAT_INTERNAL_ERROR (raw) The device is not there.
 * @return DAT_INVALID_ADDRESS (raw) The device's network address cannot be found.
 * @return DAT_INVALID_STATE The library is being unloaded.
 * @return DAT_INSUFFICIENT_RESOURCES No descriptor is left (RLIMIT_NOFILE).
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_qlen,
                                DAT_EVD_HANDLE* async_evd_handle, DAT_IA_HANDLE* ia_handle,
                                DAT_UINT32 dapl_version_major, DAT_UINT32 dapl_version_minor,
                                DAT_BOOLEAN is_thread_safe);

/**
 * Opens an interface adapter by its name, as dat_ia_openv() does with the version and thread safety
 * of udat_config.h: 2.0, and DAT_THREADSAFE, which a program may define before it includes the
 * header.
 *
 * Events: As dat_ia_openv().
 *
 * @param ia_name As for dat_ia_openv().
 * @param async_evd_qlen As for dat_ia_openv().
 * @param async_evd_handle As for dat_ia_openv().
 * @param ia_handle As for dat_ia_openv().
 * @return DAT_SUCCESS
 * @return ... As dat_ia_openv().
 */
#define dat_ia_open(ia_name, async_evd_qlen, async_evd_handle, ia_handle)                         \
    dat_ia_openv((ia_name), (async_evd_qlen), (async_evd_handle), (ia_handle), DAT_VERSION_MAJOR, \
                 DAT_VERSION_MINOR, DAT_THREADSAFE)

/**
 * Tells the attributes of an IA and of its provider.
 *
 * @param ia_handle The IA.
 * @param async_evd_handle Out: the async EVD of the IA. May be NULL.
 * @param ia_attr_mask DAT_IA_FIELD_*, bits; any bit fills the whole structure.
 * @param ia_attr Out: one structure; what it points at stays valid until the IA is closed. May be
 *     NULL when the mask is 0.
 * @param provider_attr_mask DAT_PROVIDER_FIELD_*, bits; any bit fills the whole structure.
 * @param provider_attr Out: one structure, as ia_attr.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 ia_attr_mask has an unknown bit.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 ia_attr is NULL and its mask is not 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 provider_attr is NULL and its mask is not 0.
 */
DAT_RETURN DAT_API dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE* async_evd_handle,
                                DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR* ia_attr,
                                DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                                DAT_PROVIDER_ATTR* provider_attr);

/**
 * Closes an IA; the last close of a provider unloads its library. No other call on the IA or its
 * objects may be under way.
 *
 * @param ia_handle The IA.
 * @param close_flags DAT_CLOSE_ABRUPT_FLAG: connections are cut and all objects are freed.
 *     DAT_CLOSE_GRACEFUL_FLAG: refused while objects exist.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 close_flags is neither.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_IA_IN_USE Graceful, and there are objects besides the
 *     async EVD; or an agent closes the IA of its own CNO.
 * @return DAT_INVALID_STATE (raw) A peer that has been stopped is in the middle of a transfer. Some
 *     objects have been freed already; call again later.
 */
DAT_RETURN DAT_API dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

/**
 * Lists what dat.conf offers, in file order, one entry for each name, version and thread safety.
 * Which of them can be opened only dat_ia_open() finds out.
 *
 * @param max_to_return Number of pointers in the list; 0 asks for the number of entries.
 * @param entries_returned Out: number of entries filled; with max_to_return 0 the number of entries
 *     there are.
 * @param dat_provider_list Array of max_to_return pointers to structures of the caller, which are
 *     filled. May be NULL when max_to_return is 0.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 max_to_return is 0; the number has been stored.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 entries_returned is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 The list or one of the pointers that were to be
 *     used is NULL.
 * @return DAT_INVALID_STATE The library is being unloaded.
 */
DAT_RETURN DAT_API dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT* entries_returned,
                                               DAT_PROVIDER_INFO*(dat_provider_list[]));

/* -- any object ---------------------------------------------------------------------- */

/**
 * Gives an object a word of the program's own. It is 0 until then.
 *
 * @param dat_handle Any object; an IA by its integer.
 * @param context The word, of 64 bits.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 dat_handle is NULL, or the integer of no open IA.
 * @return DAT_INVALID_HANDLE dat_handle is no object.
 */
DAT_RETURN DAT_API dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/**
 * Reads the word that dat_set_consumer_context() stored.
 *
 * @param dat_handle As for dat_set_consumer_context().
 * @param context Out: the word.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 context is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 dat_handle is NULL, or the integer of no open IA.
 * @return DAT_INVALID_HANDLE dat_handle is no object.
 */
DAT_RETURN DAT_API dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT* context);

/**
 * Tells what kind of object a handle names.
 *
 * @param dat_handle As for dat_set_consumer_context().
 * @param handle_type Out: DAT_HANDLE_TYPE_*.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 dat_handle is NULL, or the integer of no open IA.
 * @return DAT_INVALID_HANDLE dat_handle is no object.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 handle_type is NULL.
 */
DAT_RETURN DAT_API dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE* handle_type);

/* -- event dispatchers (more in udat.h) ---------------------------------------------- */

/**
 * Tells an EVD's queue length, flags, state and CNO.
 *
 * @param evd_handle The EVD.
 * @param evd_param_mask Ignored: all members are filled.
 * @param evd_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 evd_param is NULL.
 */
DAT_RETURN DAT_API dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
                                 DAT_EVD_PARAM* evd_param);

/**
 * Changes how many events an EVD holds at least. Those inside stay. An EVD that takes completions
 * keeps the queue of the device when fewer are asked for, so dat_evd_query may give a larger number.
 *
 * States: No thread waits at the EVD.
 *
 * @param evd_handle The EVD.
 * @param evd_qlen Number of events that it must hold, from the number inside to max_evd_qlen of the
 *     IA.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 evd_qlen is above max_evd_qlen of the IA.
 * @return DAT_INVALID_STATE A thread waits, evd_qlen is negative, or more events are inside than it
 *     says.
 * @return DAT_INVALID_STATE (raw) A peer that has been stopped is in the middle of a completion:
 *     call again later.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY evd_qlen is 0.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_TEVD The device cannot make its queue so long.
 */
DAT_RETURN DAT_API dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_qlen);

/**
 * Puts a software event into an EVD, for the program itself. Only the pointer in the event's
 * software_event_data travels.
 *
 * Events on the EVD: DAT_SOFTWARE_EVENT.
 *
 * @param evd_handle The EVD.
 * @param event One event; its event_number must be DAT_SOFTWARE_EVENT. Copied.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 The EVD lacks DAT_EVD_SOFTWARE_FLAG.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 event is NULL or of another number.
 * @return DAT_QUEUE_FULL No room; an async event DAT_ASYNC_ERROR_EVD_OVERFLOW follows.
 */
DAT_RETURN DAT_API dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT* event);

/**
 * Takes the oldest event without waiting.
 *
 * States: Any; the EVD may be disabled and unwaitable. No thread waits at it.
 *
 * @param evd_handle The EVD.
 * @param event Out: the event; untouched when there is none.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 event is NULL.
 * @return DAT_QUEUE_EMPTY There is none.
 * @return DAT_QUEUE_EMPTY (raw) The same, of an EVD that takes DTO or bind completions.
 * @return DAT_INVALID_STATE A thread is in dat_evd_wait(), or events were lost (the queue was
 *     full).
 */
DAT_RETURN DAT_API dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT* event);

/**
 * Frees an EVD with the events inside.
 *
 * @param evd_handle The EVD.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EVD_IN_USE An EP, service point or IA still uses it.
 */
DAT_RETURN DAT_API dat_evd_free(DAT_EVD_HANDLE evd_handle);

/* -- endpoints ----------------------------------------------------------------------- */

/**
 * Makes an endpoint in state UNCONNECTED. With a PZ it can take receives at once. It holds on to
 * its PZ and EVDs, which cannot be freed before it.
 *
 * @param ia_handle The IA.
 * @param pz_handle May be DAT_HANDLE_NULL until dat_ep_modify() sets one, before the EP is
 *     connected.
 * @param recv_evd_handle Where completions of receives go; DAT_HANDLE_NULL for an EP that receives
 *     nothing.
 * @param request_evd_handle Where all other completions go; may be the same.
 * @param connect_evd_handle Where connection events go.
 * @param ep_attr NULL for defaults. Zero members mean defaults too; what dat_ep_query() tells is
 *     accepted here. max_recv_dtos and max_request_dtos are numbers of transfers, max_message_size
 *     and max_rdma_size bytes, max_recv_iov and max_request_iov segments of one transfer. The
 *     defaults are 16 transfers, 4 segments and 4 reads each way, or what the device has if that is
 *     less.
 * @param ep_handle Out: the EP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ of the IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CONN connect_evd_handle is no EVD, or lacks
 *     DAT_EVD_CONNECTION_FLAG.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_RECV recv_evd_handle is no EVD, or lacks
 *     DAT_EVD_DTO_FLAG.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST request_evd_handle is no EVD, or lacks
 *     DAT_EVD_DTO_FLAG.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG7 ep_handle is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 The attributes contradict each other or the EVDs,
 *     or ep_attr is misaligned.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 (raw) The attributes are above the IA's limits.
 * @return DAT_INVALID_PARAMETER (raw) A number is negative, or the service type is none that the
 *     provider has.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no queue pair left.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
                                 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR* ep_attr,
                                 DAT_EP_HANDLE* ep_handle);

/**
 * Makes an endpoint that takes its receives from a shared receive queue.
 *
 * @param ia_handle The IA.
 * @param pz_handle As for dat_ep_create().
 * @param recv_evd_handle As for dat_ep_create().
 * @param request_evd_handle As for dat_ep_create().
 * @param connect_evd_handle As for dat_ep_create().
 * @param srq_handle The SRQ.
 * @param ep_attr As for dat_ep_create(), but no number of transfers or segments may be 0;
 *     srq_soft_hw is the soft high watermark, 0: none.
 * @param ep_handle Out: the EP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ of the IA.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_SRQ_ERROR The device has given the SRQ up.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG8 ep_handle is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 (raw) No receive EVD, a 0 in ep_attr, or a size
 *     above the IA's.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 ep_attr is misaligned.
 * @return ... As dat_ep_create().
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                          DAT_EVD_HANDLE recv_evd_handle,
                                          DAT_EVD_HANDLE request_evd_handle,
                                          DAT_EVD_HANDLE connect_evd_handle,
                                          DAT_SRQ_HANDLE srq_handle, const DAT_EP_ATTR* ep_attr,
                                          DAT_EP_HANDLE* ep_handle);

/**
 * Tells an endpoint's state, addresses, objects and attributes.
 *
 * @param ep_handle The EP.
 * @param ep_param_mask DAT_EP_FIELD_*, bits; any bit fills the whole structure, 0 writes nothing.
 * @param ep_param Out: one structure; its addresses stay valid until the EP is freed.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 ep_param is NULL.
 */
DAT_RETURN DAT_API dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                                DAT_EP_PARAM* ep_param);

/**
 * Changes parts and attributes of an endpoint that is not connected. A side that gets its EVD or
 * loses it, and whose counts the mask does not name, gets those of dat_ep_create() without
 * attributes. Where the change needs another queue pair (PZ, receive and request EVD, DTO and
 * segment counts), receives that are posted come back with DAT_DTO_ERR_FLUSHED.
 *
 * Events on the receive EVD: DAT_DTO_COMPLETION_EVENT of each receive that comes back.
 *
 * States: UNCONNECTED, TENTATIVE_CONNECTION_PENDING, UNCONFIGURED_RESERVED, UNCONFIGURED_PASSIVE,
 * UNCONFIGURED_TENTATIVE; RESERVED, but for the PZ. An EP of the UNCONFIGURED states that is given
 * what it lacked (PZ, connect EVD) takes the state of the same name without the word.
 *
 * @param ep_handle The EP.
 * @param ep_param_mask DAT_EP_FIELD_* of what is to change, bits.
 * @param ep_param One structure with the new values; read only where the mask says so.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The mask names the IA, the state, the communicator
 *     or an address: these cannot be set.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 A value is bad, or an SRQ other than the EP's.
 * @return DAT_INVALID_PARAMETER (raw) The service type is none that the provider has.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is in another state, which the subtype
 *     names.
 * @return DAT_INVALID_STATE (raw) A peer of an earlier connection has been stopped in the middle of
 *     a transfer: call again later.
 * @return DAT_MODEL_NOT_SUPPORTED A provider-specific attribute asks for what the device does not
 *     have.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no more, or memory is short.
 */
DAT_RETURN DAT_API dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                                 const DAT_EP_PARAM* ep_param);

/**
 * Starts a connection to a service point. It returns at once; what becomes of the connection an
 * event tells.
 *
 * Events on the connect EVD, one of: DAT_CONNECTION_EVENT_ESTABLISHED with the private data of the
 * acceptor; DAT_CONNECTION_EVENT_PEER_REJECTED with that of the refusal;
 * DAT_CONNECTION_EVENT_NON_PEER_REJECTED, where nobody listens; DAT_CONNECTION_EVENT_UNREACHABLE;
 * DAT_CONNECTION_EVENT_TIMED_OUT; DAT_CONNECTION_EVENT_BROKEN.
 *
 * States: UNCONNECTED; of a datagram EP any. From a successful call on the EP is
 * ACTIVE_CONNECTION_PENDING, with the event CONNECTED, or DISCONNECTED when it tells of a failure.
 * After an error of the call it is as before.
 *
 * @param ep_handle The EP.
 * @param remote_ia_address Socket address of the peer's IA, a struct sockaddr of AF_INET or
 *     AF_INET6; its port does not matter. Copied.
 * @param remote_conn_qual Qualifier that the peer's service point listens on, 64 bits in host
 *     order.
 * @param timeout Microseconds until DAT_CONNECTION_EVENT_TIMED_OUT, or DAT_TIMEOUT_INFINITE.
 * @param private_data_size Number of bytes, 0 to max_private_data_size of the provider.
 * @param private_data Bytes for the peer, in its connection request; copied. May be NULL when their
 *     number is 0.
 * @param qos DAT_QOS_BEST_EFFORT.
 * @param connect_flags DAT_CONNECT_DEFAULT_FLAG.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 remote_ia_address is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 timeout is 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 private_data_size is negative or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 private_data is NULL and private_data_size is not
 *     0.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CONN The EP has no connect EVD.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ, or its connect EVD
 *     lacks DAT_EVD_CONNECTION_FLAG.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not UNCONNECTED.
 * @return DAT_MODEL_NOT_SUPPORTED qos or connect_flags are others than these.
 * @return DAT_INVALID_ADDRESS (raw) The provider has no way to this address.
 */
DAT_RETURN DAT_API dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
                                  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
                                  DAT_COUNT private_data_size, const DAT_PVOID private_data,
                                  DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags);

/**
 * Connects to the peer of another endpoint, as dat_ep_connect() with that one's address and
 * qualifier.
 *
 * Events: As dat_ep_connect().
 *
 * States: Of ep_handle UNCONNECTED, of dup_ep_handle CONNECTED; from then on as for
 * dat_ep_connect().
 *
 * @param ep_handle The EP.
 * @param dup_ep_handle An EP that is CONNECTED.
 * @param timeout As for dat_ep_connect().
 * @param private_data_size As for dat_ep_connect().
 * @param private_data As for dat_ep_connect().
 * @param qos As for dat_ep_connect().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle or dup_ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 timeout is 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 private_data_size is negative or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 private_data is NULL and private_data_size is not
 *     0.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* dup_ep_handle is not CONNECTED, or ep_handle not
 *     UNCONNECTED.
 * @return ... As dat_ep_connect().
 */
DAT_RETURN DAT_API dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
                                      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
                                      const DAT_PVOID private_data, DAT_QOS qos);

/**
 * Connects to a common service point.
 *
 * Events: As dat_ep_connect().
 *
 * States: As for dat_ep_connect().
 *
 * @param ep_handle The EP.
 * @param remote_ia_address Socket address of the peer's CSP, family AF_INET, with its port in
 *     network order. Copied.
 * @param timeout As for dat_ep_connect().
 * @param private_data_size As for dat_ep_connect().
 * @param private_data As for dat_ep_connect().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 remote_ia_address is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_ADDRESS|DAT_INVALID_ADDRESS_MALFORMED remote_ia_address is not AF_INET, or
 *     has no port.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 timeout is 0.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 private_data_size is negative or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 private_data is NULL and private_data_size is not
 *     0.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no common service points.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CONN The EP has no connect EVD.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ, or its connect EVD
 *     lacks DAT_EVD_CONNECTION_FLAG.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not UNCONNECTED.
 * @return DAT_INVALID_ADDRESS (raw) The provider has no way to this address.
 */
DAT_RETURN DAT_API dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
                                         DAT_IA_ADDRESS_PTR remote_ia_address, DAT_TIMEOUT timeout,
                                         DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * Disconnects an endpoint: ends its connection, or gives up one that is being made. Gracefully: the
 * requests that are posted are done first, while the EP is DISCONNECT_PENDING and takes no more;
 * the call does not wait for them. Where the peer never lets them finish, an abrupt disconnect, the
 * peer's own or an error ends it. Work that is posted when the connection goes down completes with
 * DAT_DTO_ERR_FLUSHED.
 *
 * Events on the connect EVD: DAT_CONNECTION_EVENT_DISCONNECTED, once, on both sides.
 *
 * States: CONNECTED, ACTIVE_CONNECTION_PENDING, COMPLETION_PENDING; abruptly also
 * DISCONNECT_PENDING. In DISCONNECTED, and for a datagram EP, the call does nothing. Afterwards the
 * EP is DISCONNECTED, or DISCONNECT_PENDING until a graceful disconnect is done.
 *
 * @param ep_handle The EP.
 * @param close_flags DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 Graceful, and the EP is in DISCONNECT_PENDING
 *     already.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP has no connection and none is being made.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);

/**
 * Tells an endpoint's state and how much work is posted. The two numbers are kept although their
 * names say the opposite: 0 means idle.
 *
 * @param ep_handle The EP.
 * @param ep_state Out: DAT_EP_STATE_*. May be NULL.
 * @param recv_idle Out: number of receives whose completion was not taken yet. May be NULL.
 * @param request_idle Out: number of requests whose completion was not taken yet. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 */
DAT_RETURN DAT_API dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE* ep_state,
                                     DAT_BOOLEAN* recv_idle, DAT_BOOLEAN* request_idle);

/**
 * Tells how many receive buffers an endpoint with SRQ holds.
 *
 * @param ep_handle The EP.
 * @param nbufs_allocated Out: number of receives that messages have taken and whose events the
 *     consumer has not. May be NULL.
 * @param bufs_alloc_span Out: number of receives that were posted from the oldest to the newest of
 *     them. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 */
DAT_RETURN DAT_API dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT* nbufs_allocated,
                                     DAT_COUNT* bufs_alloc_span);

/**
 * Limits how many receives an endpoint takes from its SRQ. They are counted as by
 * dat_ep_recv_query(), whenever the consumer waits on the receive EVD or dequeues from it. A
 * watermark that has acted is off until it is set again.
 *
 * Events on the async EVD: DAT_ASYNC_ERROR_EP_BROKEN with reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT,
 * once for each setting. On the connect EVD: DAT_CONNECTION_EVENT_BROKEN.
 *
 * States: The EP has an SRQ.
 *
 * @param ep_handle The EP.
 * @param soft_high_watermark Number of receives. When the EP holds more, perhaps already now, there
 *     is the async event; DAT_WATERMARK_INFINITE: never.
 * @param hard_high_watermark Number of receives. When the EP holds more the connection is broken;
 *     DAT_WATERMARK_INFINITE: never.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 soft_high_watermark is negative.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 hard_high_watermark is negative or below the soft.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_RECV_WATERMARK The EP has no SRQ, or holds more
 *     than the hard watermark.
 */
DAT_RETURN DAT_API dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
                                        DAT_COUNT hard_high_watermark);

/**
 * Makes a disconnected endpoint usable again, without posted work. Completions not taken yet stay
 * in their EVD.
 *
 * States: DISCONNECTED; afterwards the EP is UNCONNECTED. In UNCONNECTED the call does nothing.
 *
 * @param ep_handle The EP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is neither DISCONNECTED nor UNCONNECTED.
 * @return DAT_INVALID_STATE (raw) The peer has been stopped in the middle of a transfer, which may
 *     still arrive: call again later.
 */
DAT_RETURN DAT_API dat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * Frees an endpoint. A connection is ended as by an abrupt dat_ep_disconnect(). Events that name it
 * stay in their EVDs.
 *
 * Events on the connect EVD, when there was a connection: DAT_CONNECTION_EVENT_DISCONNECTED, on
 * both sides.
 *
 * States: All but RESERVED, PASSIVE_CONNECTION_PENDING, TENTATIVE_CONNECTION_PENDING and the
 * UNCONFIGURED ones.
 *
 * @param ep_handle The EP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is in RESERVED,
 *     PASSIVE_CONNECTION_PENDING or TENTATIVE_CONNECTION_PENDING.
 * @return DAT_INVALID_STATE (raw) The peer has been stopped in the middle of a transfer, which may
 *     still arrive. The connection has ended; call again later.
 */
DAT_RETURN DAT_API dat_ep_free(DAT_EP_HANDLE ep_handle);

/* -- transfers ----------------------------------------------------------------------- */

/**
 * Posts a send, which fills the peer's oldest receive. The segments must stay as they are until the
 * completion; the list itself is copied.
 *
 * Events on the request EVD: DAT_DTO_COMPLETION_EVENT with the cookie, unless suppressed. Errors
 * always complete.
 *
 * States: CONNECTED; DISCONNECTED, where the work completes at once with DAT_DTO_ERR_FLUSHED.
 *
 * @param ep_handle The EP.
 * @param num_segments Number of segments in local_iov, at most max_request_iov of the EP; 0 sends
 *     an empty message.
 * @param local_iov Array of num_segments segments (address, length in bytes, lmr_context) of memory
 *     to send, registered in the EP's PZ. May be NULL when num_segments is 0.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags DAT_COMPLETION_*, bits: suppress the completion, wake a peer that waits
 *     for solicited events, or wait for earlier reads.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_UNCONNECTED The EP is in another state, whichever.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INVALID_PARAMETER (raw) num_segments is negative or above the limit.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 local_iov is NULL and num_segments is not 0.
 * @return DAT_LENGTH_ERROR (raw) The segments are together longer than any message may be.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no queue pair any more:
 *     another thread ends or resets it.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION With shared registrations: a
 *     segment's region was revoked, and is not registered again within
 *     OPENDAT_REGISTRATION_WAIT.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE With shared registrations: a segment's
 *     region is being revoked.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE With shared registrations: a segment's
 *     region is revoked, and the program is to renew it.
 */
DAT_RETURN DAT_API dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                    DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie,
                                    DAT_COMPLETION_FLAGS completion_flags);

/**
 * Posts a receive for one message of the peer.
 *
 * States: Any, also before the EP is connected. In DISCONNECTED it completes at once with
 * DAT_DTO_ERR_FLUSHED.
 *
 * Events on the receive EVD: DAT_DTO_COMPLETION_EVENT with the cookie and the length received.
 *
 * @param ep_handle The EP.
 * @param num_segments Number of segments in local_iov, at most max_recv_iov of the EP; 0 takes an
 *     empty message.
 * @param local_iov Array of num_segments segments of memory to fill, registered with
 *     DAT_MEM_PRIV_LOCAL_WRITE_FLAG in the EP's PZ; together at least as long as the message.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags DAT_COMPLETION_DEFAULT_FLAG.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The receive queue is full: max_recv_dtos
 *     are posted and not taken.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_SRQ_IN_USE The EP takes its receives from an SRQ.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no PZ yet.
 * @return DAT_INVALID_PARAMETER (raw) num_segments is negative or above the limit.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 local_iov is NULL and num_segments is not 0.
 * @return DAT_LENGTH_ERROR (raw) The segments are together longer than any message may be.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no receive EVD.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION With shared registrations: a
 *     segment's region was revoked, and is not registered again within
 *     OPENDAT_REGISTRATION_WAIT.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE With shared registrations: a segment's
 *     region is being revoked.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE With shared registrations: a segment's
 *     region is revoked, and the program is to renew it.
 */
DAT_RETURN DAT_API dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                    DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie,
                                    DAT_COMPLETION_FLAGS completion_flags);

/**
 * Posts a write into the peer's memory. Nothing completes at the peer; its bytes are placed in
 * order, so that who sees the last one sees all.
 *
 * Events: As dat_ep_post_send().
 *
 * States: As for dat_ep_post_send().
 *
 * @param ep_handle The EP.
 * @param num_segments Number of segments in local_iov, at most max_request_iov of the EP; 0 writes
 *     nothing.
 * @param local_iov Array of num_segments segments (address, length in bytes, lmr_context) of memory
 *     to write from, registered in the EP's PZ. May be NULL when num_segments is 0.
 * @param user_cookie As for dat_ep_post_send().
 * @param remote_iov One segment to write to: virtual_address and rmr_context in the peer, which has
 *     registered it with DAT_MEM_PRIV_REMOTE_WRITE_FLAG. Its segment_length is not read: as many
 *     bytes are written as the local segments have.
 * @param completion_flags As for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 remote_iov is NULL.
 * @return ... As dat_ep_post_send().
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no queue pair any more:
 *     another thread ends or resets it.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION With shared registrations: a
 *     segment's region was revoked, and is not registered again within
 *     OPENDAT_REGISTRATION_WAIT.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE With shared registrations: a segment's
 *     region is being revoked.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE With shared registrations: a segment's
 *     region is revoked, and the program is to renew it.
 */
DAT_RETURN DAT_API dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                          DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie,
                                          const DAT_RMR_TRIPLET* remote_iov,
                                          DAT_COMPLETION_FLAGS completion_flags);

/**
 * Posts a read of the peer's memory. Nothing completes at the peer.
 *
 * Events: As dat_ep_post_send().
 *
 * States: As for dat_ep_post_send().
 *
 * @param ep_handle The EP.
 * @param num_segments Number of segments in local_iov, at most max_request_iov of the EP and
 *     max_iov_segments_per_rdma_read of the IA; 0 reads nothing.
 * @param local_iov Array of num_segments segments (address, length in bytes, lmr_context) of memory
 *     to fill, registered with DAT_MEM_PRIV_LOCAL_WRITE_FLAG in the EP's PZ. May be NULL when
 *     num_segments is 0.
 * @param user_cookie As for dat_ep_post_send().
 * @param remote_iov One segment to read from: virtual_address and rmr_context in the peer, which
 *     has registered it with DAT_MEM_PRIV_REMOTE_READ_FLAG. Its segment_length is not read: as many
 *     bytes come as the local segments have.
 * @param completion_flags As for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 remote_iov is NULL.
 * @return ... As dat_ep_post_send().
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_NOTREADY The EP has no queue pair any more:
 *     another thread ends or resets it.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION With shared registrations: a
 *     segment's region was revoked, and is not registered again within
 *     OPENDAT_REGISTRATION_WAIT.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE With shared registrations: a segment's
 *     region is being revoked.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE With shared registrations: a segment's
 *     region is revoked, and the program is to renew it.
 */
DAT_RETURN DAT_API dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                         DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie,
                                         const DAT_RMR_TRIPLET* remote_iov,
                                         DAT_COMPLETION_FLAGS completion_flags);

/**
 * Posts a send that also takes a remote memory context out of use at the peer: one that the peer
 * has bound to its end of this connection, with an RMR of dat_rmr_create_for_ep(). The peer's
 * receive completes as DAT_DTO_RECEIVE_WITH_INVALIDATE and names the context. Any other context
 * fails the send (DAT_DTO_ERR_REMOTE_ACCESS) and breaks the connection.
 *
 * Events: As dat_ep_post_send().
 *
 * States: As for dat_ep_post_send().
 *
 * @param ep_handle The EP.
 * @param num_segments As for dat_ep_post_send().
 * @param local_iov As for dat_ep_post_send().
 * @param user_cookie As for dat_ep_post_send().
 * @param completion_flags As for dat_ep_post_send().
 * @param invalidate_flag DAT_TRUE to invalidate; with DAT_FALSE the call is dat_ep_post_send().
 * @param rmr_context The peer's context to invalidate, in host order.
 * @return DAT_SUCCESS
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The adapter has no memory windows of this kind.
 * @return ... As dat_ep_post_send().
 */
DAT_RETURN DAT_API dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                                    DAT_LMR_TRIPLET* local_iov,
                                                    DAT_DTO_COOKIE user_cookie,
                                                    DAT_COMPLETION_FLAGS completion_flags,
                                                    DAT_BOOLEAN invalidate_flag,
                                                    DAT_RMR_CONTEXT rmr_context);

/**
 * Posts a read of the peer's memory into a remote memory region of this side.
 *
 * Events: As dat_ep_post_send().
 *
 * States: As for dat_ep_post_send().
 *
 * @param ep_handle The EP.
 * @param local_iov One segment to fill: address, length in bytes, and the context that
 *     dat_rmr_bind() gave.
 * @param user_cookie As for dat_ep_post_send().
 * @param remote_iov As for dat_ep_post_rdma_read().
 * @param completion_flags As for dat_ep_post_send().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 local_iov is NULL, its RMR is not bound under this
 *     context, or it reaches beyond what the RMR is bound to.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 remote_iov is NULL.
 * @return DAT_PRIVILEGES_VIOLATION The RMR is bound without remote write.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The adapter has no memory windows.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_UNCONNECTED The EP is in another state, whichever.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The request queue is full:
 *     max_request_dtos are posted and not taken.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 */
DAT_RETURN DAT_API dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
                                                const DAT_RMR_TRIPLET* local_iov,
                                                DAT_DTO_COOKIE user_cookie,
                                                const DAT_RMR_TRIPLET* remote_iov,
                                                DAT_COMPLETION_FLAGS completion_flags);

/* -- service points and connection requests ------------------------------------------ */

/**
 * Listens on a qualifier. Each request of a peer is a connection request object, to be answered
 * with dat_cr_accept() or dat_cr_reject().
 *
 * Events on the EVD: DAT_CONNECTION_REQUEST_EVENT with the CR, this PSP and the qualifier.
 *
 * @param ia_handle The IA.
 * @param conn_qual Qualifier that peers connect to, in host order; all 64 bits count.
 * @param evd_handle EVD with DAT_EVD_CR_FLAG.
 * @param psp_flags DAT_PSP_CONSUMER_FLAG: the program brings the EP when it accepts.
 *     DAT_PSP_PROVIDER_FLAG: each request brings one without PZ and EVDs (dat_cr_query(),
 *     local_ep_handle), which dat_ep_modify() completes before it is accepted.
 * @param psp_handle Out: the PSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CR evd_handle is no EVD of the IA, or lacks
 *     DAT_EVD_CR_FLAG.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 psp_handle is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 psp_flags is unknown.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) DAT_PSP_PROVIDER_FLAG, and the provider makes no EPs.
 * @return DAT_CONN_QUAL_IN_USE A PSP of this IA listens there.
 * @return DAT_CONN_QUAL_IN_USE (raw) Somebody else does.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no more, or memory is short.
 * @return DAT_INVALID_PARAMETER (raw) The provider's qualifiers have 16 bits, and conn_qual has
 *     none of them (libdaploucm).
 */
DAT_RETURN DAT_API dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                                  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                                  DAT_PSP_HANDLE* psp_handle);

/**
 * Listens on a free qualifier below 65536 that the provider chooses. In all else it is
 * dat_psp_create().
 *
 * Events: As dat_psp_create().
 *
 * @param ia_handle The IA.
 * @param conn_qual Out: the qualifier, in host order.
 * @param evd_handle As for dat_psp_create().
 * @param psp_flags As for dat_psp_create().
 * @param psp_handle Out: the PSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 conn_qual is NULL.
 * @return DAT_CONN_QUAL_UNAVAILABLE (raw) None is free.
 * @return ... As dat_psp_create().
 */
DAT_RETURN DAT_API dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL* conn_qual,
                                      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                                      DAT_PSP_HANDLE* psp_handle);

/**
 * Tells a PSP's IA, qualifier, EVD and flags.
 *
 * @param psp_handle The PSP.
 * @param psp_param_mask Ignored: all members are filled.
 * @param psp_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PSP psp_handle is no PSP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 psp_param is NULL.
 */
DAT_RETURN DAT_API dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
                                 DAT_PSP_PARAM* psp_param);

/**
 * Stops listening. Requests that have arrived can still be answered.
 *
 * @param psp_handle The PSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PSP psp_handle is no PSP.
 */
DAT_RETURN DAT_API dat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * Listens on a qualifier for one connection, for an endpoint that is set aside for it (state
 * RESERVED). The EP cannot be freed before the request has been answered or the RSP is freed; peers
 * that come after the first are rejected.
 *
 * Events on the EVD: DAT_CONNECTION_REQUEST_EVENT, once.
 *
 * States: The EP is UNCONNECTED; then RESERVED, from the request on PASSIVE_CONNECTION_PENDING. One
 * without PZ or connect EVD is UNCONFIGURED_RESERVED and UNCONFIGURED_PASSIVE in their place until
 * dat_ep_modify() gives it both.
 *
 * @param ia_handle The IA.
 * @param conn_qual As for dat_psp_create().
 * @param ep_handle The EP.
 * @param evd_handle EVD with DAT_EVD_CR_FLAG.
 * @param rsp_handle Out: the RSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP of the IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CR evd_handle is no EVD of the IA, or lacks
 *     DAT_EVD_CR_FLAG.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 rsp_handle is NULL.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not UNCONNECTED.
 * @return DAT_CONN_QUAL_IN_USE An RSP of this IA listens there.
 * @return DAT_CONN_QUAL_IN_USE (raw) Somebody else does.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no reserved service points.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                                  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
                                  DAT_RSP_HANDLE* rsp_handle);

/**
 * Tells an RSP's IA, qualifier, EVD and EP.
 *
 * @param rsp_handle The RSP.
 * @param rsp_param_mask Ignored: all members are filled.
 * @param rsp_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_RSP rsp_handle is no RSP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 rsp_param is NULL.
 */
DAT_RETURN DAT_API dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
                                 DAT_RSP_PARAM* rsp_param);

/**
 * Frees an RSP.
 *
 * States: Its EP is UNCONNECTED again if no request has come.
 *
 * @param rsp_handle The RSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_RSP rsp_handle is no RSP.
 */
DAT_RETURN DAT_API dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * Listens on a socket address in the way of the sockets interface.
 *
 * Peers reach it with dat_ep_common_connect(), or with dat_ep_connect() and the port as the
 * qualifier. Its requests are accepted with an EP of the consumer's choice.
 *
 * Events on the EVD: DAT_CONNECTION_REQUEST_EVENT for each request; conn_qual is the port.
 *
 * @param ia_handle The IA.
 * @param comm Socket domain, type and protocol: AF_INET, SOCK_STREAM, 0 or IPPROTO_TCP.
 * @param ia_address Socket address: family AF_INET, address of the IA or INADDR_ANY, port in
 *     network order. With port 0 a free one is chosen; dat_csp_query() tells which.
 * @param evd_handle EVD with DAT_EVD_CR_FLAG.
 * @param csp_handle Out: the CSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 comm is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 ia_address is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_CR evd_handle is no EVD of the IA, or lacks
 *     DAT_EVD_CR_FLAG.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 csp_handle is NULL.
 * @return DAT_COMM_NOT_SUPPORTED There are no such addresses.
 * @return DAT_INVALID_ADDRESS|DAT_INVALID_ADDRESS_MALFORMED ia_address is not AF_INET.
 * @return DAT_INVALID_ADDRESS|DAT_INVALID_ADDRESS_UNSUPPORTED It is not the IA's.
 * @return DAT_CONN_QUAL_IN_USE A CSP of this IA listens there.
 * @return DAT_CONN_QUAL_IN_USE (raw) Somebody else does.
 * @return DAT_CONN_QUAL_UNAVAILABLE (raw) No port is free.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no common service points.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no more, or memory is short.
 */
DAT_RETURN DAT_API dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM* comm,
                                  DAT_IA_ADDRESS_PTR ia_address, DAT_EVD_HANDLE evd_handle,
                                  DAT_CSP_HANDLE* csp_handle);

/**
 * Tells a CSP's IA, socket kind, address and EVD.
 *
 * @param csp_handle The CSP.
 * @param csp_param_mask Ignored: all members are filled.
 * @param csp_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CSP csp_handle is no CSP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 csp_param is NULL.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no common service points.
 */
DAT_RETURN DAT_API dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
                                 DAT_CSP_PARAM* csp_param);

/**
 * Stops listening on a socket address. Requests that have arrived can still be answered.
 *
 * @param csp_handle The CSP.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CSP csp_handle is no CSP.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no common service points.
 */
DAT_RETURN DAT_API dat_csp_free(DAT_CSP_HANDLE csp_handle);

/**
 * Tells who asks for a connection, with what private data.
 *
 * @param cr_handle The CR.
 * @param cr_param_mask Ignored: all members are filled.
 * @param cr_param Out: one structure; address and private data (private_data_size bytes) stay valid
 *     until the request is accepted or rejected.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CR cr_handle is no CR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 cr_param is NULL.
 */
DAT_RETURN DAT_API dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
                                DAT_CR_PARAM* cr_param);

/**
 * Accepts a connection request. The CR is gone when the call succeeds; after an error it can be
 * rejected.
 *
 * Events on the EP's connect EVD: DAT_CONNECTION_EVENT_ESTABLISHED without private data, or
 * DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR when the peer has gone. The peer's first message may
 * be there before it.
 *
 * States: The EP is UNCONNECTED; one that came with the CR PASSIVE_CONNECTION_PENDING or
 * TENTATIVE_CONNECTION_PENDING. It has a PZ and a connect EVD. Then it is COMPLETION_PENDING, with
 * the event CONNECTED or DISCONNECTED.
 *
 * @param cr_handle The CR.
 * @param ep_handle The EP to connect; for a CR with an EP of its own (dat_cr_query(),
 *     local_ep_handle) that one or DAT_HANDLE_NULL.
 * @param private_data_size Number of bytes, 0 to max_private_data_size of the provider.
 * @param private_data Bytes for the peer, in its DAT_CONNECTION_EVENT_ESTABLISHED; copied. May be
 *     NULL when their number is 0.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CR cr_handle is no CR.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP, is not the CR's own, or
 *     lacks PZ or connect EVD.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 private_data_size is negative or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 private_data is NULL and private_data_size is not
 *     0.
 * @return DAT_INVALID_STATE (raw) The EP is in another state.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
                                 DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * Refuses a connection request. The CR is gone when the call succeeds, and with it the EP that a
 * provider-flag PSP made for it; that of an RSP is UNCONNECTED again.
 *
 * Events on the connect EVD of the peer: DAT_CONNECTION_EVENT_PEER_REJECTED with the private data.
 *
 * @param cr_handle The CR.
 * @param private_data_size Number of bytes, 0 to max_private_data_size of the provider.
 * @param private_data Bytes for the peer, in that event; copied. May be NULL when their number is
 *     0.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CR cr_handle is no CR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 private_data_size is negative or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 private_data is NULL and private_data_size is not
 *     0.
 */
DAT_RETURN DAT_API dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
                                 const DAT_PVOID private_data);

/**
 * Hands a connection request to another service point of the IA. This CR is gone, as after
 * dat_cr_reject(), but that the peer notices nothing.
 *
 * Events on the EVD of that service point: DAT_CONNECTION_REQUEST_EVENT with a new CR.
 *
 * @param cr_handle The CR.
 * @param conn_qual Qualifier of that service point, in host order.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CR cr_handle is no CR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 No service point of the IA takes requests there:
 *     none listens, or it is an RSP that has had its request.
 * @return DAT_NOT_IMPLEMENTED The provider does not have it.
 */
DAT_RETURN DAT_API dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL conn_qual);

/* -- memory (more in udat.h) --------------------------------------------------------- */

/**
 * Makes a protection zone: EPs reach only memory of their own zone.
 *
 * @param ia_handle The IA.
 * @param pz_handle Out: the PZ.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 pz_handle is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has none left.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE* pz_handle);

/**
 * Tells a PZ's IA.
 *
 * @param pz_handle The PZ.
 * @param pz_param_mask Ignored: all members are filled.
 * @param pz_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 pz_param is NULL.
 */
DAT_RETURN DAT_API dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
                                DAT_PZ_PARAM* pz_param);

/**
 * Frees a protection zone.
 *
 * @param pz_handle The PZ.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_PZ_IN_USE An EP, LMR, RMR or SRQ is in it.
 */
DAT_RETURN DAT_API dat_pz_free(DAT_PZ_HANDLE pz_handle);

/**
 * Deregisters memory. Transfers that use it end with an error.
 *
 * @param lmr_handle The LMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr_handle is no LMR.
 * @return DAT_INVALID_STATE (raw) An RMR is bound, or a stopped peer is using it: call again later.
 */
DAT_RETURN DAT_API dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/**
 * Makes what the CPU wrote visible to reads of peers, on machines where it is not by itself.
 *
 * @param ia_handle The IA.
 * @param local_segments Array of num_segments segments (address, length in bytes) of the memory
 *     concerned.
 * @param num_segments Number of segments in local_segments.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 local_segments is NULL and num_segments is not 0,
 *     or one goes beyond the end of the address space.
 */
DAT_RETURN DAT_API dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
                                          const DAT_LMR_TRIPLET* local_segments,
                                          DAT_VLEN num_segments);

/**
 * Makes what peers wrote visible to the CPU, on machines where it is not by itself.
 *
 * @param ia_handle The IA.
 * @param local_segments Array of num_segments segments (address, length in bytes) of the memory
 *     concerned.
 * @param num_segments Number of segments in local_segments.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 local_segments is NULL and num_segments is not 0,
 *     or one goes beyond the end of the address space.
 */
DAT_RETURN DAT_API dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
                                           const DAT_LMR_TRIPLET* local_segments,
                                           DAT_VLEN num_segments);

/**
 * Makes a remote memory region (memory window), to be bound with dat_rmr_bind() for all endpoints
 * of a PZ.
 *
 * @param pz_handle The PZ.
 * @param rmr_handle Out: the RMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 rmr_handle is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION The adapter has no more.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The adapter has no memory windows (max_rmrs is 0).
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE* rmr_handle);

/**
 * Makes a remote memory region that is bound for one EP at a time, the one that it is bound
 * through. It is unbound when that EP is reset or freed, or when the peer asks for it
 * (dat_ep_post_send_with_invalidate()).
 *
 * @param pz_handle The PZ.
 * @param rmr_handle Out: the RMR.
 * @return DAT_SUCCESS
 * @return ... As dat_rmr_create().
 */
DAT_RETURN DAT_API dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE* rmr_handle);

/**
 * Tells what an RMR is bound to.
 *
 * @param rmr_handle The RMR.
 * @param rmr_param_mask DAT_RMR_FIELD_*, bits. All members are filled, whatever it says.
 * @param rmr_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_RMR rmr_handle is no RMR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The triplet is asked for, and the RMR is not
 *     bound.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 rmr_param is NULL.
 */
DAT_RETURN DAT_API dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
                                 DAT_RMR_PARAM* rmr_param);

/**
 * Binds an RMR to a part of an LMR, or unbinds it with a segment length of 0.
 *
 * Events on the EP's request EVD, whether or not that has DAT_EVD_RMR_BIND_FLAG:
 * DAT_RMR_BIND_COMPLETION_EVENT. The bind takes one of the EP's requests; two where an RMR of
 * dat_rmr_create_for_ep() is bound anew without having been unbound. One that fails breaks the
 * connection and leaves the RMR unbound.
 *
 * States: The EP is CONNECTED. An RMR of dat_rmr_create_for_ep() is unbound, or bound for this EP.
 *
 * @param rmr_handle The RMR.
 * @param lmr_handle Registered memory. Not looked at when unbinding.
 * @param lmr_triplet One segment, the part of it: address, length in bytes (0 unbinds),
 *     lmr_context.
 * @param mem_priv DAT_MEM_PRIV_*, bits: what peers may do there. The local privileges mean nothing
 *     here.
 * @param va_type DAT_VA_TYPE_VA; DAT_VA_TYPE_ZB: peers count addresses from 0.
 * @param ep_handle The EP, which orders the bind with its transfers.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags DAT_COMPLETION_*, bits, as for dat_ep_post_send().
 * @param rmr_context Out: what peers name the memory by, 32 bits in host order; another one after
 *     each bind. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_RMR rmr_handle is no RMR.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep_handle is no EP.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr_handle is no LMR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 The part is not all inside the LMR, or names
 *     another one; unbinding: the EP is in another PZ than the RMR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lmr_triplet is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 LMR, EP and RMR are not in one PZ; or
 *     completion_flags suppress what the EP's request_completion_flags do not.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not CONNECTED.
 * @return DAT_INVALID_STATE The RMR is bound for another EP.
 * @return DAT_PRIVILEGES_VIOLATION Peers shall write to an LMR without local write.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The EP has no free request.
 * @return DAT_INTERNAL_ERROR (raw) The EP has no request EVD.
 */
DAT_RETURN DAT_API dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
                                const DAT_LMR_TRIPLET* lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
                                DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
                                DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
                                DAT_RMR_CONTEXT* rmr_context);

/**
 * Frees an RMR, unbinding it.
 *
 * @param rmr_handle The RMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_RMR rmr_handle is no RMR.
 * @return DAT_INVALID_STATE (raw) A peer that has been stopped is in the middle of a transfer that
 *     came by the RMR. It is bound to nothing; call again later.
 */
DAT_RETURN DAT_API dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* -- shared receive queues ----------------------------------------------------------- */

/**
 * Makes a shared receive queue: receives for messages to any of several endpoints.
 *
 * Events on the async EVD: DAT_ASYNC_ERROR_EP_BROKEN with reason DAT_SRQ_LOW_WATERMARK_EVENT, once,
 * when fewer receives are posted than the low watermark says.
 *
 * @param ia_handle The IA.
 * @param pz_handle Zone of the memory in its receives.
 * @param srq_attr max_recv_dtos: number of receives that it holds, 1 to max_recv_per_srq of the IA;
 *     max_recv_iov: segments of each; low_watermark: as for dat_srq_set_lw(), 0 for none.
 * @param srq_handle Out: the SRQ.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ of the IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 srq_attr is NULL, or its low watermark negative.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) No receives at all, or more than the IA's limits.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 srq_handle is NULL.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider has no SRQs.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                  DAT_SRQ_ATTR* srq_attr, DAT_SRQ_HANDLE* srq_handle);

/**
 * Tells an SRQ's state, sizes and how many receives are posted.
 *
 * @param srq_handle The SRQ.
 * @param srq_param_mask Ignored: all members are filled.
 * @param srq_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 srq_param is NULL.
 */
DAT_RETURN DAT_API dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
                                 DAT_SRQ_PARAM* srq_param);

/**
 * Posts a receive for a message to any of the queue's endpoints.
 *
 * Events on that endpoint's receive EVD: DAT_DTO_COMPLETION_EVENT.
 *
 * @param srq_handle The SRQ.
 * @param num_segments Number of segments in local_iov, at most max_recv_iov of the SRQ.
 * @param local_iov Array of num_segments segments (address, length in bytes, lmr_context) of memory
 *     to fill, registered with DAT_MEM_PRIV_LOCAL_WRITE_FLAG in the SRQ's PZ.
 * @param user_cookie 64 bits that come back in the completion.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The queue is full: max_recv_dtos are
 *     posted and not taken.
 * @return DAT_INVALID_PARAMETER (raw) num_segments is negative or above the limit.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 local_iov is NULL and num_segments is not 0.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION With shared registrations: a
 *     segment's region was revoked, and is not registered again within
 *     OPENDAT_REGISTRATION_WAIT.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE With shared registrations: a segment's
 *     region is being revoked.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE With shared registrations: a segment's
 *     region is revoked, and the program is to renew it.
 */
DAT_RETURN DAT_API dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                                     DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * Changes how many receives an SRQ can hold.
 *
 * @param srq_handle The SRQ.
 * @param max_recv_dtos New number of receives, above the low watermark.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ.
 * @return DAT_INVALID_STATE More are posted, or the number is not above the low watermark.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The number is above max_recv_per_srq of the IA.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_SRQ The device cannot make its queue so long.
 */
DAT_RETURN DAT_API dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos);

/**
 * Sets the number of receives below which an async event warns, once.
 *
 * Events: As dat_srq_create().
 *
 * @param srq_handle The SRQ.
 * @param low_watermark Number of receives, at most max_recv_dtos of the SRQ; 0: no event.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 low_watermark is negative or above the SRQ's size.
 */
DAT_RETURN DAT_API dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/**
 * Frees an SRQ with the receives still posted.
 *
 * @param srq_handle The SRQ.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_SRQ srq_handle is no SRQ.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_SRQ_IN_USE An EP takes receives from it.
 */
DAT_RETURN DAT_API dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/* -- extensions and errors ----------------------------------------------------------- */

/** An operation of an extension, such as a DAT_IB_OP. */
typedef int DAT_EXTENDED_OP;
/** Bits in an operation's number that make it an open or a close. */
#define DAT_OPEN_EXTENSION_BASE 0x1000
#define DAT_CLOSE_EXTENSION_BASE 0x2000

/**
 * Calls an operation of an extension. Programs use the macros of the extension's header. What an
 * operation answers besides stands with its macro.
 *
 * @param handle Object that the operation works on; an IA by its integer.
 * @param operation With the bit DAT_OPEN_EXTENSION_BASE a query by name: the arguments are a name,
 *     where the handle goes, and more. With DAT_CLOSE_EXTENSION_BASE the end of one.
 * @param ... The operation's arguments, of exactly the types it expects.
 * @return DAT_SUCCESS
 * @return DAT_NOT_IMPLEMENTED No IA opened so far has extensions; of counters and operations of
 *     OpenDAT: no IA has been opened so far.
 * @return DAT_NOT_IMPLEMENTED (raw) The provider lacks the operation.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 The handle is NULL, or the integer of no open IA.
 */
DAT_RETURN DAT_API dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP operation, ...);

/**
 * Names a return code. The strings are constants.
 *
 * @param return_value Any code; its class bits do not matter.
 * @param major_message Out: name of the type; the string "unknown error" if it has none.
 * @param minor_message Out: name of the subtype; an empty string for none, "unknown minor error" if
 *     it has no name. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER (raw) Type or subtype has no name.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 major_message is NULL.
 */
DAT_RETURN DAT_API dat_strerror(DAT_RETURN return_value, const char** major_message,
                                const char** minor_message);

#ifdef __cplusplus
}
#endif

#endif
