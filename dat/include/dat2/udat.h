/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The user-space DAT 2.0 interface; the header that programs include. What kernel and user space
 * have in common is in dat.h, which this file includes.
 *
 * @source uDAPL 2.0 of the DAT Collaborative, the clause of the call's name. Where an answer is not
 *     that of the reference implementation, dapl 2.1.10, "Call by call" in doc/compatibility.md
 *     says so, and why.
 */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat2/dat_platform_specific.h>
#include <dat2/udat_config.h>

/** What is to be registered. */
typedef enum dat_mem_type {
    DAT_MEM_TYPE_VIRTUAL = 0,       /**< memory of the process */
    DAT_MEM_TYPE_LMR = 1,           /**< memory of another LMR */
    DAT_MEM_TYPE_SHARED_VIRTUAL = 2 /**< memory with a name */
} DAT_MEM_TYPE;

/** Kind of an object. */
typedef enum dat_handle_type {
    DAT_HANDLE_TYPE_CR = 0,
    DAT_HANDLE_TYPE_EP = 1,
    DAT_HANDLE_TYPE_EVD = 2,
    DAT_HANDLE_TYPE_IA = 3,
    DAT_HANDLE_TYPE_LMR = 4,
    DAT_HANDLE_TYPE_PSP = 5,
    DAT_HANDLE_TYPE_PZ = 6,
    DAT_HANDLE_TYPE_RMR = 7,
    DAT_HANDLE_TYPE_RSP = 8,
    DAT_HANDLE_TYPE_CNO = 9,
    DAT_HANDLE_TYPE_SRQ = 10,
    DAT_HANDLE_TYPE_CSP = 11,
    DAT_HANDLE_TYPE_EXTENSION_BASE = 12
} DAT_HANDLE_TYPE;

/** State of an EVD: one bit of enabled or disabled, and one of waitable or unwaitable. */
typedef enum dat_evd_state {
    DAT_EVD_STATE_ENABLED = 0x1,
    DAT_EVD_STATE_DISABLED = 0x2,
    DAT_EVD_STATE_WAITABLE = 0x4,
    DAT_EVD_STATE_UNWAITABLE = 0x8,
    DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
    DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
    DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30
} DAT_EVD_STATE;

