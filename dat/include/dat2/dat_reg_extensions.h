/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Registrations as a resource that processes share and that can be taken back: see
 * dat_registration(7). The calls need an IA that was opened with the registration broker
 * (OPENDAT_REGISTRATIONS); the named attribute DAT_REG_ATTR says whether it was. Each call goes
 * over dat_extension_op(), so that programs which use it link with any DAT library: where there is
 * no broker it answers DAT_NOT_IMPLEMENTED or, by other implementations, another error.
 *
 * A registration has an entry in the table of its adapter. It is of one of three classes. When
 * others need entries, one of class DAT_REG_CLASS_RDMA is announced to go (DAT_REG_ANNOUNCED_EVENT)
 * and goes when the grace period is over, whatever its owner does; one of DAT_REG_CLASS_MESSAGING
 * goes at once while it is not posted; one of DAT_REG_CLASS_PINNED stays, as do posted ones, as far
 * as the share of the process goes: what it keeps beyond goes with notice. The LMR of a registration
 * that has gone stays too: it is freed as any other, or registered again with dat_reg_lmr_renew().
 * A transfer that names it is refused before the device sees it.
 *
 * All calls are thread safe. Those that may block say so.
 *
 * @source OpenDAT, on the extension interface of uDAPL 2.0 (dat_extension_op());
 *     dat_registration(7).
 */
#ifndef _DAT_REG_EXTENSIONS_H_
#define _DAT_REG_EXTENSIONS_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 100 * major + 10 * minor + step of the interface below: 1.1.0. */
#define DAT_REG_EXTENSION_VERSION 110

/**
 * Named attributes of the provider. The first one's value is DAT_REG_EXTENSION_VERSION in decimal,
 * or "FALSE" for an IA without the broker; the others are there with the broker alone.
 */
#define DAT_REG_ATTR "DAT_REG_EXTENSION"
#define DAT_REG_ATTR_MODE "DAT_REG_MODE"         /**< on, transparent, per-io */
#define DAT_REG_ATTR_WAIT "DAT_REG_WAIT"         /**< creations that wait: TRUE */
#define DAT_REG_ATTR_UPCALLS "DAT_REG_UPCALLS"   /**< events tell of revocation: TRUE */
#define DAT_REG_ATTR_ENFORCED "DAT_REG_ENFORCED" /**< the device ends what an owner does not: TRUE, FALSE */
#define DAT_REG_ATTR_PEERS "DAT_REG_PEERS"       /**< uses by peers count, and what has gone comes back for them: TRUE, FALSE */
#define DAT_REG_ATTR_BRACKETS "DAT_REG_BRACKETS" /**< of what a bracket is made: windows, registrations */

/** Operations for dat_extension_op(). */
typedef enum dat_reg_op {
    /* On an IA. */
    DAT_REG_LMR_CREATE_WAIT_OP = 0x4f440020,  /**< const DAT_REG_LMR_PARAM *, DAT_TIMEOUT, then out:
                                                   DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
                                                   DAT_RMR_CONTEXT * */
    DAT_REG_LMR_CREATE_ASYNC_OP = 0x4f440021, /**< const DAT_REG_LMR_PARAM *, DAT_PVOID cookie,
                                                   DAT_REG_TICKET * */
    DAT_REG_TICKET_CANCEL_OP = 0x4f440022,    /**< DAT_REG_TICKET */
    DAT_REG_EVD_ATTACH_OP = 0x4f440023,       /**< DAT_EVD_HANDLE */
    DAT_REG_QUERY_OP = 0x4f440024,            /**< DAT_REG_STATISTICS * */
    DAT_REG_POLICY_MODIFY_OP = 0x4f440025,    /**< const char * */
    /* On an LMR. */
    DAT_REG_LMR_ACCEPT_OP = 0x4f440028,    /**< nothing */
    DAT_REG_LMR_OFFER_OP = 0x4f440029,     /**< DAT_LMR_HANDLE */
    DAT_REG_LMR_REFUSE_OP = 0x4f44002a,    /**< DAT_UINT64 us */
    DAT_REG_LMR_BEGIN_USE_OP = 0x4f44002b, /**< DAT_UINT64 us */
    DAT_REG_LMR_END_USE_OP = 0x4f44002c,   /**< nothing */
    DAT_REG_LMR_TOUCH_OP = 0x4f44002d,     /**< nothing */
    DAT_REG_LMR_RENEW_OP = 0x4f44002e,     /**< DAT_TIMEOUT, then out: DAT_LMR_CONTEXT *,
                                                DAT_RMR_CONTEXT * */
    DAT_REG_LMR_QUERY_OP = 0x4f44002f,     /**< DAT_REG_LMR_STATUS * */
    /* On an EP. */
    DAT_REG_BRACKET_OPEN_OP = 0x4f440030, /**< const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
                                               DAT_TIMEOUT, then out: DAT_REG_BRACKET_HANDLE *,
                                               DAT_RMR_TRIPLET * */
    /* On a bracket. */
    DAT_REG_BRACKET_CLOSE_OP = 0x4f440031 /**< nothing */
} DAT_REG_OP;

