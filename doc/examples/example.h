/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all DAT examples here have in common: how they report failures and set up an adapter, a
 * connection and memory. Each example shows one thing beyond that.
 *
 * The examples give up at the first failure: exit() releases everything that they hold.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <dat2/udat.h>

#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The timeout of every wait: 30 s, in microseconds as DAT expects it. */
#define PATIENCE ((DAT_TIMEOUT)30 * 1000 * 1000)

/* Makes a DAT call that must succeed. */
#define TRY(call) try_call((call), #call)

static inline void try_call(DAT_RETURN code, const char* call) {
    const char *major = "?", *minor = "";
    if (code == DAT_SUCCESS) return;
    dat_strerror(code, &major, &minor);
    fprintf(stderr, "%s: %s %s\n", call, major, minor);
    exit(1);
}

static inline void die(const char* what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* An open adapter with two event queues: connections begin and end at a human pace; completions of
 * transfers come by the million and have a queue of their own. */
struct adapter {
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;           /* protection zone: its endpoints may use its memory */
    DAT_EVD_HANDLE errors;      /* asynchronous errors, which belong to no call */
    DAT_EVD_HANDLE connections; /* requests, established, ended */
    DAT_EVD_HANDLE transfers;   /* completions of sends, receives, reads, writes */
};

/* If a CNO is given (not DAT_HANDLE_NULL), the events of both queues wake the thread that waits at
 * it. */
static inline void make_queues(struct adapter* adapter, DAT_CNO_HANDLE cno) {
    TRY(dat_evd_create(adapter->ia, 64, cno, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
                       &adapter->connections));
    TRY(dat_evd_create(adapter->ia, 1024, cno, DAT_EVD_DTO_FLAG, &adapter->transfers));
}

static inline void open_ia(struct adapter* adapter, const char* ia_name) {
    adapter->errors = DAT_HANDLE_NULL;
    TRY(dat_ia_open((DAT_NAME_PTR)ia_name, 8, &adapter->errors, &adapter->ia));
    TRY(dat_pz_create(adapter->ia, &adapter->pz));
}

static inline struct adapter open_adapter(const char* ia_name) {
    struct adapter adapter;
    open_ia(&adapter, ia_name);
    make_queues(&adapter, DAT_HANDLE_NULL);
    return adapter;
}

/* Closes the adapter and frees all that was made on it, whatever state it is in. */
static inline void close_adapter(struct adapter* adapter) {
    TRY(dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static inline DAT_EP_HANDLE make_endpoint(const struct adapter* adapter) {
    DAT_EP_HANDLE ep;
    TRY(dat_ep_create(adapter->ia, adapter->pz, adapter->transfers, adapter->transfers,
                      adapter->connections, NULL, &ep));
    return ep;
}

/* Memory that the adapter may access, and its two contexts: one for segments on this side, one to
 * give to a peer. */
struct memory {
    void* address;
    DAT_VLEN length; /* bytes */
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lmr_context;
    DAT_RMR_CONTEXT rmr_context;
};

static inline struct memory register_memory(const struct adapter* adapter, void* address,
                                            DAT_VLEN length, DAT_MEM_PRIV_FLAGS privileges) {
    struct memory memory = {.address = address, .length = length};
    DAT_REGION_DESCRIPTION region = {.for_va = address};
    TRY(dat_lmr_create(adapter->ia, DAT_MEM_TYPE_VIRTUAL, region, length, adapter->pz, privileges,
                       DAT_VA_TYPE_VA, &memory.lmr, &memory.lmr_context, &memory.rmr_context, NULL,
                       NULL));
    return memory;
}

static inline DAT_LMR_TRIPLET segment_of(const struct memory* memory, size_t offset,
                                         size_t length) {
    DAT_LMR_TRIPLET segment = {.virtual_address = (DAT_VADDR)(uintptr_t)memory->address + offset,
                               .segment_length = length,
                               .lmr_context = memory->lmr_context};
    return segment;
}

/* Waits for the next event, which must be the wanted one: an int, since extensions have their own
 * enumerations of events. */
static inline DAT_EVENT await_event(DAT_EVD_HANDLE evd, int wanted) {
    DAT_EVENT event;
    DAT_COUNT more;
    TRY(dat_evd_wait(evd, PATIENCE, 1, &event, &more));
    if ((int)event.event_number != wanted) {
        fprintf(stderr, "waited for event %#x, got %#x: `dat_strerror %#x` says what it is\n",
                (unsigned)wanted, event.event_number, event.event_number);
        exit(1);
    }
    return event;
}

/* Returns a completion, which must be a success: only status and endpoint of a failed one are
 * certain. */
static inline DAT_DTO_COMPLETION_EVENT_DATA succeeded(const DAT_EVENT* event) {
    if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS) {
        fprintf(stderr, "a transfer failed with status %d\n",
                event->event_data.dto_completion_event_data.status);
        exit(1);
    }
    return event->event_data.dto_completion_event_data;
}

static inline DAT_DTO_COMPLETION_EVENT_DATA await_transfer(DAT_EVD_HANDLE evd) {
    DAT_EVENT event = await_event(evd, DAT_DTO_COMPLETION_EVENT);
    return succeeded(&event);
}

/* A receive must be posted before its message arrives, so the earliest moment is the safest. */
static inline void post_receive(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    TRY(dat_ep_post_recv(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG));
}

static inline void post_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    TRY(dat_ep_post_send(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG));
}

/* A message may be empty. It takes a receive all the same, which then needs no memory; so does the
 * immediate data of an extension. */
static inline void post_empty_receive(DAT_EP_HANDLE ep) {
    DAT_DTO_COOKIE name = {.as_64 = 0};
    TRY(dat_ep_post_recv(ep, 0, NULL, name, DAT_COMPLETION_DEFAULT_FLAG));
}

static inline void post_empty_send(DAT_EP_HANDLE ep) {
    DAT_DTO_COOKIE name = {.as_64 = 0};
    TRY(dat_ep_post_send(ep, 0, NULL, name, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Returns whether the send was posted. It is not if the connection is not established yet (the
 * first message of a peer may arrive before the event that reports this) or has ended; an event
 * reports which. */
static inline int try_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    DAT_RETURN code = dat_ep_post_send(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG);
    if (DAT_GET_TYPE(code) == DAT_INVALID_STATE) return 0;
    TRY(code);
    return 1;
}

/* Dequeues the oldest event. Returns 0 if there is none. */
static inline int next_event(DAT_EVD_HANDLE evd, DAT_EVENT* event) {
    DAT_RETURN code = dat_evd_dequeue(evd, event);
    if (DAT_GET_TYPE(code) == DAT_QUEUE_EMPTY) return 0;
    TRY(code);
    return 1;
}

/* A server's port is called a connection qualifier in DAT. 0 chooses any free one. */
static inline void listen_at(const struct adapter* adapter, const char* port) {
    DAT_CONN_QUAL qualifier = strtoull(port, NULL, 0);
    DAT_PSP_HANDLE psp;
    if (qualifier == 0)
        TRY(dat_psp_create_any(adapter->ia, &qualifier, adapter->connections, DAT_PSP_CONSUMER_FLAG,
                               &psp));
    else
        TRY(dat_psp_create(adapter->ia, qualifier, adapter->connections, DAT_PSP_CONSUMER_FLAG,
                           &psp));
    printf("listening on port %llu\n", (unsigned long long)qualifier);
    fflush(stdout);
}

static inline DAT_CR_HANDLE await_request(const struct adapter* adapter) {
    return await_event(adapter->connections, DAT_CONNECTION_REQUEST_EVENT)
        .event_data.cr_arrival_event_data.cr_handle;
}

/* Requests a connection; an event reports the outcome. */
static inline void begin_connection(DAT_EP_HANDLE ep, const char* host, unsigned long long port,
                                    DAT_TIMEOUT timeout, const void* private_data, DAT_COUNT size) {
    struct addrinfo* found;
    int failure = getaddrinfo(host, NULL, NULL, &found);
    if (failure) die(gai_strerror(failure));
    TRY(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)found->ai_addr, port, timeout, size,
                       (DAT_PVOID)private_data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    freeaddrinfo(found);
}

/* Connects. Returns the event, whose private data is what the server passed to dat_cr_accept(). */
static inline DAT_EVENT connect_to(const struct adapter* adapter, DAT_EP_HANDLE ep,
                                   const char* host, const char* port) {
    begin_connection(ep, host, strtoull(port, NULL, 0), PATIENCE, NULL, 0);
    return await_event(adapter->connections, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Ends a connection. One side does this; both get the event. */
static inline void end_connection(const struct adapter* adapter, DAT_EP_HANDLE ep) {
    TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
    await_event(adapter->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Returns the value of a named attribute, or NULL if the list does not have it. */
static inline const char* named_value(const DAT_NAMED_ATTR* list, DAT_COUNT count,
                                      const char* name) {
    for (DAT_COUNT i = 0; i < count; ++i)
        if (!strcmp(list[i].name, name)) return list[i].value;
    return NULL;
}

static inline int usage(const char* text) {
    fprintf(stderr, "usage: %s\n", text);
    return 2;
}

#endif
