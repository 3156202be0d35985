/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds two numbers, with the plain verbs API: runs on hardware, on rdma_rxe and siw, and under
 * LD_PRELOAD=libsoftverbs.so on a machine without any of them.
 *
 *     verbs_add server PORT
 *     verbs_add client ADDRESS PORT FIRST SECOND
 *
 * The client writes FIRST directly into the server's memory with an RDMA write, in which the
 * server's program takes no part, sends SECOND as a message, and receives the sum as a message.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

enum { TIMEOUT_MS = 5000 };

/* The numbers are in network byte order, as the machines may differ in theirs. */
struct numbers {
    uint64_t first;  /* server: the client's RDMA write lands here */
    uint64_t second; /* server: the client's message lands here */
    uint64_t sum;    /* client: the server's message lands here */
};

/* The private data with which the server accepts the connection: where to write. */
struct invitation {
    uint64_t address;
    uint32_t rkey;
    uint32_t reserved;
};

/* One end of the connection. */
struct endpoint {
    struct rdma_event_channel* events; /* connection events: requests, established, disconnected */
    struct rdma_cm_id* id;             /* the connection, once there is one */
    struct ibv_pd* pd;                 /* protection domain: its queue pair may use its memory */
    struct ibv_comp_channel* wakeups;  /* a descriptor to wait on for a completion */
    struct ibv_cq* cq;                 /* receives the completions of sends and receives */
    struct ibv_mr* mr;                 /* the registration of `numbers` with the device */
    struct numbers numbers;
};

static void die(const char* what) {
    fprintf(stderr, "verbs_add: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Waits for the next connection event, which must be the wanted one. The caller acknowledges it. */
static struct rdma_cm_event* expect_event(struct endpoint* end, enum rdma_cm_event_type wanted) {
    struct rdma_cm_event* event;
    if (rdma_get_cm_event(end->events, &event)) die("rdma_get_cm_event");
    if (event->event != wanted) {
        fprintf(stderr, "verbs_add: waited for %s, got %s (status %d)\n", rdma_event_str(wanted),
                rdma_event_str(event->event), event->status);
        exit(1);
    }
    return event;
}

static void await_event(struct endpoint* end, enum rdma_cm_event_type wanted) {
    rdma_ack_cm_event(expect_event(end, wanted));
}

/* Creates all that a connection needs, on the device that rdma_cm has chosen for end->id. */
static void prepare(struct endpoint* end, int remote_access) {
    struct ibv_qp_init_attr attributes = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
    };
    end->pd = ibv_alloc_pd(end->id->verbs);
    if (!end->pd) die("ibv_alloc_pd");
    end->wakeups = ibv_create_comp_channel(end->id->verbs);
    if (!end->wakeups) die("ibv_create_comp_channel");
    end->cq = ibv_create_cq(end->id->verbs, 4, NULL, end->wakeups, 0);
    if (!end->cq) die("ibv_create_cq");
    end->mr = ibv_reg_mr(end->pd, &end->numbers, sizeof end->numbers,
                         IBV_ACCESS_LOCAL_WRITE | remote_access);
    if (!end->mr) die("ibv_reg_mr");
    attributes.send_cq = end->cq;
    attributes.recv_cq = end->cq;
    if (rdma_create_qp(end->id, end->pd, &attributes)) die("rdma_create_qp");
}

/* Sleeps until the next completion. Requests the notification before it polls for the last time: a
 * completion between the two would otherwise be missed. */
static void await_completion(struct endpoint* end, enum ibv_wc_opcode wanted) {
    struct ibv_wc completion;
    int found;
    while ((found = ibv_poll_cq(end->cq, 1, &completion)) == 0) {
        struct ibv_cq* cq;
        void* context;
        if (ibv_req_notify_cq(end->cq, 0)) die("ibv_req_notify_cq");
        found = ibv_poll_cq(end->cq, 1, &completion);
        if (found != 0) break;
        if (ibv_get_cq_event(end->wakeups, &cq, &context)) die("ibv_get_cq_event");
        ibv_ack_cq_events(cq, 1);
    }
    if (found < 0) die("ibv_poll_cq");
    if (completion.status != IBV_WC_SUCCESS) {
        fprintf(stderr, "verbs_add: a work request failed: %s\n",
                ibv_wc_status_str(completion.status));
        exit(1);
    }
    /* The opcode is defined only if the completion is a success. */
    if (completion.opcode != wanted) {
        fprintf(stderr, "verbs_add: completion of an unexpected kind, %d\n", completion.opcode);
        exit(1);
    }
}

static struct ibv_sge entry_of(struct endpoint* end, uint64_t* number) {
    struct ibv_sge entry = {
        .addr = (uintptr_t)number, .length = sizeof *number, .lkey = end->mr->lkey};
    return entry;
}

/* A receive must be posted before its message arrives, so the earliest moment is the safest. */
static void post_receive(struct endpoint* end, uint64_t* number) {
    struct ibv_sge entry = entry_of(end, number);
    struct ibv_recv_wr request = {.sg_list = &entry, .num_sge = 1};
    struct ibv_recv_wr* bad;
    if ((errno = ibv_post_recv(end->id->qp, &request, &bad))) die("ibv_post_recv");
}

static void post_send(struct endpoint* end, uint64_t* number, unsigned flags) {
    struct ibv_sge entry = entry_of(end, number);
    struct ibv_send_wr request = {
        .sg_list = &entry, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};
    struct ibv_send_wr* bad;
    if ((errno = ibv_post_send(end->id->qp, &request, &bad))) die("ibv_post_send");
}

/* A send posted after this write on the same connection cannot arrive before it. */
static void post_write(struct endpoint* end, uint64_t* number, const struct invitation* target) {
    struct ibv_sge entry = entry_of(end, number);
    struct ibv_send_wr request = {.sg_list = &entry, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    struct ibv_send_wr* bad;
    request.wr.rdma.remote_addr = be64toh(target->address);
    request.wr.rdma.rkey = be32toh(target->rkey);
    if ((errno = ibv_post_send(end->id->qp, &request, &bad))) die("ibv_post_send");
}

/* Destroys everything in reverse order of creation. */
static void release(struct endpoint* end) {
    rdma_destroy_qp(end->id);
    ibv_dereg_mr(end->mr);
    ibv_destroy_cq(end->cq);
    ibv_destroy_comp_channel(end->wakeups);
    ibv_dealloc_pd(end->pd);
    rdma_destroy_id(end->id);
    rdma_destroy_event_channel(end->events);
}

static struct sockaddr_in address_of(const char* address, const char* port) {
    struct sockaddr_in result = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, address, &result.sin_addr) != 1) {
        fprintf(stderr, "verbs_add: %s is no IPv4 address\n", address);
        exit(2);
    }
    return result;
}