/** A type of handle beyond DAT_HANDLE_TYPE. */
typedef enum dat_reg_handle_type {
    DAT_REG_HANDLE_TYPE_BRACKET = DAT_HANDLE_TYPE_EXTENSION_BASE + 1
} DAT_REG_HANDLE_TYPE;

/** A peer's access to a buffer, of dat_reg_bracket_open(). */
typedef DAT_HANDLE DAT_REG_BRACKET_HANDLE;

/** What may be taken back, and how. */
typedef enum dat_reg_class {
    DAT_REG_CLASS_RDMA = 0,      /**< goes with notice */
    DAT_REG_CLASS_MESSAGING = 1, /**< goes at once while no receive or send of it is posted */
    DAT_REG_CLASS_PINNED = 2     /**< stays, within the share of the process */
} DAT_REG_CLASS;

/** State of a registration. */
typedef enum dat_reg_state {
    DAT_REG_STATE_ACTIVE = 1,
    DAT_REG_STATE_ANNOUNCED = 2, /**< goes when the grace period is over */
    DAT_REG_STATE_GONE = 3       /**< of it only the LMR is left */
} DAT_REG_STATE;

/** What dat_lmr_create() is told, and the class. */
typedef struct dat_reg_lmr_param {
    DAT_MEM_TYPE mem_type;
    DAT_REGION_DESCRIPTION region_desc;
    DAT_VLEN length; /**< bytes */
    DAT_PZ_HANDLE pz_handle;
    DAT_MEM_PRIV_FLAGS mem_priv;
    DAT_VA_TYPE va_type;
    DAT_REG_CLASS reg_class;
} DAT_REG_LMR_PARAM;

/** A creation that waits. 0 is none. */
typedef DAT_UINT64 DAT_REG_TICKET;

/** Of dat_reg_lmr_query(). */
typedef struct dat_reg_lmr_status {
    DAT_REG_STATE state;
    DAT_REG_CLASS reg_class;
    DAT_UINT64 remaining; /**< us until it goes, when it is announced; else 0 */
    DAT_UINT64 use_count; /**< by posts and dat_reg_lmr_begin_use(); on soft0 by peers too */
    DAT_UINT32 busy;      /**< uses that have not ended */
} DAT_REG_LMR_STATUS;

/** Of dat_reg_query(): the adapter's table, and what this process has of it. */
typedef struct dat_reg_statistics {
    DAT_UINT64 capacity_entries;
    DAT_UINT64 capacity_bytes; /**< 0: no limit */
    DAT_UINT64 used_entries;   /**< by all processes */
    DAT_UINT64 used_bytes;
    DAT_UINT64 waiting_entries; /**< creations of all processes that wait */
    DAT_UINT64 own_entries;     /**< of this process, as all below */
    DAT_UINT64 own_bytes;
    DAT_UINT64 granted;  /**< ever, as all below */
    DAT_UINT64 refused;  /**< creations that got no entry */
    DAT_UINT64 revoked;  /**< registrations taken back */
    DAT_UINT64 released; /**< given back when they were announced */
    DAT_UINT64 grace;    /**< us: the grace period */
    char policy[64];     /**< its name, with a NUL */
} DAT_REG_STATISTICS;

