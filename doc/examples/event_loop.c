/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DAT in the program's own event loop: poll(2) waits for the file descriptor of a CNO together with
 * whatever else the program waits for, here the signals that end it. One thread serves any number
 * of clients; ping_pong is the client.
 *
 *     event_loop IA PORT
 */
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "example.h"

enum { MAX_BYTES = 4096, SLOTS = 4 };

/* The state of one connection. The endpoint has it as its context, so that it can be found from an
 * event, which names the endpoint. */
struct client {
    DAT_EP_HANDLE ep;
    struct memory memory;
    DAT_DTO_COMPLETION_EVENT_DATA early[SLOTS]; /* messages that came before ESTABLISHED */
    int early_count;
    char buffers[SLOTS][MAX_BYTES];
};

static DAT_LMR_TRIPLET slot_of(const struct client* client, DAT_UINT64 slot, size_t bytes) {
    return segment_of(&client->memory, slot * MAX_BYTES, bytes);
}

static struct client* client_of(DAT_EP_HANDLE ep) {
    DAT_CONTEXT context;
    TRY(dat_get_consumer_context(ep, &context));
    return context.as_ptr;
}

static void accept_client(const struct adapter* adapter, DAT_CR_HANDLE request) {
    struct client* client = calloc(1, sizeof *client);
    if (!client) die("no memory for another client");
    DAT_CONTEXT context = {.as_ptr = client};
    client->ep = make_endpoint(adapter);
    client->memory = register_memory(adapter, client->buffers, sizeof client->buffers,
                                     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    TRY(dat_set_consumer_context(client->ep, context));
    for (DAT_UINT64 slot = 0; slot < SLOTS; ++slot)
        post_receive(client->ep, slot_of(client, slot, MAX_BYTES), slot);
    TRY(dat_cr_accept(request, client->ep, 0, NULL));
}

static void answer(struct client* client, const DAT_DTO_COMPLETION_EVENT_DATA* message) {
    const DAT_UINT64 slot = message->user_cookie.as_64;
    if (!try_send(client->ep, slot_of(client, slot, message->transfered_length), slot))
        client->early[client->early_count++] = *message;
}

static void answer_early_messages(struct client* client) {
    const int count = client->early_count;
    client->early_count = 0;
    for (int i = 0; i < count; ++i) answer(client, &client->early[i]);
}

/* Receives, answers from the same slot, and receives into it again when the answer is sent. */
static void on_transfer(const DAT_EVENT* event) {
    const DAT_DTO_COMPLETION_EVENT_DATA* done = &event->event_data.dto_completion_event_data;
    const DAT_UINT64 slot = done->user_cookie.as_64;
    if (done->status != DAT_DTO_SUCCESS) return; /* the connection ended, as an event reports */
    struct client* client = client_of(done->ep_handle);
    if (done->operation == DAT_DTO_RECEIVE)
        answer(client, done);
    else
        post_receive(client->ep, slot_of(client, slot, MAX_BYTES), slot);
}

static void take_transfers(const struct adapter* adapter) {
    DAT_EVENT event;
    while (next_event(adapter->transfers, &event)) on_transfer(&event);
}

/* Successful transfers precede the end of their connection: they are dequeued before the handle
 * that they name is freed. Those that follow the end have failed and are ignored. */
static void forget_client(const struct adapter* adapter, DAT_EP_HANDLE ep) {
    struct client* client = client_of(ep);
    take_transfers(adapter);
    TRY(dat_ep_free(ep));
    TRY(dat_lmr_free(client->memory.lmr));
    free(client);
}

static void on_connection_event(const struct adapter* adapter, const DAT_EVENT* event) {
    switch (event->event_number) {
        case DAT_CONNECTION_REQUEST_EVENT:
            accept_client(adapter, event->event_data.cr_arrival_event_data.cr_handle);
            break;
        case DAT_CONNECTION_EVENT_ESTABLISHED:
            answer_early_messages(client_of(event->event_data.connect_event_data.ep_handle));
            break;
        case DAT_CONNECTION_EVENT_DISCONNECTED:
        case DAT_CONNECTION_EVENT_BROKEN:
        case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
            forget_client(adapter, event->event_data.connect_event_data.ep_handle);
            break;
        default:
            die("an unexpected event of a connection");
    }
}

/* Consumes the trigger before it empties the queues: an event that arrives in between triggers
 * again, so that none is missed. */
static void on_trigger(const struct adapter* adapter, DAT_CNO_HANDLE cno) {
    DAT_EVD_HANDLE triggered;
    DAT_EVENT event;
    DAT_RETURN code = dat_cno_trigger(cno, &triggered);
    if (DAT_GET_TYPE(code) != DAT_QUEUE_EMPTY) TRY(code);
    take_transfers(adapter);
    while (next_event(adapter->connections, &event)) on_connection_event(adapter, &event);
}

static int open_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    /* Must precede the library's threads, which inherit the signal mask. */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

int main(int argc, char** argv) {
    enum { SIGNALS, EVENTS, COUNT };
    struct pollfd wakers[COUNT] = {{.events = POLLIN}, {.events = POLLIN}};
    struct adapter adapter;
    DAT_CNO_HANDLE cno;
    if (argc != 3) return usage("event_loop IA PORT");

    wakers[SIGNALS].fd = open_signals();
    open_ia(&adapter, argv[1]);
    TRY(dat_cno_fd_create(adapter.ia, &wakers[EVENTS].fd, &cno));
    make_queues(&adapter, cno);
    listen_at(&adapter, argv[2]);
    while (!wakers[SIGNALS].revents) {
        if (poll(wakers, COUNT, -1) < 0) die("poll");
        if (wakers[EVENTS].revents) on_trigger(&adapter, cno);
    }
    close_adapter(&adapter);
    return 0;
}