/** Members of DAT_EVD_PARAM; bits. */
typedef enum dat_evd_param_mask {
    DAT_EVD_FIELD_IA_HANDLE = 0x1,
    DAT_EVD_FIELD_EVD_QLEN = 0x2,
    DAT_EVD_FIELD_EVD_STATE = 0x4,
    DAT_EVD_FIELD_CNO = 0x8,
    DAT_EVD_FIELD_EVD_FLAGS = 0x10,
    DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

/** Members of DAT_LMR_PARAM; bits. */
enum dat_lmr_param_mask {
    DAT_LMR_FIELD_IA_HANDLE = 0x1,
    DAT_LMR_FIELD_MEM_TYPE = 0x2,
    DAT_LMR_FIELD_REGION_DESC = 0x4,
    DAT_LMR_FIELD_LENGTH = 0x8,
    DAT_LMR_FIELD_PZ_HANDLE = 0x10,
    DAT_LMR_FIELD_MEM_PRIV = 0x20,
    DAT_LMR_FIELD_VA_TYPE = 0x40,
    DAT_LMR_FIELD_LMR_CONTEXT = 0x80,
    DAT_LMR_FIELD_RMR_CONTEXT = 0x100,
    DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,
    DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
    DAT_LMR_FIELD_ALL = 0x7ff
};

/** Which members of DAT_PROVIDER_ATTR a query asks for. Any bit fills the whole structure. */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

#include <dat2/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- consumer notification objects --------------------------------------------------- */

/** Consumer notification object. */
typedef DAT_HANDLE DAT_CNO_HANDLE;

/** Called in a thread of the provider with the agent's instance_data and the EVD that triggered. */
typedef void(DAT_API* DAT_AGENT_FUNC)(DAT_PVOID, DAT_EVD_HANDLE);

/** A function that a CNO calls in place of waking a waiter. */
typedef struct dat_os_wait_proxy_agent {
    DAT_PVOID instance_data; /**< first argument of the function */
    DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#if defined(__cplusplus) && __cplusplus >= 201103L
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
    (DAT_OS_WAIT_PROXY_AGENT{(DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL})
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL           \
    (DAT_OS_WAIT_PROXY_AGENT) {                \
        (DAT_PVOID) NULL, (DAT_AGENT_FUNC)NULL \
    }
#endif

/** What a CNO calls or signals besides its waiters. */
typedef enum dat_proxy_type {
    DAT_PROXY_TYPE_NONE = 0,
    DAT_PROXY_TYPE_AGENT = 1,
    DAT_PROXY_TYPE_FD = 2
} DAT_PROXY_TYPE;

/** What dat_cno_query() tells. */
typedef struct dat_cno_param {
    DAT_IA_HANDLE ia_handle;
    DAT_PROXY_TYPE proxy_type;
    union {
        DAT_OS_WAIT_PROXY_AGENT agent;
        DAT_FD fd;
        DAT_PVOID none;
    } proxy;
} DAT_CNO_PARAM;

/** Members of DAT_CNO_PARAM. These are numbers, not bits. */
typedef enum dat_cno_param_mask {
    DAT_CNO_FIELD_IA_HANDLE = 1,
    DAT_CNO_FIELD_PROXY_TYPE = 2,
    DAT_CNO_FIELD_PROXY = 3,
    DAT_CNO_FIELD_ALL = 4
} DAT_CNO_PARAM_MASK;

/* -- event dispatchers --------------------------------------------------------------- */

/** What dat_evd_query() tells. */
struct dat_evd_param {
    DAT_IA_HANDLE ia_handle;
    DAT_COUNT evd_qlen;
    DAT_EVD_STATE evd_state;
    DAT_CNO_HANDLE cno_handle;
    DAT_EVD_FLAGS evd_flags;
};

/** Handle to give to dat_ia_open() for an IA without an async EVD of its own. */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
/** Handle that dat_ia_query() gives for the async EVD of such an IA. */
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

/* -- memory -------------------------------------------------------------------------- */

/** Bytes of the name of a shared memory region. */
#define DAT_LMR_COOKIE_SIZE 40
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/** Memory that several processes register under one name. */
typedef struct dat_shared_memory {
    DAT_PVOID virtual_address;
    DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/** The memory to register, by its type. */
typedef union dat_region_description {
    DAT_PVOID for_va;
    DAT_LMR_HANDLE for_lmr_handle;
    DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

/** What dat_lmr_query() tells. */
struct dat_lmr_param {
    DAT_IA_HANDLE ia_handle;
    DAT_MEM_TYPE mem_type;
    DAT_REGION_DESCRIPTION region_desc;
    DAT_VLEN length;
    DAT_PZ_HANDLE pz_handle;
    DAT_MEM_PRIV_FLAGS mem_priv;
    DAT_VA_TYPE va_type;
    DAT_LMR_CONTEXT lmr_context;
    DAT_RMR_CONTEXT rmr_context;
    DAT_VLEN registered_size;
    DAT_VADDR registered_address;
};

/* -- IA and provider attributes ------------------------------------------------------ */

/** What dat_ia_query() tells of an IA. Counts are limits of the device. */
struct dat_ia_attr {
    char adapter_name[DAT_NAME_MAX_LENGTH];
    char vendor_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 hardware_version_major;
    DAT_UINT32 hardware_version_minor;
    DAT_UINT32 firmware_version_major;
    DAT_UINT32 firmware_version_minor;
    DAT_IA_ADDRESS_PTR ia_address_ptr; /**< the IA's; valid until it is closed */
    DAT_COUNT max_eps;
    DAT_COUNT max_dto_per_ep;
    DAT_COUNT max_rdma_read_per_ep_in;
    DAT_COUNT max_rdma_read_per_ep_out;
    DAT_COUNT max_evds;
    DAT_COUNT max_evd_qlen;
    DAT_COUNT max_iov_segments_per_dto;
    DAT_COUNT max_lmrs;
    DAT_SEG_LENGTH max_lmr_block_size; /**< bytes */
    DAT_VADDR max_lmr_virtual_address;
    DAT_COUNT max_pzs;
    DAT_SEG_LENGTH max_message_size; /**< bytes */
    DAT_SEG_LENGTH max_rdma_size;    /**< bytes */
    DAT_COUNT max_rmrs;
    DAT_VADDR max_rmr_target_address;
    DAT_COUNT max_srqs;
    DAT_COUNT max_ep_per_srq;
    DAT_COUNT max_recv_per_srq;
    DAT_COUNT max_iov_segments_per_rdma_read;
    DAT_COUNT max_iov_segments_per_rdma_write;
    DAT_COUNT max_rdma_read_in;
    DAT_COUNT max_rdma_read_out;
    DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
    DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
    DAT_BOOLEAN zb_supported; /**< DAT_VA_TYPE_ZB */
    DAT_EXTENSION extension_supported;
    DAT_COUNT extension_version; /**< DAT_IB_EXTENSION_VERSION of the provider */
    DAT_COUNT num_transport_attr;
    DAT_NAMED_ATTR* transport_attr;
    DAT_COUNT num_vendor_attr;
    DAT_NAMED_ATTR* vendor_attr;
};

#define DAT_IA_FIELD_IA_EXTENSION UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR UINT64_C(0x400000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR UINT64_C(0x800000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR UINT64_C(0x2000000000)
#define DAT_IA_FIELD_ALL UINT64_C(0x3fffffffff)

/** Whether memory of one PZ can be used by endpoints of another. */
typedef enum dat_pz_support {
    DAT_PZ_UNIQUE = 0,   /**< it cannot */
    DAT_PZ_SHAREABLE = 1 /**< it can */
} DAT_PZ_SUPPORT;

#include <dat2/udat_vendor_specific.h>

/** What dat_ia_query() tells of a provider. */
struct dat_provider_attr {
    char provider_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 provider_version_major;
    DAT_UINT32 provider_version_minor;
    DAT_UINT32 dapl_version_major;
    DAT_UINT32 dapl_version_minor;
    DAT_MEM_TYPE lmr_mem_types_supported; /**< bits by number */
    DAT_IOV_OWNERSHIP iov_ownership_on_return;
    DAT_QOS dat_qos_supported;
    DAT_COMPLETION_FLAGS completion_flags_supported;
    DAT_BOOLEAN is_thread_safe;      /**< as registered */
    DAT_COUNT max_private_data_size; /**< bytes with a connect, accept or reject */
    DAT_BOOLEAN supports_multipath;
    DAT_EP_CREATOR_FOR_PSP ep_creator;
    DAT_PZ_SUPPORT pz_support;
    DAT_UINT32 optimal_buffer_alignment; /**< bytes */
    const DAT_BOOLEAN
        evd_stream_merging_supported[6][6]; /**< kinds of events in the order of DAT_EVD_FLAGS */
    DAT_BOOLEAN srq_supported;
    DAT_COUNT srq_watermarks_supported; /**< how many of low, soft high, hard high */
    DAT_BOOLEAN srq_ep_pz_difference_supported;
    DAT_COUNT srq_info_supported;     /**< how many counts dat_srq_query() gives */
    DAT_COUNT ep_recv_info_supported; /**< how many counts dat_ep_recv_query() gives */
    DAT_BOOLEAN lmr_sync_req;
    DAT_BOOLEAN dto_async_return_guaranteed;
    DAT_BOOLEAN rdma_write_for_rdma_read_req;
    DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
    DAT_RMR_SCOPE rmr_scope_supported;
    DAT_BOOLEAN is_signal_safe;
    DAT_BOOLEAN ha_supported;
    DAT_HA_LB ha_loadbalancing;
    DAT_COUNT num_provider_specific_attr;
    DAT_NAMED_ATTR* provider_specific_attr; /**< extensions announce themselves here */
};

#define DAT_PROVIDER_FIELD_NONE UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ UINT64_C(0x800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE UINT64_C(0x4000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED UINT64_C(0x8000000)
#define DAT_PROVIDER_FIELD_HA_LB UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL UINT64_C(0x7fffffff)

/* -- functions ----------------------------------------------------------------------- */

/**
 * Registers memory with the device, so that transfers can use it. It must stay mapped until the LMR
 * is freed.
 *
 * @param ia_handle The IA.
 * @param mem_type DAT_MEM_TYPE_VIRTUAL: memory of the process. DAT_MEM_TYPE_LMR: the memory of
 *     another LMR of this IA, with a zone and privileges of its own; either may be freed first.
 *     DAT_MEM_TYPE_SHARED_VIRTUAL: memory that several processes have mapped; each registers it for
 *     itself, under the same name.
 * @param region_description By mem_type: address of the memory (for_va); the other LMR
 *     (for_lmr_handle); address, and name of DAT_LMR_COOKIE_SIZE bytes, which is copied
 *     (for_shared_memory).
 * @param length Number of bytes; neither it nor the address need be aligned. Ignored for
 *     DAT_MEM_TYPE_LMR.
 * @param pz_handle Zone whose EPs may use it.
 * @param mem_priv DAT_MEM_PRIV_*, bits. Local read is always granted; remote write and atomics need
 *     local write.
 * @param va_type DAT_VA_TYPE_VA; DAT_VA_TYPE_ZB where the IA's zb_supported says so.
 * @param lmr_handle Out: the LMR.
 * @param lmr_context Out: what local segments name it by, a number of 32 bits. May be NULL.
 * @param rmr_context Out: what peers name it by, a number of 32 bits in host order, to be sent to
 *     them. May be NULL.
 * @param registered_length Out: bytes registered, those asked for. May be NULL.
 * @param registered_address Out: the address where they begin. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ pz_handle is no PZ of the IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR mem_type is DAT_MEM_TYPE_LMR and the other LMR
 *     is no LMR of the IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 mem_type is unknown.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 mem_type is DAT_MEM_TYPE_SHARED_VIRTUAL and the
 *     name is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG7 lmr_handle is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device refuses: not mapped, not writable as asked,
 *     no room or too long. Or the registration broker, where there is one (dat_registration(7)),
 *     has no entry.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
                                  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
                                  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_priv,
                                  DAT_VA_TYPE va_type, DAT_LMR_HANDLE* lmr_handle,
                                  DAT_LMR_CONTEXT* lmr_context, DAT_RMR_CONTEXT* rmr_context,
                                  DAT_VLEN* registered_length, DAT_VADDR* registered_address);

/**
 * Tells an LMR's memory, rights and contexts.
 *
 * @param lmr_handle The LMR.
 * @param lmr_param_mask Ignored: all members are filled.
 * @param lmr_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr_handle is no LMR.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 lmr_param is NULL.
 */
DAT_RETURN DAT_API dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
                                 DAT_LMR_PARAM* lmr_param);

/**
 * Makes an event dispatcher: a queue of events of one or several kinds.
 *
 * @param ia_handle The IA.
 * @param evd_min_qlen Number of events that it must hold, 1 to max_evd_qlen of the IA.
 *     dat_evd_query() tells what it does hold.
 * @param cno_handle CNO to trigger when events come, or DAT_HANDLE_NULL.
 * @param evd_flags Kinds of events, DAT_EVD_*, bits; which go together the provider's
 *     evd_stream_merging_supported tells. An EP's receive and request EVD need DAT_EVD_DTO_FLAG,
 *     its connect EVD DAT_EVD_CONNECTION_FLAG, a service point's DAT_EVD_CR_FLAG.
 *     DAT_EVD_ASYNC_FLAG goes with no other, nor alone: dat_ia_open() makes such EVDs.
 * @param evd_handle Out: the EVD, enabled and waitable.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 evd_min_qlen is not positive.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 These kinds do not go together.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 evd_handle is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_TEVD evd_min_qlen is above max_evd_qlen of the
 *     IA.
 * @return DAT_INSUFFICIENT_RESOURCES No descriptor is left (RLIMIT_NOFILE).
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no completion queue left.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short.
 */
DAT_RETURN DAT_API dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
                                  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
                                  DAT_EVD_HANDLE* evd_handle);

/**
 * Attaches an EVD to another CNO or to none. Events inside do not trigger it.
 *
 * @param evd_handle The EVD.
 * @param cno_handle The CNO, or DAT_HANDLE_NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 */
DAT_RETURN DAT_API dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);

/**
 * Takes the oldest event, waiting until enough are there. One thread at a time may wait at an EVD.
 * A cancellation point while it waits. When a signal's handler has run the wait goes on, with the
 * time that is left.
 *
 * States: The EVD is waitable, DAT_EVD_STATE_WAITABLE. It may be disabled.
 *
 * @param evd_handle The EVD.
 * @param timeout Microseconds; 0 does not wait, DAT_TIMEOUT_INFINITE waits for ever.
 * @param threshold Number of events that must be there to end the wait, 1 to the queue's length.
 * @param event Out: the event; untouched when there is none.
 * @param nmore Out: number of events left inside, also after the time is out.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 threshold is not positive or too large.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 event is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 nmore is NULL.
 * @return DAT_TIMEOUT_EXPIRED Not enough events came in time.
 * @return DAT_TIMEOUT_EXPIRED (raw) The same, of an EVD that takes DTO or bind completions and has
 *     no CNO.
 * @return DAT_INTERRUPTED_CALL (raw) A signal came, OPENDAT_SIGNALS_END_WAITS is set, and the EVD
 *     takes completions (DTO, bind or extension) and has no CNO.
 * @return DAT_INTERNAL_ERROR (raw) The system refuses to wait.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EVD_UNWAITABLE The EVD is unwaitable.
 * @return DAT_INVALID_STATE Another thread waits, it was made unwaitable or freed meanwhile, or
 *     events were lost because the queue was full.
 * @return DAT_INSUFFICIENT_RESOURCES No descriptor is left to sleep on (RLIMIT_NOFILE).
 */
DAT_RETURN DAT_API dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                                DAT_EVENT* event, DAT_COUNT* nmore);

/**
 * Lets the events of an EVD trigger its CNO again. What is inside already does not.
 *
 * States: Any; afterwards the EVD is DAT_EVD_STATE_ENABLED.
 *
 * @param evd_handle The EVD.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 */
DAT_RETURN DAT_API dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/**
 * Keeps the events of an EVD from triggering its CNO. Waiting and taking events go on.
 *
 * States: Any; afterwards the EVD is DAT_EVD_STATE_DISABLED.
 *
 * @param evd_handle The EVD.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 */
DAT_RETURN DAT_API dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/**
 * Makes an EVD unwaitable: a wait at it ends, and further ones are refused. Events can be taken
 * with dat_evd_dequeue().
 *
 * States: Any; afterwards the EVD is DAT_EVD_STATE_UNWAITABLE.
 *
 * @param evd_handle The EVD.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 */
DAT_RETURN DAT_API dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * Allows waiting at an EVD again.
 *
 * States: Any; afterwards the EVD is DAT_EVD_STATE_WAITABLE.
 *
 * @param evd_handle The EVD.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EVD_REQUEST evd_handle is NULL.
 * @return DAT_INVALID_HANDLE evd_handle is no EVD, and not NULL.
 */
DAT_RETURN DAT_API dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * Makes a consumer notification object, which collects the events of several EVDs for waiting
 * threads or an agent.
 *
 * @param ia_handle The IA.
 * @param agent Function to call for a trigger, once; DAT_OS_WAIT_PROXY_AGENT_NULL for none. It is
 *     called in the thread of a dat_evd_post_se(), for all other events in a thread of the
 *     provider; it may call any function, also free its EVD and its CNO, but not close its own IA.
 * @param cno_handle Out: the CNO.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 cno_handle is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY Memory is short, or no thread can be
 *     started for the agent.
 */
DAT_RETURN DAT_API dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                                  DAT_CNO_HANDLE* cno_handle);