/* -- events -------------------------------------------------------------------------- */

/** Events on the EVD of dat_reg_evd_attach(), in DAT_EVENT::event_number. */
typedef enum dat_reg_event_number {
    DAT_REG_ANNOUNCED_EVENT = 0x40100, /**< lmr_handle goes in `remaining`: answer, or let it go */
    DAT_REG_REVOKED_EVENT = 0x40101,   /**< lmr_handle has lost its registration */
    DAT_REG_GRANTED_EVENT = 0x40102,   /**< ticket has become lmr_handle */
    DAT_REG_REFUSED_EVENT = 0x40103,   /**< ticket will not: reason */
    DAT_REG_PRESSURE_EVENT = 0x40104   /**< others wait: window is what is left */
} DAT_REG_EVENT_NUMBER;

/** What event_extension_data of these events holds; members that an event does not name are 0. */
typedef struct dat_reg_event_data {
    DAT_LMR_HANDLE lmr_handle;
    DAT_UINT64 remaining; /**< us that were left of the grace period when the event was made */
    DAT_REG_TICKET ticket;
    DAT_PVOID cookie;            /**< of dat_reg_lmr_create_async() */
    DAT_LMR_CONTEXT lmr_context; /**< of a grant, as the next */
    DAT_RMR_CONTEXT rmr_context;
    /** Registrations left: of class DAT_REG_CLASS_MESSAGING to this process; in mode per-io, to the
     * transfers of this IA. */
    DAT_UINT64 window;
    DAT_RETURN reason; /**< of a refusal: what dat_reg_lmr_create_wait() would have returned */
} DAT_REG_EVENT_DATA;

/**
 * Finds the data of a registration event.
 *
 * @param event One event whose number is of DAT_REG_EVENT_NUMBER.
 * @return Its data, one structure, inside the event.
 */
static __inline__ const DAT_REG_EVENT_DATA *dat_reg_event_data(const DAT_EVENT *event) {
    return (const DAT_REG_EVENT_DATA *)(const void *)event->event_extension_data;
}

/**
 * Attaches an EVD for the upcalls of an IA, which come as events from then on. Until then, and
 * after a detachment, the library answers announcements itself: it lets go what is not in use.
 *
 * Events on the EVD, as long as it is attached: DAT_REG_ANNOUNCED_EVENT, DAT_REG_REVOKED_EVENT,
 * DAT_REG_GRANTED_EVENT, DAT_REG_REFUSED_EVENT, DAT_REG_PRESSURE_EVENT; dat_reg_event_data() finds
 * what they tell.
 *
 * @param ia The IA, opened with the broker.
 * @param evd EVD of the IA with DAT_EVD_SOFTWARE_FLAG; DAT_HANDLE_NULL detaches. It cannot be freed
 *     while it is attached.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 ia is no open IA, or evd no EVD of it.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 evd takes no software events.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_evd_attach(DAT_IA_HANDLE ia, DAT_EVD_HANDLE evd) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_EVD_ATTACH_OP, evd);
}

/* -- creation ------------------------------------------------------------------------ */

