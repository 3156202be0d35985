/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all DAT examples here have in common: how a failure is told, and how an adapter, a
 * connection and memory are set up. Each example shows one thing beyond that.
 *
 * Examples give up at the first failure: exit() returns everything that they hold.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <dat2/udat.h>

#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whatever takes longer has failed: 30 s, in microseconds as DAT wants them. */
#define PATIENCE ((DAT_TIMEOUT)30 * 1000 * 1000)

/* A DAT call that must succeed. */
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

/* An open adapter with two queues of events: connections are made and ended at a human pace,
 * completions of transfers come by the million and are taken elsewhere. */
struct adapter {
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;           /* what may be used together: endpoints and memory */
    DAT_EVD_HANDLE errors;      /* events that belong to no call */
    DAT_EVD_HANDLE connections; /* requests, established, ended */
    DAT_EVD_HANDLE transfers;   /* completions of sends, receives, reads, writes */
};

/* With a CNO all events of both queues wake whoever waits at it; DAT_HANDLE_NULL is none. */
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

/* Takes all that was made on the adapter along, whatever state it is in. */
static inline void close_adapter(struct adapter* adapter) {
    TRY(dat_ia_close(adapter->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static inline DAT_EP_HANDLE make_endpoint(const struct adapter* adapter) {
    DAT_EP_HANDLE ep;
    TRY(dat_ep_create(adapter->ia, adapter->pz, adapter->transfers, adapter->transfers,
                      adapter->connections, NULL, &ep));
    return ep;
}

/* Memory that the adapter may touch, and the two names that it has: one for segments on this side,
 * one to give to a peer. */
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

/* The next event, which must be the wanted one: an int, since extensions have enumerations of their
 * own for theirs. */
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

/* A completion. Only its status and its endpoint are certain when it has failed. */
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

/* A receive has to be posted before the message comes: the earliest moment is the safest. */
static inline void post_receive(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    TRY(dat_ep_post_recv(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG));
}

static inline void post_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    TRY(dat_ep_post_send(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Returns whether it was posted. Not when the connection is not there yet (the first message of a
 * peer may be here before the event that says so) or not any more; an event tells which. */
static inline int try_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 cookie) {
    DAT_DTO_COOKIE name = {.as_64 = cookie};
    DAT_RETURN code = dat_ep_post_send(ep, 1, &segment, name, DAT_COMPLETION_DEFAULT_FLAG);
    if (DAT_GET_TYPE(code) == DAT_INVALID_STATE) return 0;
    TRY(code);
    return 1;
}

/* Takes the oldest event, if there is one. */
static inline int next_event(DAT_EVD_HANDLE evd, DAT_EVENT* event) {
    DAT_RETURN code = dat_evd_dequeue(evd, event);
    if (DAT_GET_TYPE(code) == DAT_QUEUE_EMPTY) return 0;
    TRY(code);
    return 1;
}

/* A server's port is a connection qualifier in DAT's words. 0 asks for any that is free. */
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

/* Asks for a connection; the answer is an event. */
static inline void begin_connection(DAT_EP_HANDLE ep, const char* host, unsigned long long port,
                                    const void* private_data, DAT_COUNT size) {
    struct addrinfo* found;
    int failure = getaddrinfo(host, NULL, NULL, &found);
    if (failure) die(gai_strerror(failure));
    TRY(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)found->ai_addr, port, PATIENCE, size,
                       (DAT_PVOID)private_data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    freeaddrinfo(found);
}

/* Returns the event, whose private data is what the server has said in dat_cr_accept(). */
static inline DAT_EVENT connect_to(const struct adapter* adapter, DAT_EP_HANDLE ep,
                                   const char* host, const char* port) {
    begin_connection(ep, host, strtoull(port, NULL, 0), NULL, 0);
    return await_event(adapter->connections, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* One side ends a connection, both learn of it. */
static inline void end_connection(const struct adapter* adapter, DAT_EP_HANDLE ep) {
    TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
    await_event(adapter->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static inline int usage(const char* text) {
    fprintf(stderr, "usage: %s\n", text);
    return 2;
}

#endif
