/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many clients, one pool of receives: the endpoints share a receive queue, so the memory that waits
 * for messages grows with the traffic and not with the number of clients. ping_pong is the client.
 *
 *     srq_server IA PORT CLIENTS      serves this number of clients, then ends
 */
#include "example.h"

enum { MAX_BYTES = 4096, SLOTS = 64 };

static char pool[SLOTS][MAX_BYTES];

/* A message in a slot of the pool, and the endpoint that it came from. */
struct message {
    DAT_EP_HANDLE ep;
    DAT_UINT64 slot;
    size_t length;
};

struct server {
    struct adapter adapter;
    DAT_SRQ_HANDLE srq;
    struct memory memory;
    struct message early[SLOTS]; /* those that arrived before their connection was ESTABLISHED */
    int early_count;
    long messages;
    long clients; /* whose connections have not ended yet */
};

static DAT_LMR_TRIPLET slot_of(const struct server* server, DAT_UINT64 slot, size_t bytes) {
    return segment_of(&server->memory, slot * MAX_BYTES, bytes);
}

/* Posts the slot as a receive, which the next message of any client consumes. */
static void give_slot(const struct server* server, DAT_UINT64 slot) {
    DAT_LMR_TRIPLET segment = slot_of(server, slot, MAX_BYTES);
    DAT_DTO_COOKIE cookie = {.as_64 = slot};
    TRY(dat_srq_post_recv(server->srq, 1, &segment, cookie));
}

static void make_pool(struct server* server) {
    DAT_SRQ_ATTR attributes = {.max_recv_dtos = SLOTS, .max_recv_iov = 1};
    TRY(dat_srq_create(server->adapter.ia, server->adapter.pz, &attributes, &server->srq));
    server->memory = register_memory(&server->adapter, pool, sizeof pool,
                                     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
    for (DAT_UINT64 slot = 0; slot < SLOTS; ++slot) give_slot(server, slot);
}

/* Without attributes (NULL) the endpoint has the default limits. */
static void accept_client(const struct server* server, DAT_CR_HANDLE request) {
    const struct adapter* adapter = &server->adapter;
    DAT_EP_HANDLE ep;
    TRY(dat_ep_create_with_srq(adapter->ia, adapter->pz, adapter->transfers, adapter->transfers,
                               adapter->connections, server->srq, NULL, &ep));
    TRY(dat_cr_accept(request, ep, 0, NULL));
}

static void answer(struct server* server, struct message message) {
    if (try_send(message.ep, slot_of(server, message.slot, message.length), message.slot))
        ++server->messages;
    else
        server->early[server->early_count++] = message;
}

/* The event names the client that a message is from. Only answers to clients that have gone fail;
 * their slots are then as free as those of answers that arrived. */
static void on_transfer(struct server* server, const DAT_EVENT* event) {
    const DAT_DTO_COMPLETION_EVENT_DATA* done = &event->event_data.dto_completion_event_data;
    if (done->status == DAT_DTO_SUCCESS && done->operation == DAT_DTO_RECEIVE)
        answer(server,
               (struct message){done->ep_handle, done->user_cookie.as_64, done->transfered_length});
    else
        give_slot(server, done->user_cookie.as_64);
}

static void take_transfers(struct server* server) {
    DAT_EVENT event;
    while (next_event(server->adapter.transfers, &event)) on_transfer(server, &event);
}

/* Removes an endpoint's messages from the early ones (the last of these fills the gap), and answers
 * them or gives back their slots. */
static void end_early_messages(struct server* server, DAT_EP_HANDLE ep, int answered) {
    for (int i = server->early_count - 1; i >= 0; --i) {
        const struct message message = server->early[i];
        if (message.ep != ep) continue;
        server->early[i] = server->early[--server->early_count];
        if (answered)
            answer(server, message);
        else
            give_slot(server, message.slot);
    }
}

/* Successful transfers precede the end of their connection: they are dequeued before the handle
 * that they name is freed. */
static void forget_client(struct server* server, DAT_EP_HANDLE ep) {
    take_transfers(server);
    end_early_messages(server, ep, 0);
    TRY(dat_ep_free(ep));
    --server->clients;
}

static void on_connection_event(struct server* server, const DAT_EVENT* event) {
    const DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;
    switch (event->event_number) {
        case DAT_CONNECTION_REQUEST_EVENT:
            accept_client(server, event->event_data.cr_arrival_event_data.cr_handle);
            break;
        case DAT_CONNECTION_EVENT_ESTABLISHED:
            end_early_messages(server, ep, 1);
            break;
        case DAT_CONNECTION_EVENT_DISCONNECTED:
        case DAT_CONNECTION_EVENT_BROKEN:
        case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
            forget_client(server, ep);
            break;
        default:
            die("an unexpected event of a connection");
    }
}

int main(int argc, char** argv) {
    static struct server server;
    struct adapter* adapter = &server.adapter;
    DAT_CNO_HANDLE cno;
    if (argc != 4) return usage("srq_server IA PORT CLIENTS");
    server.clients = atol(argv[3]);
    open_ia(adapter, argv[1]);
    TRY(dat_cno_create(adapter->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
    make_queues(adapter, cno);
    make_pool(&server);
    listen_at(adapter, argv[2]);
    while (server.clients > 0) {
        DAT_EVD_HANDLE triggered;
        DAT_EVENT event;
        TRY(dat_cno_wait(cno, PATIENCE, &triggered));
        take_transfers(&server);
        while (next_event(adapter->connections, &event)) on_connection_event(&server, &event);
    }
    printf("%ld messages through %d receives\n", server.messages, SLOTS);
    close_adapter(adapter);
    return 0;
}