static void serve(const char* port) {
    struct endpoint end = {.events = rdma_create_event_channel()};
    struct sockaddr_in any = address_of("0.0.0.0", port);
    struct rdma_cm_id* listener;
    struct rdma_cm_event* request;
    struct invitation invitation = {0};
    struct rdma_conn_param answer = {
        .private_data = &invitation, .private_data_len = sizeof invitation, .rnr_retry_count = 7};

    if (!end.events) die("rdma_create_event_channel");
    if (rdma_create_id(end.events, &listener, NULL, RDMA_PS_TCP)) die("rdma_create_id");
    if (rdma_bind_addr(listener, (struct sockaddr*)&any)) die("rdma_bind_addr");
    if (rdma_listen(listener, 1)) die("rdma_listen");
    printf("listening on port %d\n", ntohs(rdma_get_src_port(listener)));
    fflush(stdout);

    request = expect_event(&end, RDMA_CM_EVENT_CONNECT_REQUEST);
    end.id = request->id; /* a new identifier, which we own */
    rdma_ack_cm_event(request);
    prepare(&end, IBV_ACCESS_REMOTE_WRITE);
    post_receive(&end, &end.numbers.second);
    invitation.address = htobe64((uintptr_t)&end.numbers.first);
    invitation.rkey = htobe32(end.mr->rkey);
    if (rdma_accept(end.id, &answer)) die("rdma_accept");
    await_event(&end, RDMA_CM_EVENT_ESTABLISHED);

    await_completion(&end, IBV_WC_RECV); /* the write has arrived before it */
    end.numbers.sum = htobe64(be64toh(end.numbers.first) + be64toh(end.numbers.second));
    post_send(&end, &end.numbers.sum, IBV_SEND_SIGNALED);
    await_completion(&end, IBV_WC_SEND);

    await_event(&end, RDMA_CM_EVENT_DISCONNECTED);
    rdma_disconnect(end.id);
    rdma_destroy_id(listener);
    release(&end);
}

static void ask(const char* address, const char* port, uint64_t first, uint64_t second) {
    struct endpoint end = {.events = rdma_create_event_channel()};
    struct sockaddr_in server = address_of(address, port);
    struct rdma_cm_event* established;
    struct invitation invitation;
    struct rdma_conn_param request = {.retry_count = 7, .rnr_retry_count = 7};

    if (!end.events) die("rdma_create_event_channel");
    if (rdma_create_id(end.events, &end.id, NULL, RDMA_PS_TCP)) die("rdma_create_id");
    if (rdma_resolve_addr(end.id, NULL, (struct sockaddr*)&server, TIMEOUT_MS))
        die("rdma_resolve_addr");
    await_event(&end, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(end.id, TIMEOUT_MS)) die("rdma_resolve_route");
    await_event(&end, RDMA_CM_EVENT_ROUTE_RESOLVED);
    prepare(&end, 0);
    post_receive(&end, &end.numbers.sum);
    if (rdma_connect(end.id, &request)) die("rdma_connect");
    established = expect_event(&end, RDMA_CM_EVENT_ESTABLISHED);
    if (established->param.conn.private_data_len < sizeof invitation) {
        fprintf(stderr, "verbs_add: the server did not say where to write\n");
        exit(1);
    }
    memcpy(&invitation, established->param.conn.private_data, sizeof invitation);
    rdma_ack_cm_event(established); /* its private data is invalid now */

    end.numbers.first = htobe64(first);
    end.numbers.second = htobe64(second);
    /* Both are unsignalled: the sum shows that they have arrived. */
    post_write(&end, &end.numbers.first, &invitation);
    post_send(&end, &end.numbers.second, 0);
    await_completion(&end, IBV_WC_RECV);
    printf("%" PRIu64 " + %" PRIu64 " = %" PRIu64 "\n", first, second, be64toh(end.numbers.sum));

    rdma_disconnect(end.id);
    await_event(&end, RDMA_CM_EVENT_DISCONNECTED);
    release(&end);
}

int main(int argc, char** argv) {
    if (argc == 3 && !strcmp(argv[1], "server")) {
        serve(argv[2]);
    } else if (argc == 6 && !strcmp(argv[1], "client")) {
        ask(argv[2], argv[3], strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0));
    } else {
        fprintf(stderr,
                "usage: verbs_add server PORT\n"
                "       verbs_add client ADDRESS PORT FIRST SECOND\n");
        return 2;
    }
    return 0;
}