/**
 * Creates an LMR, waiting for an entry where there is none. Who waits is served in fair order, and
 * not passed by others. May block.
 *
 * @param ia The IA, opened with the broker.
 * @param param What is registered, as for dat_lmr_create(), and its class; one structure.
 * @param timeout Microseconds; 0 does not wait, DAT_TIMEOUT_INFINITE waits as long as it takes.
 * @param lmr Out: the LMR, to be freed with dat_lmr_free().
 * @param lmr_context Out: what local segments name it by. May be NULL.
 * @param rmr_context Out: what peers name it by, in host order. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_TIMEOUT_EXPIRED There was no entry in time.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION There will be none: what is pinned
 *     and refused leaves no room, or the policy does not admit it. Also where the device refuses.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 param is NULL or holds what dat_lmr_create() does
 *     not take, or its class is none.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 lmr is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ The PZ is none of the IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR The memory is that of another LMR, which is
 *     none of the IA.
 * @return DAT_INTERNAL_ERROR The table cannot be used any more; a message on stderr says so.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_create_wait(DAT_IA_HANDLE ia,
                                                     const DAT_REG_LMR_PARAM *param,
                                                     DAT_TIMEOUT timeout, DAT_LMR_HANDLE *lmr,
                                                     DAT_LMR_CONTEXT *lmr_context,
                                                     DAT_RMR_CONTEXT *rmr_context) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_LMR_CREATE_WAIT_OP, param,
                            timeout, lmr, lmr_context, rmr_context);
}

/**
 * Asks for an LMR, which is created when there is an entry for it.
 *
 * Events on the attached EVD: DAT_REG_GRANTED_EVENT with LMR and contexts, or
 * DAT_REG_REFUSED_EVENT; one of the two unless the ticket is cancelled.
 *
 * @param ia The IA, opened with the broker, with an EVD attached.
 * @param param What is registered, as for dat_lmr_create(), and its class; one structure, which is
 *     copied.
 * @param cookie Pointer that comes back in the event.
 * @param ticket Out: a number of 64 bits that names the request, never 0.
 * @return DAT_SUCCESS The request waits, or its event is there already.
 * @return DAT_INVALID_STATE No EVD is attached.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION The table has no room for another
 *     request; no event comes.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 As for dat_reg_lmr_create_wait().
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG4 ticket is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_PZ The PZ is none of the IA.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR The memory is that of another LMR, which is
 *     none of the IA.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_create_async(DAT_IA_HANDLE ia,
                                                      const DAT_REG_LMR_PARAM *param,
                                                      DAT_PVOID cookie, DAT_REG_TICKET *ticket) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_LMR_CREATE_ASYNC_OP, param,
                            cookie, ticket);
}

/**
 * Takes back a request of dat_reg_lmr_create_async().
 *
 * @param ia The IA that it was made on.
 * @param ticket Number of the request, of dat_reg_lmr_create_async().
 * @return DAT_SUCCESS No event comes for it.
 * @return DAT_INVALID_STATE There is none: it is granted or refused already, and its event is there
 *     or on the way.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 There is a request of this number, but of another
 *     IA.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_ticket_cancel(DAT_IA_HANDLE ia, DAT_REG_TICKET ticket) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_TICKET_CANCEL_OP, ticket);
}

/**
 * Registers again what an LMR has lost. Its memory, class and privileges are what they were, and so
 * is its lmr_context; its rmr_context is another one: peers that hold the old one get an error. May
 * block.
 *
 * States: DAT_REG_STATE_GONE; a registration that stands is left as it is.
 *
 * @param lmr The LMR.
 * @param timeout As for dat_reg_lmr_create_wait().
 * @param lmr_context Out: the same as before. May be NULL.
 * @param rmr_context Out: the new one. May be NULL.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_TIMEOUT_EXPIRED There was no entry in time.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION There will be none, or the device
 *     refuses.
 * @return DAT_INTERNAL_ERROR The table cannot be used any more; a message on stderr says so.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_renew(DAT_LMR_HANDLE lmr, DAT_TIMEOUT timeout,
                                               DAT_LMR_CONTEXT *lmr_context,
                                               DAT_RMR_CONTEXT *rmr_context) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_RENEW_OP, timeout,
                            lmr_context, rmr_context);
}

/* -- answers to an announcement ------------------------------------------------------ */