/**
 * Makes a CNO that is a file descriptor for poll(2): it is ready for reading from a trigger on
 * until dat_cno_trigger() or dat_cno_wait() has taken that, and when the last EVD is gone. It is to
 * be polled only, not read, and goes with the CNO. Such a CNO has no agent.
 *
 * @param ia_handle The IA.
 * @param file_descriptor Out: the descriptor, with close-on-exec.
 * @param cno_handle Out: the CNO.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_IA ia_handle is no open IA.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 file_descriptor is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 cno_handle is NULL.
 * @return DAT_INSUFFICIENT_RESOURCES No descriptor is left (RLIMIT_NOFILE).
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider does not have it.
 */
DAT_RETURN DAT_API dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD* file_descriptor,
                                     DAT_CNO_HANDLE* cno_handle);

/**
 * Sets the agent of a CNO. It is called for the next trigger only, then has to be set again.
 *
 * @param cno_handle The CNO.
 * @param agent As for dat_cno_create().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG1 The CNO was made by dat_cno_fd_create().
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_CNO_DEAD Its IA is being closed.
 */
DAT_RETURN DAT_API dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * Tells a CNO's IA and its agent or descriptor.
 *
 * @param cno_handle The CNO.
 * @param cno_param_mask Ignored: all members are filled.
 * @param cno_param Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 cno_param is NULL.
 */
