/* SPDX-License-Identifier: BSD-2-Clause
 * A verbs program with two threads, to be built with a sanitizer: one thread sends and writes, the
 * other waits for the completions and reads the data. The argument `overflow`, `race` or `shift`
 * makes it commit a fault of that kind. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMessages = 20, kSize = 4096 };

struct side {
    struct ibv_comp_channel* channel;
    struct ibv_cq* cq;
    struct ibv_qp* qp;
    struct ibv_mr* mr;
    char* memory;
};

static struct ibv_pd* pd;
static struct side left, right;
static int unguarded;

static void* must(void* made, const char* what) {
    if (!made) {
        perror(what);
        exit(1);
    }
    return made;
}
static void succeed(int error, const char* what) {
    if (!error) return;
    fprintf(stderr, "%s: %s\n", what, strerror(error));
    exit(1);
}

static void make(struct side* side, struct ibv_context* context) {
    side->channel = must(ibv_create_comp_channel(context), "ibv_create_comp_channel");
    side->cq = must(ibv_create_cq(context, 4 * kMessages, NULL, side->channel, 0), "ibv_create_cq");
    struct ibv_qp_init_attr wanted = {.send_cq = side->cq,
                                      .recv_cq = side->cq,
                                      .cap = {2 * kMessages, kMessages, 1, 1, 0},
                                      .qp_type = IBV_QPT_RC,
                                      .sq_sig_all = 1};
    side->qp = must(ibv_create_qp(pd, &wanted), "ibv_create_qp");
    side->memory = must(malloc(2 * kSize), "malloc");
    memset(side->memory, 0, kSize);
    side->mr = must(
        ibv_reg_mr(pd, side->memory, 2 * kSize, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
        "ibv_reg_mr");
}

static void connect_to(struct side* side, const struct side* peer, int lid) {
    struct ibv_qp_attr to = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    succeed(ibv_modify_qp(side->qp, &to,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            "INIT");
    to = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = peer->qp->qp_num,
                              .min_rnr_timer = 1,
                              .ah_attr = {.dlid = (uint16_t)lid, .port_num = 1}};
    succeed(ibv_modify_qp(side->qp, &to,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            "RTR");
    to = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
    succeed(ibv_modify_qp(side->qp, &to,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
            "RTS");
}

static void await_completions(struct side* side, int count) {
    while (count > 0) {
        struct ibv_cq* cq;
        void* context;
        struct ibv_wc completion;
        succeed(ibv_req_notify_cq(side->cq, 0), "ibv_req_notify_cq");
        while (ibv_poll_cq(side->cq, 1, &completion) == 1) {
            succeed(completion.status, ibv_wc_status_str(completion.status));
            --count;
        }
        if (count <= 0) break;
        succeed(ibv_get_cq_event(side->channel, &cq, &context), "ibv_get_cq_event");
        ibv_ack_cq_events(cq, 1);
    }
}

static void* receive(void* unused) {
    (void)unused;
    await_completions(&right, kMessages);
    int sum = 0;
    for (int i = 0; i < 2 * kSize; ++i) sum += right.memory[i];
    printf("%d\n", sum);
    unguarded = 1;
    return NULL;
}

static void post_receives(void) {
    struct ibv_sge sge = {(uintptr_t)right.memory, kSize, right.mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad;
    for (int i = 0; i < kMessages; ++i)
        succeed(ibv_post_recv(right.qp, &receive, &bad), "ibv_post_recv");
}

static void transfer(void) {
    memset(left.memory, 1, 2 * kSize);
    for (int i = 0; i < kMessages; ++i) {
        struct ibv_sge sge = {(uintptr_t)left.memory + kSize, kSize, left.mr->lkey};
        struct ibv_send_wr write = {.sg_list = &sge,
                                    .num_sge = 1,
                                    .opcode = IBV_WR_RDMA_WRITE,
                                    .wr.rdma = {(uintptr_t)right.memory + kSize, right.mr->rkey}},
                           send, *bad;
        struct ibv_sge message = {(uintptr_t)left.memory, (i % 2) ? kSize : 16, left.mr->lkey};
        send = (struct ibv_send_wr){.sg_list = &message, .num_sge = 1, .opcode = IBV_WR_SEND};
        write.next = &send;
        succeed(ibv_post_send(left.qp, &write, &bad), "ibv_post_send");
    }
    await_completions(&left, 2 * kMessages);
}

static void end(struct side* side) {
    succeed(ibv_destroy_qp(side->qp), "ibv_destroy_qp");
    succeed(ibv_destroy_cq(side->cq), "ibv_destroy_cq");
    succeed(ibv_destroy_comp_channel(side->channel), "ibv_destroy_comp_channel");
    succeed(ibv_dereg_mr(side->mr), "ibv_dereg_mr");
    free(side->memory);
}

static void commit(const char* fault) {
    if (strcmp(fault, "overflow") == 0) left.memory[2 * kSize] = 1;
    if (strcmp(fault, "race") == 0) unguarded = 2;
    if (strcmp(fault, "shift") == 0) printf("%d\n", 1 << (31 + (int)strlen(fault)));
}

int main(int count, char** arguments) {
    int devices = 0;
    struct ibv_device** list = ibv_get_device_list(&devices);
    if (!list || devices == 0) return 2;
    struct ibv_context* context = must(ibv_open_device(list[devices - 1]), "ibv_open_device");
    ibv_free_device_list(list);
    struct ibv_port_attr port;
    succeed(ibv_query_port(context, 1, &port), "ibv_query_port");
    pd = must(ibv_alloc_pd(context), "ibv_alloc_pd");
    make(&left, context);
    make(&right, context);
    connect_to(&left, &right, port.lid);
    connect_to(&right, &left, port.lid);
    post_receives();
    pthread_t receiver;
    succeed(pthread_create(&receiver, NULL, receive, NULL), "pthread_create");
    transfer();
    if (count > 1) commit(arguments[1]);
    pthread_join(receiver, NULL);
    end(&left);
    end(&right);
    succeed(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
    succeed(ibv_close_device(context), "ibv_close_device");
    return 0;
}