/**
 * Lets an announced registration go at once.
 *
 * Events on the attached EVD: DAT_REG_REVOKED_EVENT when it has gone.
 *
 * States: DAT_REG_STATE_ANNOUNCED; then DAT_REG_STATE_GONE.
 *
 * @param lmr The LMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE It is not announced.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE It is in use: end its uses first.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_accept(DAT_LMR_HANDLE lmr) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_ACCEPT_OP);
}

/**
 * Has another registration go in the place of one that is announced, with the same deadline.
 *
 * States: DAT_REG_STATE_ANNOUNCED; then DAT_REG_STATE_ACTIVE again.
 *
 * @param lmr The LMR.
 * @param other Another LMR of the same IA, in state DAT_REG_STATE_ACTIVE, not pinned, at least as
 *     long.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE lmr is not announced.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 other is not what it has to be.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_offer(DAT_LMR_HANDLE lmr, DAT_LMR_HANDLE other) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_OFFER_OP, other);
}

/**
 * Keeps an announced registration for a while. It counts as pinned meanwhile. If the process keeps
 * more than its share of the table, that is for one grace period at most, and once.
 *
 * States: DAT_REG_STATE_ANNOUNCED; then DAT_REG_STATE_ACTIVE again.
 *
 * @param lmr The LMR.
 * @param time Microseconds before which it is not announced again; with all bits set it is pinned.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE lmr is not announced, or has to go: it was refused before, and the
 *     process keeps more than its share.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_refuse(DAT_LMR_HANDLE lmr, DAT_UINT64 time) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_REFUSE_OP, time);
}

/* -- use ----------------------------------------------------------------------------- */

/**
 * Says that something uses a registration that no post of this process shows: a peer's transfer, or
 * one that is about to be asked for. Posts of this process begin and end a use themselves.
 *
 * @param lmr The LMR.
 * @param expected Microseconds that the use is expected to last.
 * @return DAT_SUCCESS dat_reg_lmr_end_use() has to follow.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE The registration has gone.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE It goes before a use of this length ends.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_begin_use(DAT_LMR_HANDLE lmr, DAT_UINT64 expected) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_BEGIN_USE_OP, expected);
}

/**
 * Ends a use that dat_reg_lmr_begin_use() began.
 *
 * @param lmr The LMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE There is no such use.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_end_use(DAT_LMR_HANDLE lmr) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_END_USE_OP);
}

/**
 * Counts as a use of a registration that is over at once: it is one of the last that go.
 *
 * @param lmr The LMR.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_FREE The registration has gone.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_touch(DAT_LMR_HANDLE lmr) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_TOUCH_OP);
}

/* -- brackets ------------------------------------------------------------------------- */