DAT_RETURN DAT_API dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
                                 DAT_CNO_PARAM* cno_param);

/**
 * Waits until an EVD of the CNO gets an event. Several threads may wait. A cancellation point while
 * it waits. When a signal's handler has run the wait goes on, with the time that is left.
 *
 * Each EVD with an event is named once, in the order in which they triggered, whatever number of
 * events it has got meanwhile; one whose events are gone, or that has left the CNO, is not named.
 * Dequeue from the EVD until it is empty. DAT lets one trigger stand for several EVDs, and other
 * implementations name the first one only: a portable program looks at every EVD of the CNO.
 *
 * @param cno_handle The CNO.
 * @param timeout Microseconds; 0 does not wait, DAT_TIMEOUT_INFINITE waits for ever.
 * @param evd_handle Out: the EVD that triggered; DAT_HANDLE_NULL when there is none any more, or
 *     the time is out. Another thread may take its events first.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO (raw) cno_handle is no CNO, and not NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 evd_handle is NULL.
 * @return DAT_QUEUE_EMPTY (raw) Nothing triggered in time.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_CNO_DEAD The CNO was freed meanwhile.
 */
DAT_RETURN DAT_API dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
                                DAT_EVD_HANDLE* evd_handle);

/**
 * Takes the trigger of a CNO without waiting; its descriptor, if it has one, is not ready any more.
 *
 * @param cno_handle The CNO.
 * @param evd_handle Out: as for dat_cno_wait().
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 evd_handle is NULL.
 * @return DAT_QUEUE_EMPTY (raw) Nothing has triggered.
 * @return DAT_MODEL_NOT_SUPPORTED (raw) The provider does not have it.
 */
DAT_RETURN DAT_API dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE* evd_handle);

/**
 * Frees a CNO.
 *
 * @param cno_handle The CNO.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_CNO cno_handle is no CNO.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_CNO_IN_USE EVDs are attached or a thread waits.
 */
DAT_RETURN DAT_API dat_cno_free(DAT_CNO_HANDLE cno_handle);

#ifdef __cplusplus
}
#endif

#endif