/**
 * Lets the peer of an endpoint access a buffer, until the bracket is closed. Meant for a remote
 * procedure call: open a bracket, send the request with `advertised` over the same endpoint, wait
 * for the response, close the bracket. The peer may transfer to and from the buffer from when it
 * gets the request. May block.
 *
 * The attribute DAT_REG_ATTR_BRACKETS tells what a bracket is. If it is "windows": a memory window
 * for this endpoint, bound to the registration of the buffer by a request in the endpoint's send
 * queue, which occupies a place there until a later request completes. The peer of another endpoint
 * cannot use it. A peer that ends its access with the response, by
 * dat_ep_post_send_with_invalidate(), makes the close cheap. If it is "registrations": a
 * registration of the buffer alone, with an entry of its own; peers of all endpoints of the PZ can
 * use it. Either is taken back with notice like a registration of class DAT_REG_CLASS_RDMA that is
 * in use.
 *
 * Events: none. If the endpoint's connection ends before the window is bound, a
 * DAT_RMR_BIND_COMPLETION_EVENT with an error; its cookie is the bracket.
 *
 * States: the endpoint is DAT_EP_STATE_CONNECTED.
 *
 * @param ep The EP over which the request goes.
 * @param buffer A part of an LMR that has local privileges for what the peer does: address, length
 *     in bytes, and the lmr_context; one segment, not empty. If its registration has gone, a window
 *     needs it again: it is renewed first.
 * @param privileges Bits of DAT_MEM_PRIV_FLAGS: what the peer may do.
 * @param timeout As for dat_reg_lmr_create_wait(): how long to wait for an entry.
 * @param bracket Out: the bracket, to be closed with dat_reg_bracket_close().
 * @param advertised Out: what the peer names the buffer by, in host order; one segment.
 * @return DAT_SUCCESS
 * @return DAT_TIMEOUT_EXPIRED There was no entry in time.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY_REGION There will be none, or the device
 *     refuses.
 * @return DAT_INSUFFICIENT_RESOURCES|DAT_RESOURCE_MEMORY The endpoint's send queue is full.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_LMR_IN_USE The registration of the buffer is
 *     announced, and goes too soon.
 * @return DAT_INVALID_STATE|DAT_INVALID_STATE_EP_* The EP is not connected.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 buffer is NULL or empty, no part of an LMR of the
 *     IA, or of another PZ than the EP.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG3 privileges give a peer nothing.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG5 bracket is NULL.
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG6 advertised is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP ep is no EP.
 * @return DAT_PRIVILEGES_VIOLATION The peer may write what this process may only read.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return DAT_INSUFFICIENT_RESOURCES (raw) The device has no more, or memory is short.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_bracket_open(DAT_EP_HANDLE ep, const DAT_LMR_TRIPLET *buffer,
                                                  DAT_MEM_PRIV_FLAGS privileges,
                                                  DAT_TIMEOUT timeout,
                                                  DAT_REG_BRACKET_HANDLE *bracket,
                                                  DAT_RMR_TRIPLET *advertised) {
    return dat_extension_op((DAT_HANDLE)ep, (DAT_EXTENDED_OP)DAT_REG_BRACKET_OPEN_OP, buffer,
                            privileges, timeout, bracket, advertised);
}

/**
 * Ends the access of a bracket. When it has returned, no peer changes or reads the buffer through
 * it: one that tries gets a remote access error, which ends its connection. A bracket may also be
 * closed after its endpoint was disconnected or freed.
 *
 * Close it when the response is there: the window of a bracket that is closed while its bind waits
 * in the send queue cannot be bound any more, and the connection ends.
 *
 * @param bracket The bracket.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_STATE (raw) A peer is in the middle of a transfer that does not end. It is
 *     the last one; a later call closes the bracket.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE1 bracket is none, or is being closed.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_bracket_close(DAT_REG_BRACKET_HANDLE bracket) {
    return dat_extension_op((DAT_HANDLE)bracket, (DAT_EXTENDED_OP)DAT_REG_BRACKET_CLOSE_OP);
}

/* -- queries ------------------------------------------------------------------------- */

/**
 * Tells how a registration stands. It may change the moment after.
 *
 * @param lmr The LMR.
 * @param status Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 status is NULL.
 * @return DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_LMR lmr is no LMR.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_lmr_query(DAT_LMR_HANDLE lmr, DAT_REG_LMR_STATUS *status) {
    return dat_extension_op((DAT_HANDLE)lmr, (DAT_EXTENDED_OP)DAT_REG_LMR_QUERY_OP, status);
}

/**
 * Tells how the adapter's table stands.
 *
 * @param ia The IA, opened with the broker.
 * @param statistics Out: one structure.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 statistics is NULL.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_query(DAT_IA_HANDLE ia, DAT_REG_STATISTICS *statistics) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_QUERY_OP, statistics);
}

/**
 * Gives the table another policy, for all processes that share it.
 *
 * @param ia The IA, opened with the broker.
 * @param policy Its name, a string: none, static-quota, random, lru, lfu, clock or
 *     weighted-fair-lru.
 * @return DAT_SUCCESS
 * @return DAT_INVALID_PARAMETER|DAT_INVALID_ARG2 There is no policy of this name, or policy is
 *     NULL.
 * @return DAT_NOT_IMPLEMENTED (raw) The IA has no broker.
 * @return ... As dat_extension_op().
 */
static __inline__ DAT_RETURN dat_reg_policy_modify(DAT_IA_HANDLE ia, const char *policy) {
    return dat_extension_op((DAT_HANDLE)ia, (DAT_EXTENDED_OP)DAT_REG_POLICY_MODIFY_OP, policy);
}

#ifdef __cplusplus
}
#endif

#endif
